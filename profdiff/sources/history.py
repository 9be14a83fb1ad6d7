"""The commits between two revisions that touch some files.

Blame walks every commit between its ends, once for each file: between two releases of Linux, a
hundred thousand commits. So the history is walked once for all files, and what asks for one file is
given the few commits that touch it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import msgspec

from profdiff.base.git import Git

# How often the history is walked again because a file was renamed.
_ROUNDS = 4


class Edge(msgspec.Struct, frozen=True):
    """``before``: the nearest earlier commit that touches a file. ``parent``: the nearest that
    touches any file of the history; both have the same content of that file."""

    before: str
    parent: str


class History(msgspec.Struct, frozen=True, dict=True):
    """Commits after ``base`` that ``new`` has; ``base`` is an ancestor of it.

    ``parents``: of each commit that touches a file, the nearest ones before it that do, or where
    the history leaves the range; newest first. ``real``: all of its parents. ``touched``: files in
    which it differs from each of ``parents``. ``renamed``: later names of a file."""

    base: str
    new: str
    parents: Mapping[str, tuple[str, ...]]
    real: Mapping[str, tuple[str, ...]]
    touched: Mapping[tuple[str, str], frozenset[str]]
    renamed: Mapping[str, frozenset[str]]

    @staticmethod
    def read(git: Git, base: str, new: str, files: Collection[str]) -> "History":
        """Walk from ``new`` to ``base`` (full hashes)."""
        names = set(files)
        renamed: defaultdict[str, set[str]] = defaultdict(set)
        for _ in range(_ROUNDS):
            walk = ("rev-list", "--topo-order", "--parents", f"^{base}", new, "--", *sorted(names))
            parents = _parents(git.run(*walk))
            pairs = [(commit, parent) for commit in parents for parent in parents[commit]]
            touched, gone = _changed(git, pairs, names)
            for old, now in _renames(git, gone, names):
                renamed[old].add(now)
            later = {now for ways in renamed.values() for now in ways} - names
            if not later:
                break
            names |= later
        real = {}
        if parents:
            question = "".join(f"{commit}\n" for commit in parents).encode()
            alone = ("rev-list", "--no-walk=unsorted", "--parents", "--stdin")
            real = _parents(git.run(*alone, stdin=question))
        ways = {old: frozenset(nows) for old, nows in renamed.items()}
        return History(base, new, parents, real, touched, ways)

    @cached_property
    def order(self) -> dict[str, int]:
        """The number of each commit, newest first."""
        return {commit: i for i, commit in enumerate(self.parents)}

    @cached_property
    def edges(self) -> list[tuple[str, str]]:
        """All (commit, parent), and (commit, base) of those where the history leaves the range."""
        pairs = [(commit, parent) for commit in self.parents for parent in self.parents[commit]]
        left = {parent for _, parent in pairs} - self.parents.keys() - {self.base}
        return pairs + [(commit, self.base) for commit in sorted(left)]

    def names(self, file: str) -> frozenset[str]:
        """A file's name and its later ones."""
        found, waiting = set(), [file]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.renamed.get(name, ())
        return frozenset(found)

    def touching(self, names: Collection[str]) -> dict[str, tuple[Edge, ...]]:
        """The commits that touch a file called one of ``names``, each with those before it, from
        ``new`` on; the first is the newest. A commit where the history leaves the range has
        ``base`` before it, and ``base`` has none."""
        known: dict[str, str] = {}
        wanted = frozenset(names)
        top = self._nearest(next(iter(self.parents), self.base), wanted, known)
        found: dict[str, tuple[Edge, ...]] = {}
        waiting = [top]
        while waiting:
            commit = waiting.pop()
            if commit in found:
                continue
            if commit == self.base:
                found[commit] = ()
            elif commit not in self.parents:
                found[commit] = (Edge(self.base, self.base),)
            else:
                found[commit] = tuple(
                    Edge(self._nearest(parent, wanted, known), parent)
                    for parent in self.parents[commit]
                )
            waiting += [edge.before for edge in found[commit]]
        return found

    def graph(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Parents of these commits, for ``git blame -S``. Each keeps its real parents, between it
        and the commit before it: what it moved from other files, blame finds in its own change."""
        touching = self.touching(names)
        found: dict[str, tuple[str, ...]] = {self.base: ()}
        for commit, edges in touching.items():
            steps = self.real.get(commit, ())
            if len(steps) != len(edges):
                steps = tuple(edge.before for edge in edges)
            for step, edge in zip(steps, edges, strict=True):
                if step != edge.before and step not in touching and step != self.base:
                    found[step] = (edge.before,)
            found[commit] = tuple(dict.fromkeys(steps))
        top = next(iter(touching))
        if self.new not in found:
            found[self.new] = (top,)
        return found

    def touches(self, commit: str, names: Collection[str]) -> bool:
        """Whether a commit touches a file called one of ``names``."""
        return any(
            not self.touched[commit, parent].isdisjoint(names)
            for parent in self.parents.get(commit, ())
        )

    def _nearest(self, commit: str, names: frozenset[str], known: dict[str, str]) -> str:
        """The nearest commit at or before ``commit`` that touches one of ``names``."""
        passed = []
        while commit not in known:
            passed.append(commit)
            same = next(
                (
                    parent
                    for parent in self.parents.get(commit, ())
                    if self.touched[commit, parent].isdisjoint(names)
                ),
                None,
            )
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


def _changed(
    git: Git, pairs: list[tuple[str, str]], names: Collection[str]
) -> tuple[dict[tuple[str, str], frozenset[str]], list[tuple[str, str]]]:
    """Which of ``names`` each (commit, parent) touches, and those that remove one of them."""
    if not pairs:
        return {}, []
    question = "".join(f"{commit} {parent}\n" for commit, parent in pairs).encode()
    compare = ("diff-tree", "--stdin", "--always", "-r", "-z", "--name-status", "--no-renames")
    output = git.run(*compare, "--", *sorted(names), stdin=question)
    changes = list(_changes(output))
    gone = [
        pair
        for pair, files in zip(pairs, changes, strict=True)
        if any(kind == "D" for kind, *_ in files)
    ]
    touched = {
        pair: frozenset(name for _, name, _ in files)
        for pair, files in zip(pairs, changes, strict=True)
    }
    return touched, gone


def _renames(
    git: Git, pairs: list[tuple[str, str]], names: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Old and new names of those of ``names`` that one of the commits renamed."""
    commits = sorted({commit for commit, _ in pairs})
    if not commits:
        return
    # Merges are left out: what they rename, one of their branches did.
    compare = ("diff-tree", "--stdin", "--always", "-r", "-z", "--name-status", "-M")
    output = git.run(*compare, stdin="".join(f"{commit}\n" for commit in commits).encode())
    for files in _changes(output):
        for kind, old, now in files:
            if kind == "R" and old in names:
                yield old, now


def _changes(said: bytes) -> Iterator[list[tuple[str, str, str]]]:
    """For each change (kind, old name, new name), from what ``diff-tree --stdin --always -z
    --name-status`` prints: a commit's hash, then a kind and its files by turns."""
    words = iter(said.decode(errors="surrogateescape").split("\0")[:-1])
    files: list[tuple[str, str, str]] | None = None
    for word in words:
        if len(word) >= 40:
            if files is not None:
                yield files
            files = []
        elif files is not None:
            old = next(words, "")
            files.append((word[:1], old, next(words, "") if word[:1] in "RC" else old))
    if files is not None:
        yield files
