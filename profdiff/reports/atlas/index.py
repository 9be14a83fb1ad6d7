"""The index of an atlas: what the newest releases made dearer first, then every release and every
cell. What is significant and what is relevant are told apart."""

from collections.abc import Iterator, Sequence

from profdiff.base import units
from profdiff.reports.atlas import cells as c
from profdiff.reports.atlas.line_chart import sparkline
from profdiff.views.atlas import Atlas, AtlasCell, AtlasPoint, AtlasSeries, AtlasStep

# A table with more columns of values is unreadable: it shows the first and the last ones, and each
# cell's page has all.
_MOST_COLUMNS = 12

_Made = tuple[AtlasCell, AtlasPoint, AtlasStep]


def body(atlas: Atlas) -> str:
    """The page's body."""
    sentences = atlas.sentences or ["No release can be compared with another one."]
    parts = [
        c.tag("h1", c.text(sentences[0])),
        *(c.tag("p", c.text(one)) for one in sentences[1:]),
        c.tag("p", c.text(atlas.banner), "banner", role="note") if atlas.banner else "",
        _told(atlas),
        '<form role="search"><label>Search <input id="atlas-find" type="search" '
        'placeholder="cell, tag or function" autocomplete="off" aria-keyshortcuts="/"></label>'
        '</form><p id="atlas-status" role="status"></p>',
    ]
    for number, series in enumerate(atlas.series):
        parts.append(c.tag("section", _series(atlas, series, number), id=f"series-{number}"))
    parts.append(_sources(atlas))
    parts.append(
        c.tag(
            "footer",
            f"profdiff {c.text(atlas.profdiff)}. The same as JSON: "
            + c.link("index.json", "index.json"),
        )
    )
    return "<main>" + "\n".join(parts) + "</main>"


def _told(atlas: Atlas) -> str:
    told = [f"{one.name}: {one.noise}" for one in atlas.sources if one.noise]
    told += atlas.remarks
    return c.tag("ul", "".join(c.tag("li", c.text(one)) for one in told), "told") if told else ""


def _series(atlas: Atlas, series: AtlasSeries, number: int) -> str:
    title = series.title or "Releases"
    parts = [
        c.tag("h2", c.text(title), id=f"title-{number}"),
        c.machine_line(series),
        _releases(atlas, series, number),
    ]
    # The newest first: that is what was asked for.
    for at in reversed(range(len(series.releases))):
        parts += _release(atlas, series, number, at)
    return "".join([*parts, _cells(series, number)])


def _releases(atlas: Atlas, series: AtlasSeries, number: int) -> str:
    least = units.percent(atlas.threshold, "g")
    head = [
        ("release", "what"),
        (f"at least {least} more", "number"),
        (f"at least {least} less", "number"),
        ("smaller", "number"),
        ("same", "number"),
        ("depends on state", "number"),
        ("unsure", "number"),
        ("no value", "number"),
        ("compiler", "wrap"),
        ("build id", "wrap"),
    ]
    rows = []
    for at, one in enumerate(series.releases):
        counts = (one.more, one.less, one.smaller, one.same, one.depend, one.unsure, one.missing)
        shown = [f"{value:,}" if one.sentence or value else "" for value in counts]
        name = c.link(f"#release-{number}-{at}" if one.sentence else "", c.text(one.title))
        rows.append(
            c.row(
                [
                    c.name_cell(name),
                    *(c.tag("td", value, "number") for value in shown),
                    c.tag("td", c.text(one.compiler or "unknown"), "wrap"),
                    c.tag("td", c.tag("code", c.text((one.build_id or "unknown")[:16])), "wrap"),
                ]
            )
        )
    said = (
        "Each release is compared with the one before it. Smaller changes are significant, and not "
        f"relevant: they are below {least}."
    )
    return c.table(f"title-{number}", head, rows) + c.tag("p", c.text(said), "machine")


def _release(atlas: Atlas, series: AtlasSeries, number: int, at: int) -> Iterator[str]:
    """What one release changed: relevant steps, then those that are only significant."""
    release = series.releases[at]
    if not release.sentence:
        return
    made = [
        (cell, point, point.step)
        for cell in series.cells
        for point in cell.points
        if point.release == at and point.step
    ]
    title = f"release-{number}-{at}"
    yield c.tag("h3", c.text(release.sentence), id=title)
    relevant = [one for one in made if one[2].relevant]
    if relevant:
        yield _steps(atlas, series, title, _ordered(relevant))
    smaller = [
        one
        for one in made
        if not one[2].relevant and one[2].delta and one[2].verdict in ("exact", "changed")
    ]
    if smaller:
        count = f"{len(smaller):,} smaller change{'' if len(smaller) == 1 else 's'}"
        least = units.percent(atlas.threshold, "g")
        summary = c.tag("summary", c.text(f"{count}, significant but below {least}"))
        yield c.tag("details", summary + _steps(atlas, series, title, _ordered(smaller)))
    depend = [one for one in made if one[2].verdict == "depends on state"]
    if depend:
        count = f"{len(depend):,} change{' depends' if len(depend) == 1 else 's depend'} on state"
        summary = c.tag("summary", c.text(f"{count}: no step of the release alone"))
        yield c.tag("details", summary + _steps(atlas, series, title, _ordered(depend)))


