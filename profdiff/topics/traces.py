"""How long calls of traced functions took: a histogram for each function."""

from collections import defaultdict

from profdiff.base import guest_clock
from profdiff.base.metric import Metric
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Run
from profdiff.shapes.table import Section, by_figure, of_row, tabulate

HISTOGRAM = "histogram"
"""What a run calls the file that it keeps of its trace."""


def section(findings: Findings) -> Section:
    """The functions that some kernel called, in all boots at the setting; no tables where nothing
    was traced. Raises SessionError for a damaged file."""
    session = findings.session
    runs = [run for run in findings.manifest.runs if HISTOGRAM in run.files and not run.failure]
    if session is None or not runs:
        return Section(name="traces", title="Traces")
    from profdiff.collectors.trace.calls import Histogram

    labels = [kernel.label for kernel in findings.kernels]
    sums: dict[str, dict[int, dict[str, int]]] = defaultdict(dict)
    part = 1.0
    for run in runs:
        if run.point != findings.setting.point or run.state or run.kernel not in labels:
            continue
        histogram = Histogram.load(session.path(run.files[HISTOGRAM]))
        part = min(part, histogram.part)
        for function in histogram.functions:
            for power, calls in enumerate(function.calls):
                row = sums[function.name].setdefault(power, dict.fromkeys(labels, 0))
                row[run.kernel] += calls
    # A buffer that is too small holds the first part of a trace.
    lost = f", of the first {part:.1%} of what was traced" if part < 1 else ""
    title = f"calls by how long each took, from so many {_unit(runs)} on{lost}"
    columns = [
        of_row("from", "number", lambda row: row[0]),
        *by_figure(labels, "calls", lambda row, kernel: row[1][kernel]),
    ]
    tables = [
        tabulate(
            columns,
            name=f"traces-{number}",
            title=f"{function}: {title}",
            kernels=labels,
            ops=None,
            rows=_buckets(rows),
            by_kernel=False,
            bars="everywhere",
        )
        for number, (function, rows) in enumerate(sums.items())
    ]
    return Section(name="traces", title="Traces", tables=tables)


def _buckets(rows: dict[int, dict[str, int]]) -> list[tuple[int, dict[str, int]]]:
    """How many calls took from a time to less than twice that, from the first that has a call to
    the last; 1 has those that took less, too."""
    some = [power for power, calls in rows.items() if any(calls.values())]
    powers = range(min(some, default=0), max(some, default=-1) + 1)
    return [(2**power, rows[power]) for power in powers]


def _unit(runs: list[Run]) -> str:
    virtual = any(run.qemu and run.qemu.virtual_clock for run in runs)
    return guest_clock.counted(Metric("", "ns")).unit if virtual else "ns"
