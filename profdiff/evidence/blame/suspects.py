"""Why a line that nobody changed may be executed more often, or be other code: who changed what
calls it, or what stands beside it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from profdiff.evidence.blame.attribution import BlamedPart, Kind
from profdiff.profile.comparison import Comparison

# The most suspects of a function: nobody looks further.
MOST = 4


def suspects(
    comparison: Comparison, kernel: int, parts: Sequence[BlamedPart], effects: Sequence[BlamedPart]
) -> Mapping[tuple[Kind, int], tuple[str, ...]]:
    """For each kind and function, most of the delta first.

    For lines that are other code: the commits that changed executed lines of the function, which
    the compiler sees as a whole. For lines that are executed more or less often: the commits that
    changed executed lines nearest to the function on its stacks. A function that was called as
    often as before may itself do more for each call, so its own lines count; where it was called
    more or less often, or its callers alone have changed lines, those of the nearest caller do.
    Before all of them come the commits that added or removed a call below which the function ran:
    ``effects`` has what their lines (``parts``) have not.
    """
    changed: dict[int, dict[str, int]] = defaultdict(dict)
    wanted, compiled = set(), set()
    below: dict[int, Counter[str]] = defaultdict(Counter)
    left = {part.function for part in effects if part.kind == "more-often" and part.delta}
    for sign, some in ((1, effects), (-1, parts)):
        for part in some:
            if part.kind == "commit":
                below[part.function][part.reason] += sign * part.delta
    for part in parts:
        if part.kind == "commit":
            own = changed[part.function]
            own[part.reason] = own.get(part.reason, 0) + part.added - part.removed
        elif part.kind == "more-often" and part.delta:
            wanted.add(part.function)
        elif part.kind == "other-code" and part.delta:
            compiled.add(part.function)
    called = _called_otherwise(comparison, kernel)
    weights: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    deltas = np.abs(comparison.counts[:, kernel] - comparison.counts[:, 0])
    function, parent = comparison.stacks.function.tolist(), comparison.stacks.parent.tolist()
    for stack in np.flatnonzero(deltas).tolist():
        leaf = function[stack]
        if leaf not in wanted & left:
            continue
        at = parent[stack] if leaf in called else stack
        while at >= 0 and function[at] not in changed:
            at = parent[at]
        if at >= 0:
            for commit, size in changed[function[at]].items():
                # By the delta that it may explain, then by how much of the caller it changed.
                weights[leaf][commit] += int(deltas[stack]) * (size + 1)
    calls = {one: {who: abs(size) for who, size in below[one].items() if size} for one in below}
    found: dict[tuple[Kind, int], tuple[str, ...]] = {}
    for one in wanted | compiled:
        first = _first(calls.get(one, {}))
        if one in wanted and (named := [*first, *_first(weights[one])]):
            found["more-often", one] = tuple(dict.fromkeys(named))[:MOST]
        if one in compiled and (named := [*first, *_first(changed.get(one, {}))]):
            found["other-code", one] = tuple(dict.fromkeys(named))[:MOST]
    return found


def _first(found: Mapping[str, int]) -> list[str]:
    return sorted(found, key=lambda commit: (-found[commit], commit))


def _called_otherwise(comparison: Comparison, kernel: int) -> frozenset[int]:
    """The functions that were entered more or less often than on the base."""
    if comparison.calls is None:
        return frozenset()
    every = len(comparison.functions) + len(comparison.unnamed)
    calls = comparison.stacks.self_by_function(comparison.calls, every)
    return frozenset(np.flatnonzero(calls[:, kernel] != calls[:, 0]).tolist())
