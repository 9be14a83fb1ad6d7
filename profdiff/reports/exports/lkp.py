"""The comparison in the layout of the 0-day robot's mails, computed as lkp-tests computes it.

The shares are those of programs/perf-profile in https://github.com/intel/lkp-tests at bbbc29c495d9,
which reads ``perf report --children -g folded,0.5,callee`` of each run. Differences: `.cold` and
other suffixes are folded too, frames are inlined ones too, and what vanished is shown: lkp-tests
leaves it out below 5%, as it compares an Integer 0 (lib/stats.rb, changed_stats?).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.lkp_table import Failures, Row, table
from profdiff.session.manifest import Manifest
from profdiff.session.points import substitute
from profdiff.views.kernels.machine import guest_arch
from profdiff.views.results.result import unit

_RULE = "=" * 89
# What perf-profile/parse drops, what perf report leaves out of call chains, and how deep it reads.
_LEAST, _LEAST_CHAIN, _FRAMES = 0.05, 0.5, 5
_HEX = 12


@dataclass(frozen=True)
class MetricRuns:
    """A metric beside the profile: ``values`` by kernel, in the comparison's order, and by run;
    ``name`` as in ``mprotect-toggle.ns_per_call``; ``unit``: empty where nobody said it."""

    name: str
    values: list[list[float]]
    unit: str = ""


def workload_series(findings: Findings) -> list[MetricRuns]:
    """What timed runs measured at the setting, the median of each boot."""
    name = _name(findings.manifest)
    kernels = [kernel.label for kernel in findings.kernels]
    return [
        MetricRuns(
            f"{name}.{units.printable(result.metric.name).replace(' ', '_')}",
            [
                cell.medians
                for label, cell in zip(findings.results.labels, result.cells, strict=True)
                if label in kernels
            ],
            units.printable(unit(result)) if result.metric.unit else "",
        )
        for result in findings.results.at(findings.setting)
        if not registry.collector(result.collector).profiles
    ]


def render(
    comparisons: Sequence[Comparison], extra: Sequence[MetricRuns], *, top: int | None = None
) -> str:
    """A table for each collector; ``extra`` stands in the first, and belongs to its kernels.

    Totals and ``extra`` are always shown; of the shares of each kind and metric those that differ
    (`Row.changed`), and of these the ``top`` with the largest change. Raises InputError for a
    single kernel.
    """
    if not comparisons or len(comparisons[0].labels) < 2:
        raise InputError("--lkp: there is one kernel, and nothing to compare it with")
    lines: list[str] = []
    more = [Row(units.printable(series.name), series.values) for series in extra]
    # Names of benchmarks say nanoseconds where a guest's clock counts instructions.
    told = [f"  {units.printable(series.name)}: {series.unit}" for series in extra if series.unit]
    told = ["unit:", *told, ""] if told else []
    for _, members in groupby(comparisons, key=lambda one: (one.runs[0].collector, one.labels)):
        group = list(members)
        rows = more + [row for one in group for row in _rows(one, top)]
        lines += [*_head(group[0]), *told, *table(group[0].labels, _failures(group[0]), rows), ""]
        more, told = [], []
    return "\n".join(lines)


def _head(comparison: Comparison) -> list[str]:
    described = comparison.manifest
    command = substitute(" ".join(described.workload.argv), comparison.setting.parameters)
    command = command or "unknown"
    axes: dict[str, str] = {"collector": comparison.runs[0].collector}
    if described.guest:
        name = guest_arch(comparison.runs)
        axes |= {"arch": name} if name else {}
        axes |= {"cpu": units.printable(described.guest.cpu)} if described.guest.cpu else {}
        axes |= {"cpus": str(comparison.setting.cpus), "memory": f"{described.guest.memory}M"}
    if comparison.ops:
        axes["ops"] = str(comparison.ops)
    axes["workload"] = units.printable(command)
    lines = [_RULE, f"{'/'.join(axes)}:", f"  {'/'.join(axes.values())}", "", "kernel:"]
    for kernel in comparison.kernels:
        known = [f'"{units.printable(kernel.release)}"'] if kernel.release else []
        known += [f"build id {kernel.build_id[:_HEX]}"] if kernel.build_id else []
        lines.append(f"  {kernel.label}" + (f" ({', '.join(known)})" if known else ""))
    lines += [f"  {label} (no run gave a result)" for label in comparison.without_result]
    return [*lines, ""]


def _name(manifest: Manifest) -> str:
    """What lkp-tests calls the testcase: the program's name, without a dot, which would end it."""
    argv = manifest.workload.argv
    name = PurePath(argv[0]).stem if argv else ""
    return units.printable(name).replace(".", "_").replace(" ", "_") or "workload"


