"""What is shown of idle vCPUs: a table of all of them and of each, and one of what gave way."""

from collections.abc import Mapping, Sequence

from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.shapes.table import Section, Table, by_figure, of_row, tabulate
from profdiff.topics.idle.measure import Idled, IdlePath, idle_paths, of_comparison

# The most paths that readers see.
_PATHS = 8


def section(findings: Findings) -> Section:
    """The first exact counts with idle vCPUs. It has no tables where no vCPU idled, or where that
    was not recorded."""
    found = next(filter(None, map(comparison_tables, findings.comparisons)), [])
    return Section(name="idle", title="Idle", tables=found)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Those of one metric."""
    idled = of_comparison(comparison) if comparison.metric.deterministic else None
    if idled is None or not any(one.idle or any(one.vcpus) for one in idled.values()):
        return []
    return tables(idled, idle_paths(comparison), comparison.ops)


def tables(idled: Mapping[str, Idled], paths: Sequence[IdlePath], ops: int | None) -> list[Table]:
    """``idled`` by kernel, the base first; ``paths``: the longest first."""
    busy = min(len(one.vcpus) for one in idled.values())
    rows = [("none busy", {label: one.idle for label, one in idled.items()})]
    # One vCPU says no more than that none was busy.
    rows += [
        (str(vcpu), {label: one.vcpus[vcpu] for label, one in idled.items()})
        for vcpu in range(busy if busy > 1 else 0)
    ]
    columns = [
        of_row("vCPU", "name", lambda row: row[0]),
        *by_figure(list(idled), "time", lambda row, kernel: row[1][kernel], "change"),
    ]
    times = tabulate(
        columns,
        name="idle-times",
        title="idle, in ns of the guest's clock",
        kernels=list(idled),
        ops=ops,
        rows=rows,
        sums=[("clock", {label: one.advanced for label, one in idled.items()})],
        by_kernel=False,
    )
    return [times, *([_paths(list(idled), paths, ops)] if paths else [])]


def _paths(labels: list[str], paths: Sequence[IdlePath], ops: int | None) -> Table:
    columns = [
        *by_figure(labels, "time", lambda row, kernel: row.time[kernel], title="idle"),
        *by_figure(labels, "times", lambda row, kernel: row.times[kernel], title="times", spare=1),
        of_row("path", "path", lambda row: list(row.functions), title="the last task gave way in"),
    ]
    more = len(paths) - _PATHS
    note = "idle: summed over vCPUs; times: how often one began to idle"
    return tabulate(
        columns,
        name="idle-paths",
        title="",
        kernels=labels,
        ops=ops,
        rows=paths[:_PATHS],
        hidden=paths[_PATHS:],
        by_kernel=False,
        notes=[f"{note}; {more:,} more paths not shown." if more > 0 else f"{note}."],
    )
