"""In how many states a change was seen, and whether it depends on them."""

from collections.abc import Iterator

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.views.results import result as words
from profdiff.views.results.recording import Remark

MORE = 4
"""So many varied states are suggested."""
ALONE = "a change that was seen in one state"


def sentences(findings: Findings, *, depending: bool) -> list[str]:
    """One for each change at the setting that was seen in several states, or in one of them: those
    that depend on state, which a reader must know before all else, or the others."""
    return [
        f"{label}: {_named(findings, one)}{told(findings, label, change)}."
        for one, label, change in _changes(findings)
        if (change.states > 1 or change.alone) and (change.verdict is Verdict.DEPENDS) is depending
    ]


def where(findings: Findings, label: str) -> str:
    """``, in state 3``: which state figures of functions and data are of, where that is a question:
    a kernel's change of counts depends on it, or another's does."""
    for one, other, change in _changes(findings):
        if other == label and (change.verdict is Verdict.DEPENDS or one.state):
            return f", in {words.state(one)}"
    return ""


def told(findings: Findings, label: str, change: Estimate) -> str:
    """``the change depends on state: -64.3% to +225.4% in 5 states, which differ most in f``."""
    if change.alone:
        return "the change was seen in one state"
    span = (
        units.changes(change.median.low, change.median.high) if words.spans_states(change) else ""
    )
    if change.verdict is not Verdict.DEPENDS:
        return f"the change was seen in {change.states:,} states{f': {span}' if span else ''}"
    most = findings.differ.get(label)
    differ = f", which differ most in {units.printable(most.name)}" if most else ""
    said = f": {span} in {change.states:,} states" if span else f" ({change.states:,} were seen)"
    return f"the change depends on state{said}{differ}"


def remarks(findings: Findings) -> list[Remark]:
    """What to do where a change of exact counts was seen in the plain state alone, for who
    recorded."""
    if not any(change.alone for _, _, change in _changes(findings)):
        return []
    text = (
        f"{ALONE} may be an accident of that: record with --vary-state {MORE} to see whether it "
        "depends on state"
    )
    return [Remark(kind="advice", text=text)]


def _changes(findings: Findings) -> Iterator[tuple[Result, str, Estimate]]:
    """The changes of counts, at the setting that is looked at."""
    results = findings.results
    for one in results.at(findings.setting):
        for label, change in zip(results.labels, one.changes, strict=True):
            if one.deterministic and change is not None:
                yield one, label, change


def _named(findings: Findings, one: Result) -> str:
    """The metric, where there are several."""
    several = len({found.metric.name for found, _, _ in _changes(findings)}) > 1
    return f"{units.printable(one.metric.name)}: " if several else ""
