"""How long calls of traced functions took: a histogram for each function, of all kernels."""

from collections import defaultdict
from typing import Annotated

from msgspec import Meta

from profdiff.base import guest_clock
from profdiff.base.metric import Metric
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Run
from profdiff.views.record import Counts, Record

HISTOGRAM = "histogram"
"""What a run calls the file that it keeps of its trace."""


class TraceRow(Record, frozen=True):
    """``calls``: how many took from ``low`` to less than twice that, by label; 1 has those that
    took less, too."""

    low: Annotated[int, Meta(ge=1)]
    calls: Counts


class Trace(Record, frozen=True):
    """The calls of a function in all boots at the setting. ``title``: of a table. ``rows`` rise,
    those without a call between them are there too. ``part``: of what was traced, the least that a
    buffer had room for."""

    function: str
    title: str
    unit: str
    rows: list[TraceRow]
    part: float


def traces(findings: Findings) -> list[Trace]:
    """Those of the functions that some kernel called; none where nothing was traced. Raises
    SessionError for a damaged file."""
    session = findings.session
    runs = [run for run in findings.manifest.runs if HISTOGRAM in run.files and not run.failure]
    if session is None or not runs:
        return []
    from profdiff.collectors.trace.calls import Histogram

    labels = [kernel.label for kernel in findings.kernels]
    sums: dict[str, dict[int, Counts]] = defaultdict(dict)
    part = 1.0
    for run in runs:
        if run.point != findings.setting.point or run.state or run.kernel not in labels:
            continue
        found = Histogram.load(session.path(run.files[HISTOGRAM]))
        part = min(part, found.part)
        for function in found.functions:
            for power, calls in enumerate(function.calls):
                row = sums[function.name].setdefault(power, dict.fromkeys(labels, 0))
                row[run.kernel] += calls
    unit = _unit(runs)
    return [
        Trace(
            function=name,
            title=_title(name, unit, part),
            unit=unit,
            rows=_rows(rows),
            part=part,
        )
        for name, rows in sums.items()
    ]


def _title(function: str, unit: str, part: float) -> str:
    lost = f", of the first {part:.1%} of what was traced" if part < 1 else ""
    return f"{function}: calls by how long each took, from so many {unit} on{lost}"


def _rows(rows: dict[int, Counts]) -> list[TraceRow]:
    """From the first that has a call to the last."""
    some = [power for power, calls in rows.items() if any(calls.values())]
    return [
        TraceRow(low=2**power, calls=rows[power])
        for power in range(min(some, default=0), max(some, default=-1) + 1)
    ]


def _unit(runs: list[Run]) -> str:
    virtual = any(run.qemu and run.qemu.virtual_clock for run in runs)
    return guest_clock.counted(Metric("", "ns")).unit if virtual else "ns"
