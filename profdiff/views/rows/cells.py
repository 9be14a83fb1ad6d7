"""The cells of a suite as rows: what each costs on each kernel."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from profdiff.views.record import Record
from profdiff.views.suite import (
    MissingKind,
    SuiteCell,
    SuiteChange,
    SuiteDocument,
    SuiteKernel,
    Verdict,
)


class CellRow(Record, frozen=True):
    """A metric of a kernel in a cell; None where something is not known. ``part``: of which
    architecture or compiler, "" for the only one; ``tags``: with blanks between them;
    ``session``: its folder, relative to the suite's. ``value``, ``base`` and ``delta`` are per op
    where ``per_op``; ``change``: relative, as a fraction of the base; ``relevant``: it is sure, and
    at least the report's threshold. ``states``: in how many it was seen; of several ``low`` and
    ``high`` are the lowest and the highest change, ``differs`` the function in which they differ
    most. ``iterated``: the change with each iteration of repeated string instructions counted,
    where that is another one. ``variant``: what the kernel alone is given, boot arguments,
    ``memory=512M``, ``cpus=2``, with blanks between them. ``function``: whose own count makes most
    of the change; ``seat``: the deepest that holds at least half of it with all that it calls.
    ``noise``: how much the base differs from itself.
    ``missing`` and ``why``: why there is no value; *damaged* in the one row of a workload that
    cannot be read, whose kernel and metric are ""."""

    cell: str
    workload: str
    part: str
    parameters: dict[str, str]
    vcpus: int | None = None
    tags: str = ""
    op: str = ""
    metric: str = ""
    unit: str = ""
    per_op: bool | None = None
    kernel: str = ""
    release: str | None = None
    value: float | None = None
    base: float | None = None
    delta: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    relevant: bool | None = None
    states: int | None = None
    differs: str | None = None
    missing: Literal[MissingKind, "damaged"] | None = None
    why: str | None = None
    function: str | None = None
    function_delta: float | None = None
    seat: str | None = None
    seat_delta: float | None = None
    noise: float | None = None
    session: str | None = None
    iterated: float | None = None
    variant: str = ""


def cell_rows(document: SuiteDocument) -> Iterator[CellRow]:
    """Workloads that cannot be read, then the cells in the suite's order: of each all kernels, the
    base first, those with a value by a further metric, and the events and items that changed
    (``events:page-faults``, ``inventory:returns``)."""
    for one in document.damaged:
        yield CellRow(
            cell=one.name,
            workload=one.name.partition("/")[0],
            part="",
            parameters={},
            missing="damaged",
            why=one.why,
        )
    for cell in document.cells:
        for kernel in document.kernels:
            yield _own(document, cell, kernel)
        yield from _further(document, cell)
        yield from _events(document, cell)


def _own(document: SuiteDocument, cell: SuiteCell, kernel: SuiteKernel) -> CellRow:
    """The metric that all cells are of."""
    label = kernel.label
    missing, seat = cell.missing.get(label), cell.seats.get(label)
    largest = next(iter(cell.functions.get(label, ())), None)
    return CellRow(
        **_place(cell, kernel),
        metric=document.metric,
        unit=document.unit,
        **_compared(cell.values, cell.changes, document.kernels[0].label, label),
        missing=missing.kind if missing else None,
        why=missing.why if missing else None,
        function=largest.name if largest else None,
        function_delta=largest.delta if largest else None,
        seat=seat.name if seat else None,
        seat_delta=seat.delta if seat else None,
        noise=cell.noise,
    )


def _further(document: SuiteDocument, cell: SuiteCell) -> Iterator[CellRow]:
    base = document.kernels[0].label
    for other in cell.further:
        for kernel in document.kernels:
            if other.values[kernel.label] is not None:
                yield CellRow(
                    **_place(cell, kernel),
                    metric=other.metric,
                    unit=other.unit,
                    **_compared(other.values, other.changes, base, kernel.label),
                )


def _events(document: SuiteDocument, cell: SuiteCell) -> Iterator[CellRow]:
    for kernel in document.kernels:
        some = [("events", one) for one in cell.events.get(kernel.label, ())]
        some += [("inventory", one) for one in cell.items.get(kernel.label, ())]
        for topic, one in some:
            delta = one.value - one.base
            yield CellRow(
                **_place(cell, kernel),
                metric=f"{topic}:{one.event}",
                value=one.value,
                base=one.base,
                delta=delta,
                change=delta / one.base if one.base else None,
                verdict="exact",
                states=one.states,
            )


def _place(cell: SuiteCell, kernel: SuiteKernel) -> dict[str, Any]:
    """The fields that say what a row is of."""
    return {
        "cell": cell.name,
        "workload": cell.workload,
        "part": cell.part,
        "parameters": cell.point,
        "vcpus": cell.cpus,
        "tags": " ".join(cell.tags),
        "op": cell.op,
        "per_op": cell.per_op,
        "kernel": kernel.label,
        "release": kernel.release,
        "session": cell.session,
        "variant": " ".join(kernel.variant.words),
    }


def _compared(
    values: Mapping[str, float | None], changes: Mapping[str, SuiteChange], base: str, label: str
) -> dict[str, Any]:
    """The fields of a kernel's value and of its change."""
    known: dict[str, Any] = {"value": values[label], "base": values[base]}
    if change := changes.get(label):
        known |= {
            "delta": change.delta,
            "change": change.relative,
            "low": change.low,
            "high": change.high,
            "verdict": change.verdict,
            "relevant": change.relevant,
            "states": change.states,
            "differs": change.differs or None,
            "iterated": change.iterated,
        }
    return known
