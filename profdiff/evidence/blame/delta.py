"""The delta of a kernel, by the commits that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.collectors.recorded import CallTree
from profdiff.evidence.blame import config_lines
from profdiff.evidence.blame.attribution import BlamedPart, Kind, Option, Place, attribute, merged
from profdiff.evidence.blame.call_sites import CallSites
from profdiff.evidence.blame.executed import INEXACT as INEXACT
from profdiff.evidence.blame.executed import Functions, Line, counted, executed
from profdiff.evidence.blame.history import History, Side, history
from profdiff.evidence.blame.renamed import Pair, renamed
from profdiff.evidence.blame.shapes import shapes
from profdiff.evidence.blame.suspects import suspects
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts
from profdiff.sources.repository import Commit, Repository


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
        suspects=suspects(comparison, kernel, parts, effects),
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
