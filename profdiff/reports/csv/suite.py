"""The cells of a suite as CSV, unrounded: a row for each cell and kernel."""

from collections.abc import Iterator, Mapping, Sequence

from profdiff.reports.csv.rows import Line, text, written
from profdiff.views.suite.records import SuiteCell, SuiteChange, SuiteDocument, SuiteFurther

_HEADER = (
    "cell",
    "workload",
    "part",
    "point",
    "vcpus",
    "tags",
    "op",
    "metric",
    "unit",
    "per_op",
    "kernel",
    "release",
    "value",
    "base",
    "delta",
    "relative",
    "verdict",
    "relevant",
    "missing",
    "why",
    "function",
    "function_delta",
    "seat",
    "seat_delta",
    "noise",
    "session",
    "states",
    "low",
    "high",
    "differs",
)


def render(document: SuiteDocument) -> str:
    """A line for each cell and kernel, the base's first, whose change is empty; cells in the
    suite's order."""
    return written(list(_HEADER), _rows(document))


def _rows(document: SuiteDocument) -> Iterator[Line]:
    base = document.kernels[0].label
    for one in document.damaged:
        known = {"cell": one.name, "workload": one.name.partition("/")[0], "missing": "damaged"}
        known["why"] = one.why
        yield [text(known.get(column, "")) for column in _HEADER]
    for cell in document.cells:
        point = ",".join(f"{name}={value}" for name, value in cell.point.items())
        head = [text(one) for one in (cell.name, cell.workload, cell.part, point)]
        head += [str(cell.cpus or ""), text(" ".join(cell.tags)), text(cell.op)]
        mine = [text(document.metric), text(document.unit), _flag(cell.per_op)]
        for kernel in document.kernels:
            label = kernel.label
            change, missing = cell.changes.get(label), cell.missing.get(label)
            largest, seat = cell.functions.get(label, ())[:1], cell.seats.get(label)
            yield [
                *head,
                *mine,
                text(label),
                text(kernel.release or ""),
                *_value(cell.values, base, label, change),
                missing.kind if missing else "",
                text(missing.why) if missing else "",
                text(largest[0].name) if largest else "",
                _number(largest[0].delta if largest else None),
                text(seat.name) if seat else "",
                _number(seat.delta if seat else None),
                _number(cell.noise),
                text(cell.session),
                *(_states(change).get(column, "") for column in _HEADER[-4:]),
            ]
        for other in cell.further:
            yield from _further(document, cell, other, head)
        yield from _events(document, cell, head)


def _further(
    document: SuiteDocument, cell: SuiteCell, other: SuiteFurther, head: Sequence[str]
) -> Iterator[Line]:
    """A line for each kernel with a value by another metric."""
    base = document.kernels[0].label
    for kernel in document.kernels:
        label, change = kernel.label, other.changes.get(kernel.label)
        if other.values[label] is None:
            continue
        line: Line = [*head, text(other.metric), text(other.unit), _flag(cell.per_op)]
        line += [text(label), text(kernel.release or "")]
        line += _value(other.values, base, label, change)
        known = {"session": text(cell.session), **_states(change)}
        yield [*line, *(known.get(column, "") for column in _HEADER[len(line) :])]


def _events(document: SuiteDocument, cell: SuiteCell, head: Sequence[str]) -> Iterator[Line]:
    """A line for each kernel and event that changed on it."""
    for kernel in document.kernels:
        for one in cell.events.get(kernel.label, ()):
            delta = one.value - one.base
            line: Line = [*head, text(f"events:{one.event}"), "", _flag(cell.per_op)]
            line += [text(kernel.label), text(kernel.release or "")]
            line += [*map(_number, (one.value, one.base, delta))]
            line += [_number(delta / one.base if one.base else None), "exact"]
            known = {"session": text(cell.session), "states": str(one.states)}
            yield [*line, *(known.get(column, "") for column in _HEADER[len(line) :])]


def _value(
    values: Mapping[str, float | None], base: str, label: str, change: SuiteChange | None
) -> Line:
    return [
        _number(values[label]),
        _number(values[base]),
        _number(change.delta if change else None),
        _number(change.relative if change else None),
        change.verdict if change else "",
        _flag(change.relevant) if change else "",
    ]


def _states(change: SuiteChange | None) -> dict[str, str]:
    if change is None:
        return {}
    return {
        "states": str(change.states),
        "low": _number(change.low),
        "high": _number(change.high),
        "differs": text(change.differs),
    }


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _flag(value: bool) -> str:
    return "yes" if value else "no"
