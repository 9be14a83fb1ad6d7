"""The page of one cell of an atlas: its line over releases in each series, and every number."""

from collections.abc import Sequence

from profdiff.reports.atlas import cells as c
from profdiff.reports.atlas.line_chart import Mark, line_chart
from profdiff.reports.atlas.line_chart import number as in_words
from profdiff.views.atlas import Atlas, AtlasCell, AtlasPoint, AtlasSeries


def body(atlas: Atlas, name: str, lines: Sequence[tuple[AtlasSeries, AtlasCell]], up: str) -> str:
    """The page's body; ``lines``: of the cell, in each series that has it; ``up``: the way to the
    top of the site."""
    first = lines[0][1]
    tags = f"tags: {', '.join(first.tags)}" if first.tags else ""
    said = "; ".join(filter(None, [first.about, tags]))
    own = f"{name.rpartition('/')[2]}.json"
    parts = [
        c.tag("nav", c.link(f"{up}index.html", "← All cells"), "trail", **{"aria-label": "Atlas"}),
        c.tag("h1", c.text(name)),
        c.tag("p", c.text(atlas.banner), "banner", role="note") if atlas.banner else "",
        c.tag("p", c.text(said), "machine"),
    ]
    if len(lines) > 1:
        told = (
            f"{len(lines)} lines of different machines or workloads: no number of one is one of "
            "another's."
        )
        parts.append(c.tag("p", c.text(told), "machine"))
    for number, (series, cell) in enumerate(lines):
        parts.append(c.tag("section", _line(atlas, series, cell, number, up)))
    parts.append(c.tag("footer", "The same as JSON: " + c.link(own, c.text(own))))
    return "<main>" + "\n".join(parts) + "</main>"


def _line(atlas: Atlas, series: AtlasSeries, cell: AtlasCell, number: int, up: str) -> str:
    title = f"line-{number}"
    unit = c.unit_of(series, cell)
    chart = line_chart(
        f"{cell.name}, {unit}, by release", unit, [_mark(series, one) for one in cell.points]
    )
    head = [
        ("release", "what"), (unit, "number"), ("change", "change"),
        ("functions that make most of it", "wrap"), ("commit", "wrap"), ("recording", ""),
    ]  # fmt: skip
    head, rows = c.without_empty(
        head, [_row(atlas, series, cell, point, up) for point in cell.points]
    )
    # The same for all kernels of a recording.
    commands = dict.fromkeys(
        (atlas.sources[point.source].name, point.reproduce) for point in cell.points
    )
    return "".join(
        [
            c.tag("h2", c.text(series.title or unit), id=title),
            c.machine_line(series),
            c.tag("div", chart, "scroll", role="group", **{"aria-labelledby": title}),
            c.table(title, head, map(c.row, rows)),
            *(
                c.tag("p", c.text(f"{name} again: ") + c.tag("code", c.text(command)))
                for name, command in commands
            ),
        ]
    )


def _mark(series: AtlasSeries, point: AtlasPoint) -> Mark:
    step = point.step
    relevant = step is not None and step.relevant
    way = 0 if step is None or not relevant else (1 if step.delta > 0 else -1)
    note: str = point.missing.kind if point.missing else ""
    if step is not None and (step.seat or step.functions):
        note = (step.seat or step.functions[0]).name
    change = "" if step is None else c.change_text(step)
    return Mark(series.releases[point.release].title, point.value, way, change, note)


def _ends(atlas: Atlas, cell: AtlasCell, point: AtlasPoint) -> str:
    """What a change is computed from, where these are not the values that the line shows."""
    step = point.step
    if step is None:
        return ""
    before = next((one.value for one in cell.points if one.release == step.since), None)
    if (before, point.value) == (step.before.value, step.after.value):
        return ""
    ends = [
        f"{in_words(one.value)} ({atlas.sources[one.source].name})"
        for one in (step.before, step.after)
    ]
    return " to ".join(ends)


def _row(
    atlas: Atlas, series: AtlasSeries, cell: AtlasCell, point: AtlasPoint, up: str
) -> list[str]:
    """The cells of a release."""
    source = atlas.sources[point.source]
    step = point.step
    recording = c.link(f"{up}{point.page or source.page}", c.text(source.name))
    others = "".join(
        "<br>" + c.tag("small", c.text(f"{name}: {value:,.2f}"))
        for name, value in point.others.items()
    )
    return [
        c.name_cell(c.text(series.releases[point.release].title)),
        c.value_cell(point, up),
        c.change_cell(step, _ends(atlas, cell, point)),
        c.tag("td", c.functions_text(step) if step else "", "wrap"),
        c.tag("td", c.commit_text(atlas, step, up) if step else "", "wrap"),
        c.tag("td", recording + others),
    ]
