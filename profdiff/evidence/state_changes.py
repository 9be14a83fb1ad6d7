"""A change in varied states: whether it holds, and in which function the states differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profdiff.evidence.statistics import Estimate, Interval, Verdict
from profdiff.evidence.suite_functions import FunctionKey
from profdiff.profile.self_counts import SelfCounts
from profdiff.session.states import StateChange, holds

_SURE = (Verdict.CHANGED, Verdict.EXACT)


def in_states(found: Estimate, base: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
    """What may be said of a change of the plain state after its values in others, by their numbers;
    states that one side lacks say nothing. Where the boots of the plain state leave it open whether
    there is a change, states say nothing either."""
    both = sorted(base.keys() & other.keys())
    if not both or found.verdict not in _SURE:
        return found
    changes = [StateChange(*found.medians), *(StateChange(base[n], other[n]) for n in both)]
    relative = [one.relative for one in changes]
    # One without a ratio leaves no range: min() would depend on the order.
    known = all(one == one for one in relative)
    low, high = (min(relative), max(relative)) if known else (float("nan"),) * 2
    found = replace(found, states=len(changes))
    scattered = found.verdict is Verdict.CHANGED
    if not holds(changes):
        found = replace(found, verdict=Verdict.DEPENDS, reason="")
    elif scattered:
        return found
    return replace(found, median=Interval(found.median.estimate, low, high))


def differ_most(states: Sequence[SelfCounts], base: str, label: str) -> FunctionKey | None:
    """The function whose own delta on a kernel differs most from one of ``states`` to another;
    None where it is the same in all. States without a result of either kernel are passed over."""
    deltas: list[dict[FunctionKey, int]] = []
    for counts in states:
        if not {base, label} <= set(counts.labels):
            continue
        before, after = (list(counts.labels).index(one) for one in (base, label))
        own = (counts.counts[:, after] - counts.counts[:, before]).tolist()
        found: dict[FunctionKey, int] = {}
        for function, delta in zip(counts.functions, own, strict=True):
            key = FunctionKey.of(function)
            found[key] = found.get(key, 0) + delta
        deltas.append(found)

    def span(key: FunctionKey) -> int:
        some = [one.get(key, 0) for one in deltas]
        return max(some) - min(some)

    every = sorted({key for one in deltas for key in one})
    most = max(every, key=span, default=None)
    return most if most and span(most) else None
