"""Who removed lines: each is followed from the base to the new revision, through every commit that
touches its file.

``git blame --reverse`` ends at the last commit that has a line on *one* way through the history. Of
a line that one branch removed, and that the other kept until both were merged, that says the merge.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.git import Git
from profdiff.sources.history import Edge, History
from profdiff.sources.hunks import Hunk, changes
from profdiff.sources.same_lines import Fate, SourceLine


class _Where(msgspec.Struct, frozen=True):
    """Where each of some lines of the base is in a commit: the number of the file's name, and the
    line; 0 where it is not there."""

    name: NDArray[np.int64]
    line: NDArray[np.int64]


class Removals(msgspec.Struct, frozen=True, dict=True):
    """Removals on one history."""

    git: Git
    history: History

    def of(self, wanted: Iterable[SourceLine]) -> dict[SourceLine, Fate]:
        """For lines of the base the commit that removed or changed each on the way to the new
        revision, or the line of the new revision that it is."""
        asked: defaultdict[str, set[int]] = defaultdict(set)
        for file, line in wanted:
            asked[file].add(line)
        found: dict[SourceLine, Fate] = {}
        for file, lines in asked.items():
            known = np.array(sorted(lines), np.int64)
            fates = self._followed(file, known)
            found |= {(file, int(one)): fate for one, fate in zip(known, fates, strict=True)}
        return found

    @cached_property
    def _changes(self) -> dict[tuple[str, str], dict[str, tuple[str, Sequence[Hunk]]]]:
        """For each edge, by the file's name before it: the name after it, and what differs."""
        edges = self.history.edges
        names = {name for files in self.history.touched.values() for name in files}
        return dict(zip(edges, changes(self.git, edges, names), strict=True))

    def _followed(self, file: str, lines: NDArray[np.int64]) -> list[Fate]:
        graph = self.history.touching(self.history.names(file))
        top = next(iter(graph))
        names = [file]
        where: dict[str, _Where] = {}
        for commit in _oldest_first(graph):
            if commit == self.history.base:
                where[commit] = _Where(np.zeros_like(lines), lines)
                continue
            came = [
                _moved(where[edge.before], self._changes[commit, edge.parent], names)
                for edge in graph[commit]
            ]
            now = _Where(np.zeros_like(lines), np.zeros_like(lines))
            for one in reversed(came):
                now = _Where(
                    np.where(one.line > 0, one.name, now.name),
                    np.where(one.line > 0, one.line, now.line),
                )
            where[commit] = now
        end = where[top]
        culprits = self._culprits(graph, where, np.flatnonzero(end.line == 0))
        return [
            Fate(line=(names[int(end.name[i])], int(end.line[i])))
            if end.line[i]
            else Fate(commit=culprits.get(i))
            for i in range(len(lines))
        ]

    def _culprits(
        self,
        graph: Mapping[str, tuple[Edge, ...]],
        where: Mapping[str, _Where],
        missing: NDArray[np.int64],
    ) -> dict[int, str]:
        """The commit that removed each line that the newest commit has not. At a merge the branches
        without it are searched; only where none of them removed it, the merge did."""
        order = self.history.order
        found: dict[int, str] = {}
        merges: dict[int, str] = {}
        pending: defaultdict[str, set[int]] = defaultdict(set)
        pending[next(iter(graph))].update(missing.tolist())
        for commit in reversed(_oldest_first(graph)):
            edges = graph[commit] if commit in order else ()
            for i in sorted(pending[commit]):
                having = [edge for edge in edges if where[edge.before].line[i]]
                if len(edges) > 1:
                    for edge in edges:
                        if edge not in having:
                            pending[edge.before].add(i)
                    if having:
                        merges[i] = commit
                elif having:
                    # Where several branches removed it, the oldest commit.
                    found[i] = max(found.get(i, commit), commit, key=order.__getitem__)
                elif edges:
                    pending[edges[0].before].add(i)
        return merges | found


def _oldest_first(graph: Mapping[str, tuple[Edge, ...]]) -> list[str]:
    """The commits, each after those before it."""
    done: dict[str, None] = {}
    waiting = [next(iter(graph))]
    while waiting:
        commit = waiting[-1]
        left = [edge.before for edge in graph[commit] if edge.before not in done]
        if left and commit not in done:
            waiting += left
        else:
            done[waiting.pop()] = None
    return list(done)


def _moved(
    where: _Where, change: Mapping[str, tuple[str, Sequence[Hunk]]], names: list[str]
) -> _Where:
    """Where lines are after a change."""
    name, line = where.name.copy(), where.line.copy()
    for number, known in enumerate(list(names)):
        if known not in change:
            continue
        here = (where.name == number) & (where.line > 0)
        if not here.any():
            continue
        after, hunks = change[known]
        if not after:
            line[here] = 0
            continue
        if after not in names:
            names.append(after)
        name[here] = names.index(after)
        line[here] = _shifted(where.line[here], hunks)
    return _Where(name, line)


def _shifted(lines: NDArray[np.int64], hunks: Sequence[Hunk]) -> NDArray[np.int64]:
    """Lines of one side on the other; 0 for those that differ."""
    if not hunks:
        return lines
    start = np.array([hunk.base.start for hunk in hunks])
    stop = np.array([hunk.base.stop for hunk in hunks])
    shift = np.array([0] + [hunk.new.stop - hunk.base.stop for hunk in hunks])
    passed = np.searchsorted(start, lines, side="right")
    inside = (passed > 0) & (lines < stop[np.maximum(passed - 1, 0)])
    # An empty range starts behind the line that it follows, and so shifts what starts there.
    return np.where(inside, 0, lines + shift[passed])