def _failures(comparison: Comparison) -> list[Failures]:
    labels = comparison.labels
    failed = [run for run in comparison.failed if run.kernel in labels]
    runs = Counter(run.kernel for run in [*comparison.runs, *failed])
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in failed:
        by_kind[run.failure.kind if run.failure else ""][run.kernel] += 1
    return [
        Failures(
            f"{_name(comparison.manifest)}.{kind}.fail",
            [counts[label] for label in labels],
            [runs[label] for label in labels],
        )
        for kind, counts in by_kind.items()
    ]


def _rows(comparison: Comparison, top: int | None) -> Iterator[Row]:
    # As lkp-tests writes `cycles:pp`.
    metric = units.printable(comparison.metric.name).replace(":", "-")
    totals = comparison.run_counts.sum(axis=0)
    name = f"{_name(comparison.manifest)}.{metric}"
    yield Row(name, _by_kernel(comparison, totals))
    if comparison.ops:
        yield Row(f"{name}_per_op", _by_kernel(comparison, totals / comparison.ops))
    for kind, shares in _shares(comparison, totals).items():
        rows = [
            Row(f"perf-profile.{kind}.{metric}.{what}", _by_kernel(comparison, values))
            for what, values in shares.items()
        ]
        changed = sorted((row for row in rows if row.changed), key=lambda row: -row.size)
        yield from changed[:top]


def _by_kernel(comparison: Comparison, values: NDArray[np.float64]) -> list[list[float]]:
    """float64[R] as lists, by kernel."""
    kernels = np.array([run.kernel for run in comparison.runs])
    return [values[kernels == label].tolist() for label in comparison.labels]


_Shares = dict[str, NDArray[np.float64]]


def _shares(comparison: Comparison, totals: NDArray[np.int64]) -> dict[str, _Shares]:
    """By kind and name, percent of each run's total: float64[R]."""
    stacks, counts = comparison.stacks, comparison.run_counts
    names = [units.printable(function.name) for function in comparison.functions]
    names += ["[unknown]"] * len(comparison.unnamed)
    paths = _entered_last(comparison)
    paths[100 * paths < _LEAST_CHAIN * totals] = 0
    return {
        "self": _summed(names, _percent(stacks.self_by_function(counts, len(names)), totals)),
        "children": _summed(names, _percent(stacks.total_by_function(counts, len(names)), totals)),
        "calltrace": _summed(_Chains(comparison, names), _percent(paths, totals)),
    }


class _Chains:
    """By stack: its names from the leaf down, joined."""

    def __init__(self, comparison: Comparison, names: list[str]) -> None:
        self._names = names
        self._stacks = comparison.stacks

    def __getitem__(self, stack: int) -> str:
        chain: list[str] = []
        while stack >= 0 and len(chain) < _FRAMES:
            chain.append(self._names[self._stacks.function[stack]])
            stack = int(self._stacks.parent[stack])
        return ".".join(chain)


def _entered_last(comparison: Comparison) -> NDArray[np.int64]:
    """int64[S, R]: counts of each stack with all on top of it, but not where its function stands
    there again: perf gives a sample to each function once, with the callers of its innermost call
    (tools/perf/util/hist.c, iter_add_next_cumulative_entry())."""
    stacks = comparison.stacks
    inclusive = stacks.inclusive(comparison.run_counts)
    result = inclusive.copy()
    outer = stacks.outer()
    again = outer >= 0
    np.subtract.at(result, outer[again], inclusive[again])
    return result


def _percent(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """[N, R] in percent of [R], with the two decimals that perf report prints."""
    shares = 100 * counts / np.maximum(totals, 1)
    return np.round(shares, 2)


def _summed(names: "Sequence[str] | _Chains", shares: NDArray[np.float64]) -> _Shares:
    """Namesakes as one, without what is too small to be recorded."""
    sums: _Shares = {}
    for row in np.flatnonzero(shares.any(axis=1)).tolist():
        name = names[row]
        sums[name] = sums[name] + shares[row] if name in sums else shares[row]
    rounded = {name: np.round(values, 2) for name, values in sums.items()}
    return {name: np.where(values < _LEAST, 0, values) for name, values in rounded.items()}