def _ordered(made: Sequence[_Made]) -> list[_Made]:
    """Increases first, the largest ones at the top; then decreases, the same way."""

    def key(one: _Made) -> tuple[bool, float, str]:
        step = one[2]
        size = abs(step.relative) if step.relative is not None else float("inf")
        return (step.delta < 0, -size, one[0].name)

    return sorted(made, key=key)


def _steps(atlas: Atlas, series: AtlasSeries, title: str, made: Sequence[_Made]) -> str:
    head = [
        ("cell", "what"), ("before", "number"), ("after", "number"), ("change", "change"),
        ("functions that make most of it", "wrap"), ("commit", "wrap"),
    ]  # fmt: skip
    rows = [
        [
            c.name_cell(c.link(cell.page, c.text(cell.name)) + _op(cell)),
            c.end_cell(step.before, ""),
            c.end_cell(step.after, ""),
            c.change_cell(step),
            c.tag("td", c.functions_text(step), "wrap"),
            c.tag("td", c.commit_text(atlas, step, ""), "wrap"),
        ]
        for cell, _, step in made
    ]
    head, rows = c.without_empty(head, rows)
    names = (c.find_text(cell) for cell, _, _ in made)
    return c.table(title, head, map(c.row, rows, names))


def _op(cell: AtlasCell) -> str:
    if all(point.value is None for point in cell.points):
        return ""
    return c.tag("small", c.text(f"per {cell.op}" if cell.per_op else "whole run"))


def _cells(series: AtlasSeries, number: int) -> str:
    """Every cell's line."""
    count = len(series.releases)
    columns = list(range(count))
    if count > _MOST_COLUMNS:
        half = _MOST_COLUMNS // 2
        columns = [*columns[:half], *columns[-half:]]
    head = [("cell", "what"), ("line", ""), ("first to last", "change")]
    head += [(series.releases[at].title, "number") for at in columns]
    rows = []
    for cell in series.cells:
        points = {point.release: point for point in cell.points}
        values = [points[at].value if at in points else None for at in range(count)]
        known = [point for point in cell.points if point.value is not None]
        rows.append(
            c.row(
                [
                    c.name_cell(c.link(cell.page, c.text(cell.name)) + _op(cell)),
                    c.tag("td", sparkline(values)),
                    c.tag("td", _overall(known), "change"),
                    *(c.value_cell(points.get(at), "") for at in columns),
                ],
                c.find_text(cell),
            )
        )
    title = f"cells-{number}"
    said = "" if count <= _MOST_COLUMNS else " (the first and the last releases; each cell has all)"
    heading = c.tag("h3", c.text(f"{_cell_count(series)}{said}"), id=title)
    return heading + c.table(title, head, rows)


def _cell_count(series: AtlasSeries) -> str:
    return f"{len(series.cells):,} cell{'' if len(series.cells) == 1 else 's'}"


def _overall(known: Sequence[AtlasPoint]) -> str:
    """From the first value to the last."""
    if len(known) < 2 or not known[0].value:
        return ""
    change = (known[-1].value or 0.0) / known[0].value - 1
    said = "=" if not change else f"{100 * change:+,.1f}%"
    return said if known[0].exact and known[-1].exact else f"{said} ?"


def _sources(atlas: Atlas) -> str:
    """The recordings, each with its pages and its command."""
    head = [
        ("recording", "what"), ("cells", "number"), ("recorded", ""), ("A/A", "wrap"),
        ("command", "wrap"),
    ]  # fmt: skip
    rows = [
        c.row(
            [
                c.name_cell(c.link(one.page, c.text(one.name))),
                c.tag("td", f"{one.cells:,}", "number"),
                c.tag("td", c.text(one.created)),
                c.tag("td", c.text(one.noise or "not recorded"), "wrap"),
                c.tag("td", c.tag("code", c.text(" ".join(one.command))), "wrap"),
            ]
        )
        for one in atlas.sources
    ]
    return c.tag("h2", "Recordings", id="recordings") + c.table("recordings", head, rows)
