"""What the pages of an atlas have in common: table cells whose numbers lead to their sessions."""

from collections.abc import Iterable, Sequence
from html import escape

from profdiff.base import units
from profdiff.reports.atlas.line_chart import number
from profdiff.views.atlas import (
    Atlas,
    AtlasCell,
    AtlasCommit,
    AtlasPoint,
    AtlasSeries,
    AtlasStep,
    AtlasValue,
)
from profdiff.views.suite.records import SuiteCellFunction


def text(value: str) -> str:
    """One printable line as markup."""
    return escape(units.printable(value))


def tag(name: str, content: str, kind: str = "", **attributes: str) -> str:
    """An element around markup; ``kind``: its class."""
    told = {**({"class": kind} if kind else {}), **attributes}
    head = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in told.items())
    return f"<{name}{head}>{content}</{name}>"


def link(address: str, content: str, **attributes: str) -> str:
    """A link to a page; without an address its content alone."""
    return tag("a", content, href=address, **attributes) if address else content


def table(title: str, head: Sequence[tuple[str, str]], rows: Iterable[str]) -> str:
    """A table that scrolls for itself. ``title``: the id of its heading; ``head``: titles, each
    with its class; ``rows``: as ``row`` makes them."""
    cells = "".join(tag("th", text(name), kind, scope="col") for name, kind in head)
    body = "".join(rows)
    made = f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody>"
    return tag(
        "div", tag("table", made, "lines"), "scroll", role="group", aria_labelledby=title
    ).replace("aria_labelledby", "aria-labelledby", 1)


def without_empty(
    head: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]
) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """Titles and rows of cells without the columns that are empty in every row."""
    kept = [n for n in range(len(head)) if not rows or any(not _empty(one[n]) for one in rows)]
    return [head[n] for n in kept], [[one[n] for n in kept] for one in rows]


def _empty(cell: str) -> bool:
    """Whether an element has no content."""
    return cell.find(">") == len(cell) - len("></td>")


def row(cells: Iterable[str], find: str = "") -> str:
    """A row of cells; ``find``: what a search looks in."""
    more = {"data-find": units.printable(find)} if find else {}
    return tag("tr", "".join(cells), **more)


def name_cell(content: str) -> str:
    """The cell that names its row."""
    return tag("th", content, "what", scope="row")


def value_cell(point: AtlasPoint | None, up: str) -> str:
    """A cell's value on a release, which leads to its session's page, or why there is none."""
    if point is None:
        return tag("td", "", "missing")
    if point.value is None:
        why = point.missing
        return tag(
            "td", why.kind if why else "not recorded", "missing", title=why.why if why else ""
        )
    address = f"{up}{point.page}" if point.page else ""
    return tag("td", link(address, number(point.value), title=point.reproduce), "number")


def end_cell(value: AtlasValue, up: str) -> str:
    """One end of a step."""
    address = f"{up}{value.page}" if value.page else ""
    return tag("td", link(address, number(value.value), title=value.reproduce), "number")


def change_text(step: AtlasStep) -> str:
    """A step in words and signs, which are enough without colour."""
    if step.verdict == "depends on state":
        if step.low is None or step.high is None:
            return "depends on state"
        return f"depends on state: {units.changes(step.low, step.high)}"
    unsure = " ?" if step.verdict == "unsure" else ""
    if not step.delta or step.verdict == "unchanged":
        return "="
    if step.relative is None:
        return f"from 0{unsure}"
    if step.relative >= 9:
        return f"{1 + step.relative:,.0f} times{unsure}"
    digits = 1 if abs(step.relative) >= 0.0005 else 2
    said = f"{100 * step.relative:+,.{digits}f}%"
    if float(said.rstrip("%").replace(",", "")) == 0:
        said = "+<0.01%" if step.delta > 0 else "-<0.01%"
    return said + unsure


def change_cell(step: AtlasStep | None, ends: str = "") -> str:
    """Against the release before; ``ends``: from what to what, where the table does not show it."""
    if step is None:
        return tag("td", "", "change")
    way = ("more" if step.delta > 0 else "less") if step.relevant else ""
    told = change_text(step) + (f"<br>{tag('small', text(ends))}" if ends else "")
    return tag("td", told, f"change {way} step-{way}" if way else "change")


# So many functions are named of a step.
_NAMED = 3


def functions_text(step: AtlasStep) -> str:
    """The functions that made a step, its seat first."""
    others = [one for one in step.functions if not _same(one, step.seat)]
    chosen = [step.seat, *others[: _NAMED - 1]] if step.seat else step.functions
    made = [
        tag("code", text(one.name))
        + tag(
            "small",
            f"{'+' if one.delta > 0 else ''}{number(one.delta)}"
            + ("" if one.share is None else f" ({100 * one.share:.0f}%)"),
        )
        for one in chosen
    ]
    return "<br>".join(made)


def _same(one: SuiteCellFunction, other: SuiteCellFunction | None) -> bool:
    return other is not None and (one.name, one.object) == (other.name, other.object)


def commit_text(atlas: Atlas, step: AtlasStep, up: str) -> str:
    """The commit that made a step, which leads to the session of its bisection, or what one found
    in its range; compilers and programs, where they differ."""
    told = [_cited(atlas, step.commit, up)] if step.commit else []
    told += [
        tag("small", "a bisection found in this range: ") + _cited(atlas, one, up)
        for one in step.suspects
    ]
    if step.compilers:
        told.append(tag("small", text(f"compilers differ: {' and '.join(step.compilers)}")))
    if step.programs_differ:
        told.append(tag("small", "program differs"))
    return "<br>".join(told)


def _cited(atlas: Atlas, one: AtlasCommit, up: str) -> str:
    page = f"{up}{atlas.sources[one.source].page}"
    return link(page, text(f'{one.commit[:12]} ("{one.subject}")'))


def find_text(cell: AtlasCell) -> str:
    """What a search looks in for a cell."""
    steps = [point.step for point in cell.points if point.step]
    functions = [one.name for step in steps for one in step.functions]
    functions += [step.seat.name for step in steps if step.seat]
    return " ".join([cell.name, cell.op, cell.about, *cell.tags, *functions])


def unit_of(series: AtlasSeries, cell: AtlasCell) -> str:
    """What a cell's values are."""
    return f"{series.unit} per {cell.op}" if cell.per_op else series.unit


def machine_line(series: AtlasSeries) -> str:
    """On what all of a series was counted."""
    said = "; ".join(f"{name}: {value}" for name, value in series.machine.items())
    return tag("p", text(said), "machine")
