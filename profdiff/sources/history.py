"""The commits between two revisions that touch some files, as a graph that is small enough to blame
each file on.

Blame walks every commit between its ends, once for each file: between two releases of Linux, a
hundred thousand commits. So the history is walked once for all files, and blame is given a graph of
those that matter to its file (``git blame -S``). A commit that touches the file keeps its real
parents: what it moved from other files, blame finds in its own change.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from profdiff.sources.git import Git


@dataclass(frozen=True)
class History:
    """Commits after ``base``, an ancestor of ``new`` or the one that both have in common.

    ``parents``: of each commit that touches a file, the nearest ones before it that do, or where
    the history leaves the range; newest first. ``real``: all of its parents. ``touched``: files in
    which it differs from each of ``parents``."""

    base: str
    new: str
    parents: Mapping[str, tuple[str, ...]]
    real: Mapping[str, tuple[str, ...]]
    touched: Mapping[tuple[str, str], frozenset[str]]

    @staticmethod
    def read(git: Git, base: str, new: str, files: Collection[str]) -> "History":
        """Walk from ``new`` to ``base`` (full hashes)."""
        names = sorted(files)
        walk = ("rev-list", "--topo-order", "--parents", f"^{base}", new, "--", *names)
        parents = _parents(git.run(*walk))
        question = "".join(f"{commit}\n" for commit in parents).encode()
        real: dict[str, tuple[str, ...]] = {}
        touched: dict[tuple[str, str], frozenset[str]] = {}
        if parents:
            alone = ("rev-list", "--no-walk=unsorted", "--parents", "--stdin")
            real = _parents(git.run(*alone, stdin=question))
            pairs = [(commit, parent) for commit in parents for parent in parents[commit]]
            question = "".join(f"{commit} {parent}\n" for commit, parent in pairs).encode()
            compare = ("diff-tree", "--stdin", "--always", "-r", "-z", "--name-status")
            said = git.run(*compare, "--no-renames", "--", *names, stdin=question)
            touched = dict(zip(pairs, _changes(said), strict=True))
        return History(base, new, parents, real, touched)

    @cached_property
    def order(self) -> dict[str, int]:
        """The number of each commit, newest first."""
        return {commit: i for i, commit in enumerate(self.parents)}

    def graph(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Parents of the commits that touch a file called one of ``names``, of the real parents
        between them, and of ``new``; each commit where the history leaves the range has ``base``
        for its parent, and ``base`` has none."""
        known: dict[str, str] = {}
        wanted = frozenset(names)
        top = self._touching(self.new, wanted, known)
        found: dict[str, tuple[str, ...]] = {self.base: ()}
        if top != self.new:
            found[self.new] = (top,)
        waiting = [top]
        while waiting:
            commit = waiting.pop()
            if commit in found:
                continue
            if commit not in self.parents:
                found[commit] = (self.base,)
                continue
            before = [self._touching(one, wanted, known) for one in self.parents[commit]]
            steps = list(self.real.get(commit, ()))
            if len(steps) != len(before):
                steps = before
            for step, one in zip(steps, before, strict=True):
                if step != one and step != self.base:
                    found.setdefault(step, (one,))
            found[commit] = tuple(dict.fromkeys(steps))
            waiting += before
        return found

    def touches(self, commit: str, names: Collection[str]) -> bool:
        """Whether a commit touches a file called one of ``names``."""
        return any(
            not self.touched[commit, parent].isdisjoint(names)
            for parent in self.parents.get(commit, ())
        )

    def _touching(self, commit: str, names: frozenset[str], known: dict[str, str]) -> str:
        """The nearest commit at or before ``commit`` that touches one of ``names``."""
        passed = []
        while commit not in known:
            before = self.parents.get(commit)
            if before is None and commit == self.new and self.parents:
                before = (next(iter(self.parents)),)  # what is newest of those that touch a file
                same: str | None = before[0]
            else:
                same = next(
                    (p for p in before or () if self.touched[commit, p].isdisjoint(names)), None
                )
            passed.append(commit)
            if same is None:
                known[commit] = commit
                break
            commit = same
        for one in passed:
            known[one] = known[commit]
        return known[commit]


def _parents(said: bytes) -> dict[str, tuple[str, ...]]:
    rows = (line.split() for line in said.decode().splitlines())
    return {row[0]: tuple(row[1:]) for row in rows}


def _changes(said: bytes) -> Iterator[frozenset[str]]:
    """The files of each change, from what ``diff-tree --stdin --always -z --name-status`` prints: a
    commit's hash, then letter and file by turns."""
    words = iter(said.decode(errors="surrogateescape").split("\0")[:-1])
    files: set[str] | None = None
    for word in words:
        if len(word) > 1:
            if files is not None:
                yield frozenset(files)
            files = set()
        elif files is not None:
            files.add(next(words, ""))
    if files is not None:
        yield frozenset(files)
