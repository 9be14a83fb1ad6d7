"""Tables of functions and loops."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.forms.columns import Column, draw, joined
from profdiff.forms.numbers import Numbers
from profdiff.reports.recorded_layout.columns import by_kernel, rest
from profdiff.views.recorded_layout.records import (
    CodePlace,
    FunctionRow,
    LoopPlace,
    LoopRow,
    RecordedLayout,
)


def functions(
    document: RecordedLayout, numbers: Numbers, width: int, top: int
) -> list[Sequence[str]]:
    """A table of those whose code lies otherwise."""
    alone = len(document.labels) == 1
    changed = [one for one in document.functions if one.changed or alone]
    titles = [("self", 1), ("size", 0), ("at", 0), ("lines", 0), ("least", 2)]
    columns = [*by_kernel(document.labels, titles), Column("function", name=True)]
    body = [
        [*(cell for one in row.places.values() for cell in _code(one, numbers)), row.name]
        for row in changed[:top]
    ]
    title = "functions of the kernel, with what is inlined into them"
    title += "" if alone else ", whose code lies otherwise"
    parts: list[Sequence[str]] = (
        [joined(draw(f"{title}{numbers.title}", columns, body, width))] if body else []
    )
    if document.no_code:
        why = "; ".join(f"{label}: {one}" for label, one in document.no_code.items())
        parts.append([f"Sizes and places of functions are not known: {why}."])
    told = rest(
        "functions not shown",
        {
            "more": len(changed) - top,
            "that lie as before": len(document.functions) - len(changed),
        },
    )
    return [*parts, *told]


def _code(place: CodePlace | None, numbers: Numbers) -> list[str]:
    if place is None:
        return ["-"] * 5
    return [
        numbers.count(place.count),
        "-" if place.size is None else f"{place.size:,}",
        "-" if place.at is None else str(place.at),
        f"{place.lines:,}",
        f"{place.least:,}",
    ]


def loops(document: RecordedLayout, numbers: Numbers, width: int, top: int) -> list[Sequence[str]]:
    """A table of those that take another number of lines."""
    if not document.loops:
        return [["Loops are not known: how often branches jump was not recorded."]]
    alone = len(document.labels) == 1
    every = [(one, loop) for one in document.functions for loop in one.loops]
    changed = [(one, loop) for one, loop in every if loop.changed or alone]
    titles = [("turns", 1), ("bytes", 0), ("at", 0), ("lines", 0), ("least", 2)]
    columns = [*by_kernel(document.labels, titles), Column("loop", name=True)]
    body = [
        [*(cell for one in loop.places.values() for cell in _loop(one, numbers)), _name(of, loop)]
        for of, loop in changed[:top]
    ]
    title = "loops" if alone else "loops that lie in more or fewer lines"
    parts: list[Sequence[str]] = (
        [joined(draw(f"{title}{numbers.title}", columns, body, width))] if body else []
    )
    told = rest(
        "loops not shown",
        {"more": len(changed) - top, "in as many lines as before": len(every) - len(changed)},
    )
    return [*parts, *told]


def _loop(place: LoopPlace | None, numbers: Numbers) -> list[str]:
    if place is None:
        return ["-"] * 5
    return [
        numbers.count(place.turns),
        f"{place.executed:,}",
        str(place.at),
        f"{place.lines:,}",
        f"{place.least:,}",
    ]


def _name(of: FunctionRow, loop: LoopRow) -> str:
    """Where it begins on the last kernel that has it."""
    place = [one for one in loop.places.values() if one][-1]
    inlined = "" if of.name == place.function else f"{place.function}, "
    where = f"{place.file}:{place.line}" if place.line else ""
    told = f"{inlined}{where}".removesuffix(", ")
    name = f"{of.name}+{place.offset:#x}"
    return units.printable(f"{name} ({told})" if told else name)
