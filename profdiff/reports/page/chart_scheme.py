"""Charts as the page shows them: an image follows the reader's light or dark scheme by itself."""

# Colours of the charts, and what stands for them on dark ground; the page's own, see scheme.css.
# Colours that are told apart on both are left out.
DARK = {
    "#ffffff": "#15171a",
    "#000000": "#e4e6e9",
    "#dddddd": "#363b42",
    "#bbbbbb": "#565d67",
    "#0072b2": "#6bb8f0",
    "#d55e00": "#ff9a52",
}


def with_scheme(svg: str) -> str:
    """A chart with a style for dark ground. matplotlib writes colours into ``style`` attributes,
    and none where it draws black."""
    rules = [f"svg{{fill:{DARK['#000000']}}}"]
    for light, dark in DARK.items():
        rules += [
            f'[style*="{name}: {light}"]{{{name}:{dark} !important}}' for name in ("fill", "stroke")
        ]
    style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    end = svg.index(">", svg.index("<svg")) + 1
    return svg[:end] + style + svg[end:]
