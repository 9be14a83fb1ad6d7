"""The heading of a page: by how much the cost changed on each kernel, on one line."""

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.session.bisection import CULPRIT
from profdiff.views.results import result

_MOST, _LONGEST = 3, 24


def heading(findings: Findings) -> str:
    """``instructions per op: +5.9% on v6.18, +6.4% on v7.1, against v6.12, at n 4``: of the metric
    that says most, as the tables have it. With more than three kernels, it is the one that changed
    most and the last one. For a bisection, which commit is the culprit."""
    found = largest_change(findings.results, findings.setting)
    bisected = findings.manifest.bisection
    one_commit = bisected is not None and not bisected.candidates
    if bisected and one_commit and found and findings.results.labels[found.kernel] == CULPRIT:
        return f"{_metric(found)}: {_change(found.change)} since {bisected.culprit.commit[:12]}"
    if found:
        return _of_result(findings, found)
    if findings.comparisons and len(findings.comparisons[0].labels) > 1:
        return _of_counts(findings)
    return f"{_short(findings.kernels[0].label)}: measured, nothing to compare"


def _of_result(findings: Findings, found: LargestChange) -> str:
    base, *others = findings.results.labels
    changes = {
        label: _change(change)
        for label, change in zip(others, found.result.changes[1:], strict=True)
        if change is not None
    }
    largest = findings.results.labels[found.kernel]
    at = units.printable(found.result.setting.title)
    told = f"{_metric(found)}: {_listed(changes, largest)}, against {_short(base)}"
    return f"{told}, at {at}" if at else told


def _of_counts(findings: Findings) -> str:
    """The heading of recordings whose counts alone are known."""
    first = findings.comparisons[0]
    base, *others = first.totals().tolist()
    labels = first.labels[1:]
    changes = {}
    for label, other in zip(labels, others, strict=True):
        judged = findings.judged(first, label)
        changes[label] = _told(units.change(base, other), judged and judged[1].verdict)
    largest = labels[others.index(max(others))]
    name = units.printable(first.metric.title)
    return f"{name}: {_listed(changes, largest)}, against {_short(first.labels[0])}"


def _metric(found: LargestChange) -> str:
    """What is measured, without its unit, which the sentences have."""
    one = found.result
    name = units.printable(one.metric.name)
    profiled = registry.collector(one.collector).profiles
    return f"{name} per op" if one.per_op and profiled else name


def _listed(changes: dict[str, str], largest: str) -> str:
    shown = list(changes)
    if len(shown) > _MOST:
        shown = list(dict.fromkeys([largest, shown[-1]]))
    return ", ".join(f"{changes[label]} on {_short(label)}" for label in shown)


def _change(change: Estimate) -> str:
    if change.verdict is Verdict.DEPENDS:
        return "depends on state"
    told = str(result.delta(change))
    if iterated := Iterated.of(change):
        told = f"{told} ({iterated.briefly})"
    if change.alone:
        return f"{told} (seen in one state)"
    return _told(told, change.verdict)


def _told(change: str, verdict: Verdict | None) -> str:
    return f"{change} (unsure)" if verdict is Verdict.UNSURE else change


def _short(label: str) -> str:
    return units.shorten(units.printable(label), _LONGEST)
