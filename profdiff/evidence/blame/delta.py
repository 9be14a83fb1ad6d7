"""The delta of a kernel, by the commits that made it, and which of them to try first."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.collectors.recorded import CallTree
from profdiff.evidence.blame import config_lines
from profdiff.evidence.blame.attribution import (
    INEXACT,
    BlamedPart,
    Functions,
    Kind,
    Line,
    Option,
    Place,
    attribute,
    counted,
    executed,
    merged,
)
from profdiff.evidence.blame.call_sites import CallSites
from profdiff.evidence.blame.history import History, Side, history
from profdiff.evidence.blame.renamed import Pair, renamed, shapes
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts
from profdiff.session.session import Session
from profdiff.sources.repository import Commit, Repository

# The most suspects of a function: nobody looks further.
MOST = 4


def suspects_of_lines(
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


@dataclass(frozen=True)
class Blamed:
    """``parts``: what ``delta`` is the sum of, by lines. ``effects``: the same, but a commit has
    all that ran below the calls that it added or removed, and the other parts have the rest.
    ``functions``: what their numbers mean, beginning with those of the comparison. ``commits``:
    those of parts and suspects, by hash. ``suspects``: for kinds without a commit, by function.
    ``strange``: by label, files of another version than the kernel was built from. ``together``:
    commits with those that changed the same lines before or after them."""

    delta: int
    parts: Sequence[BlamedPart]
    effects: Sequence[BlamedPart]
    functions: Sequence[Function]
    commits: Mapping[str, Commit]
    suspects: Mapping[tuple[Kind, int], tuple[str, ...]]
    renamed: Sequence[Pair]
    strange: Mapping[str, Sequence[str]]
    together: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class _Ran:
    """What one kernel executed. ``shapes``: of the instruction at each place."""

    kernel: int
    counts: PickedCounts
    shapes: Sequence[str]
    trees: Sequence[tuple[int, CallTree]]

    @staticmethod
    def of(comparison: Comparison, kernel: int) -> "_Ran":
        """Raises InputError where counts are not exact."""
        counts = counted(comparison, kernel)
        read = counts.addresses.trees
        trees = [] if read is None else read(comparison.picked[kernel])
        return _Ran(kernel, counts, shapes(comparison, kernel, counts.addresses), trees)

    def lines(self, functions: Functions, count: NDArray[np.int64] | None = None) -> list[Line]:
        """Line by line; ``count``: another one for each place."""
        counts = self.counts if count is None else replace(self.counts, count=count)
        return executed(counts, self.kernel, functions, self.shapes)

    def calls(self, functions: Functions, commits: Mapping[Place, str]) -> CallSites:
        """From the lines of ``commits``."""
        return CallSites.of(self.counts, self.kernel, functions, self.shapes, commits, self.trees)


def blamed(
    comparison: Comparison, kernel: int, repository: Repository, revisions: tuple[str, str]
) -> Blamed:
    """The delta of ``kernel`` to the base. ``revisions``: full hashes of what the base and the
    kernel were built from. Raises InputError: no exact counts, or git has not what is needed."""
    functions = Functions(comparison)
    first, second = (_Ran.of(comparison, number) for number in (0, kernel))
    base, new = (
        Side(ran.lines(functions), revision, ran.counts.addresses)
        for ran, revision in zip((first, second), revisions, strict=True)
    )
    known = history(repository, base, new, functions.unresolved)
    option = _option(comparison, kernel, repository, new.revision, known)

    def by_lines(old: Sequence[Line], now: Sequence[Line]) -> list[BlamedPart]:
        about = known.same, known.before, known.after, functions.unresolved
        return attribute(old, now, *about, option)

    parts = by_lines(base.lines, new.lines)
    old = first.calls(functions, known.before.commits)
    now = second.calls(functions, known.after.commits)
    # A call that both kernels have on lines of commits was neither added nor removed.
    wanted, (before, after) = old.calls() ^ now.calls(), (old.functions(), now.functions())
    gone = old.below(wanted, {a: after[b] for a, b in known.same.items() if b in after})
    came = now.below(wanted, {b: before[a] for a, b in known.same.items() if a in before})
    rest = by_lines(first.lines(functions, gone.rest), second.lines(functions, came.rest))
    effects = merged([*rest, *gone.parts(-1), *came.parts(1)])
    labels = comparison.labels[0], comparison.labels[kernel]
    hashes = {part.reason for part in [*parts, *effects] if part.kind == "commit"}
    return Blamed(
        delta=int(second.counts.count.sum() - first.counts.count.sum()),
        parts=parts,
        effects=effects,
        functions=functions.every,
        commits=repository.commits(hashes),
        suspects=suspects_of_lines(comparison, kernel, parts, effects),
        renamed=renamed(base.lines, new.lines, functions.every, known.same, known.texts),
        strange=dict(zip(labels, known.strange, strict=True)),
        together=known.together,
    )


def _option(
    comparison: Comparison, kernel: int, repository: Repository, revision: str, known: History
) -> Option:
    makefiles = {
        str(PurePosixPath(file).parent / "Makefile")
        for file in known.texts[1]
        if comparison.facts.config
    }
    files = repository.files(revision, sorted(makefiles)).items()
    made = {name: data.splitlines() for name, data in files}
    return config_lines.option_of(comparison, kernel, known.texts, made)


def suspects(
    session: Session, base: str, new: str, repository: Path, revisions: tuple[str, str]
) -> list[str]:
    """Full hashes, the likeliest culprit of ``new`` minus ``base`` first. ``base`` is the session's
    base; ``revisions``: full hashes of what the two were built from.

    A commit counts with its effect, in the direction of the delta: the instructions of its own
    lines and all below the calls that it added or removed; and of lines that nobody changed but
    that are executed more often or are other code, with those for which it is a suspect, the less
    the further down that list it stands. Commits whose effect is the other way come last. Raises
    InputError, SessionError.
    """
    results = Results.gather(session.manifest)
    findings = Findings.of(session, choose(session.manifest, None, results), results)
    compared = [one for one in findings.comparisons if one.metric == INSTRUCTIONS]
    if not compared or not compared[0].metric.exact:
        raise InputError(INEXACT)
    comparison = compared[0]
    if comparison.labels[0] != base or new not in comparison.labels[1:]:
        known = ", ".join(comparison.labels)
        raise InputError(f"no comparison of {base} with {new}: the session compares {known}")
    number = comparison.labels.index(new)
    found = blamed(comparison, number, Repository.open(repository), revisions)
    return ranked(found)


def ranked(found: Blamed) -> list[str]:
    """The commits of a blamed delta, as ``suspects`` orders them."""
    sign = -1 if found.delta < 0 else 1
    weights: dict[str, float] = defaultdict(float)
    for part in found.effects:
        if part.kind == "commit":
            weights[part.reason] += sign * part.delta
        for place, commit in enumerate(found.suspects.get((part.kind, part.function), ()), 1):
            weights[commit] += max(sign * part.delta, 0) / place
    for commit in list(weights):
        # What is there came with the last of those that changed it.
        for other in found.together.get(commit, ()):
            weights.setdefault(other, 0)
    return sorted(weights, key=lambda commit: (-weights[commit], commit))
