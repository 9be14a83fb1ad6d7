"""The report as one page: styles, scripts and data inside, nothing loaded from anywhere."""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from importlib import resources

import msgspec

from profdiff.evidence.findings import Findings
from profdiff.reports import charts
from profdiff.reports.documents import session
from profdiff.reports.page import chart_scheme, points
from profdiff.reports.page import code as page_code
from profdiff.views.blame import Blame

# The one form in which a page's module imports another one.
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.M)


def render(findings: Findings, others: Iterable[Findings] = (), blame: Blame | None = None) -> str:
    """The page; ``others``: the findings at other points; ``blame``: of its own."""
    shown = session.build(findings)
    code = page_code.page_code(findings)
    text = session.encode(
        shown,
        charts=page_charts(findings),
        points=points.page_points(findings, shown, others),
        code=code.held,
        blame=None if blame is None else msgspec.to_builtins(blame),
        joint=None,
        parts={},
    )
    return page(text, code.elements)


def page_charts(findings: Findings) -> list[dict[str, str]]:
    """The charts of findings, for either scheme of a page."""
    return [with_scheme(chart) for chart in charts.figures(findings)]


def with_scheme(chart: dict[str, str]) -> dict[str, str]:
    """A chart that is light or dark as its page."""
    return {**chart, "svg": chart_scheme.with_scheme(chart["svg"])}


def page(text: bytes, code: str) -> str:
    """The page of a document as JSON, and of elements with code. What comes from a recording is
    compressed JSON in base64, which has no character that could end its script element; the script
    shows it as text."""
    values = {"OVERVIEW": "", "DATA": packed(text), "CODE": code}
    return alone("report.html", ["report.css"], "report", values)


def alone(name: str, styles: Sequence[str], entry: str, values: Mapping[str, str]) -> str:
    """A page that holds its styles and the modules that ``entry`` needs, and loads nothing.
    ``values``: what else the template names, in its order."""
    style = "".join(template(name) for name in styles)
    script = joined_modules(entry)
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return filled(
        template(name),
        {
            "POLICY": policy,
            "STYLE": f"<style>{style}</style>",
            **values,
            "SCRIPT": f'<script type="module">{script}</script>',
        },
    )


# A page that is opened as a file has no origin that 'self' could be.
LINKED_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def linked(assets: str, entry: str, values: Mapping[str, str]) -> str:
    """The page of a report as a file of a site, whose styles and scripts lie in the folder
    ``assets``, relative to the page."""
    return filled(
        template("report.html"),
        {
            "POLICY": LINKED_POLICY,
            "STYLE": f'<link rel="stylesheet" href="{assets}style.css">',
            **values,
            "SCRIPT": f'<script src="{assets}{entry}.js" defer></script>',
        },
    )


def linked_script(entry: str) -> str:
    """The modules of a linked page: no module, as browsers load none from a file."""
    return f'"use strict";\n(() => {{\n{joined_modules(entry)}}})();\n'


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text whose ``@NAME@`` are replaced in one pass from the first to the last, so that no
    replacement is searched for the next one. Raises KeyError for one that it has not."""
    left, result = text, []
    for name, value in values.items():
        before, found, left = left.partition(f"@{name}@")
        if not found:
            raise KeyError(name)
        result += [before, value]
    return "".join([*result, left])


def packed(text: bytes) -> str:
    """Compressed, in base64. No time of compression: the same recording makes the same page."""
    return base64.b64encode(gzip.compress(text, compresslevel=6, mtime=0)).decode()


def joined_modules(entry: str = "report") -> str:
    """The modules that a page's module ``entry`` needs and itself as one, each behind those that it
    imports, without ``import`` and ``export``: a script inside a page cannot import another one
    that is inside it.

    Raises graphlib.CycleError if modules import each other in a circle.
    """
    imports: dict[str, list[str]] = {}
    wanted = [entry]
    while wanted:
        name = wanted.pop()
        if name not in imports:
            imports[name] = _IMPORT.findall(template(f"{name}.js"))
            wanted += imports[name]
    # Sorted: the same modules make the same script.
    order = TopologicalSorter({name: imports[name] for name in sorted(imports)}).static_order()
    joined = "".join(_IMPORT.sub("", template(f"{name}.js")) for name in order)
    return re.sub("^export ", "", joined, flags=re.M)


def template(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("profdiff.templates").joinpath(name).read_text()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
