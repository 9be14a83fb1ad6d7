"""Which lines two revisions have in common, by git's diff: renamed files are followed, and white
space is not a difference."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from profdiff.base.git import Git
from profdiff.sources.blobs import line_counts
from profdiff.sources.hunks import Hunk, between

SourceLine = tuple[str, int]
"""A file, relative to the source tree or repository, and a line from 1."""


class Fate(msgspec.Struct, frozen=True):
    """The other revision has it as ``line``, or ``commit`` added, changed or removed it.
    Neither: git cannot tell."""

    commit: str | None = None
    line: SourceLine | None = None


# What one process can be given as arguments; Linux allows 2 MiB with the environment.
_NAMES = 2**20
_PAIRS = 10**7


class _File(msgspec.Struct, frozen=True):
    """One side's file: what it is called on the other side ("": nothing), its number of lines, and
    the hunks in order."""

    other: str
    lines: int
    hunks: Sequence[Hunk] = ()


class SameLines(msgspec.Struct, frozen=True):
    """Which lines of ``new`` are which of ``base``, in the files that were asked for."""

    _base: Mapping[str, _File] = msgspec.field(default_factory=dict)
    _new: Mapping[str, _File] = msgspec.field(default_factory=dict)

    def has(self, file: str, line: int = 1) -> bool:
        """Whether the new revision has that line."""
        return file in self._new and 0 < line <= self._new[file].lines

    def base_has(self, file: str, line: int = 1) -> bool:
        """Whether the base has that line."""
        return file in self._base and 0 < line <= self._base[file].lines

    def in_base(self, file: str, line: int) -> SourceLine | None:
        """The line of the base that a line of the new revision is; None: it was added or changed,
        or there is no such line."""
        if not self.has(file, line):
            return None
        return _across(self._new[file], line, [(h.new, h.base) for h in self._new[file].hunks])

    def in_new(self, file: str, line: int) -> SourceLine | None:
        """The line of the new revision that a line of the base is; None: it was removed or
        changed, or there is no such line."""
        if not self.base_has(file, line):
            return None
        return _across(self._base[file], line, [(h.base, h.new) for h in self._base[file].hunks])

    def added(self, file: str, line: int) -> range:
        """The lines of the new revision that were added together with this one; empty where it was
        not."""
        hunks = self._new[file].hunks if file in self._new else ()
        return next((hunk.new for hunk in hunks if line in hunk.new), range(0))

    def removed(self, file: str, line: int) -> range:
        """The lines of the base that were removed together with this one; empty where it was
        not."""
        hunks = self._base[file].hunks if file in self._base else ()
        return next((hunk.base for hunk in hunks if line in hunk.base), range(0))


def _across(file: _File, line: int, hunks: Iterable[tuple[range, range]]) -> SourceLine | None:
    moved = 0
    for here, there in hunks:
        if line < here.start:
            break
        if line in here:
            return None
        moved = there.stop - here.stop
    return (file.other, line + moved) if file.other else None


def same_lines(git: Git, base: str, new: str, paths: Iterable[str]) -> SameLines:
    """Compare the files that are called one of ``paths`` in either revision (full hashes)."""
    asked = set(paths)
    pairs = _pairs(git, base, new, asked)
    names = sorted({name for pair in pairs for name in pair if name})
    old_lines, new_lines = (line_counts(git, revision, names) for revision in (base, new))
    hunks = between(git, base, new, pairs)
    first, second = {}, {}
    for old, now in pairs:
        changes = hunks.get((old, now), [])
        if old in old_lines:
            first[old] = _File(now, old_lines[old], changes)
        if now in new_lines:
            second[now] = _File(old, new_lines[now], changes)
    return SameLines(first, second)


def _pairs(git: Git, base: str, new: str, asked: set[str]) -> list[tuple[str, str]]:
    """(name in base, name in new) of each file that is asked for; "": the side has none."""
    compare = ("diff-tree", "-r", "-z", "--name-status")
    status = {
        name: kind for kind, _, name in _statuses(git.run(*compare, "--no-renames", base, new))
    }
    gone = [name for name, kind in status.items() if kind == "D"]
    came = [name for name, kind in status.items() if kind == "A"]
    renamed: dict[str, str] = {}  # by the new name
    for few, many in ((asked & set(came), gone), (asked & set(gone), came)):
        if few and many:
            names = _within(few, many)
            output = git.run(*compare, "-M", f"-l{_PAIRS}", base, new, "--", *names)
            for kind, old, now in _statuses(output):
                if kind == "R" and old not in renamed.values():
                    renamed.setdefault(now, old)
    was = {old: now for now, old in renamed.items()}
    found = set()
    for name in asked:
        change = status.get(name)
        if change == "A":
            found.add((renamed.get(name, ""), name))
        elif change == "D":
            found.add((name, was.get(name, "")))
        else:
            found.add((name, name))
    return sorted(found)


def _within(few: Iterable[str], many: Iterable[str]) -> list[str]:
    """All names, those of ``many`` that are most like ``few`` first, as long as there is room."""
    ends = {PurePosixPath(name).name for name in few}
    names = sorted(few) + sorted(many, key=lambda name: PurePosixPath(name).name not in ends)
    room = _NAMES
    for i, name in enumerate(names):
        room -= len(name.encode(errors="surrogateescape")) + 9
        if room < 0:
            return names[:i]
    return names


def _statuses(said: bytes) -> list[tuple[str, str, str]]:
    """(kind, old name, new name) from what ``--name-status -z`` prints."""
    words = iter(said.decode(errors="surrogateescape").split("\0")[:-1])
    found = []
    for word in words:
        kind = word[:1]
        old = next(words, "")
        found.append((kind, old, next(words, "") if kind in "RC" else old))
    return found
