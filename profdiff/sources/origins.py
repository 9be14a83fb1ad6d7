"""Where lines come from: ``git blame`` of the lines of each file, on a history that is small."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from profdiff.base.git import Git
from profdiff.base.temporary import temporary_folder
from profdiff.sources.history import History
from profdiff.sources.hunks import unquoted
from profdiff.sources.same_lines import Fate, SourceLine

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+) (\d+)")
# No argument list grows beyond what a process can have.
_RANGES = 4000


class Origin(NamedTuple):
    """Where a line comes from: a commit, and its file and line there."""

    commit: str
    file: str
    line: int


def ranges(lines: Iterable[int]) -> list[str]:
    """Options that select ``lines``."""
    known = sorted(set(lines))
    found: list[list[int]] = []
    for line in known:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    while len(found) > _RANGES:  # more lines than asked for do no harm
        found = [[a[0], b[1]] for a, b in zip(found[::2], found[1::2] or found[:1], strict=False)]
    return [f"-L{first},{last}" for first, last in found]


def origins(said: bytes) -> Iterator[tuple[int, Origin]]:
    """Each line with its origin, from what ``--incremental`` prints."""
    header: Sequence[bytes] | None = None
    for line in said.split(b"\n"):
        if match := _HEADER.fullmatch(line):
            header = match.groups()
        elif header and line.startswith(b"filename "):
            file = unquoted(line.removeprefix(b"filename "))
            first, result, count = (int(one) for one in header[1:])
            for i in range(count):
                yield result + i, Origin(header[0].decode(), file, first + i)
            header = None


# How often the history is walked again because lines came from a file that nobody asked for.
_ROUNDS = 3
# If a commit changes more files than this, the texts tell what it moved.
_MAX_FILES = 200


class Origins(msgspec.Struct, frozen=True):
    """``options``: of git blame."""

    git: Git
    history: History
    options: Sequence[str] = ()

    def of(self, wanted: Iterable[SourceLine]) -> dict[SourceLine, Fate]:
        """For lines of the new revision the commit that added or changed each since the base, or
        the line of the base that it is: lines that a commit moved in files that it changed, or
        copied from there, are what they were before it."""
        found = self.unmoved(wanted)
        # git compares what a commit adds with all that it changes: too much for a treewide one.
        few = self._small({fate.commit for fate in found.values() if fate.commit})
        return found | self._traced(
            [line for line, fate in found.items() if fate.commit in few], copies=True
        )

    def unmoved(self, wanted: Iterable[SourceLine]) -> dict[SourceLine, Fate]:
        """The same, but who moved or copied a line added it."""
        return self._traced(wanted, copies=False)

    def _small(self, commits: set[str]) -> set[str]:
        """Those that change few files; merges are left out."""
        if not commits:
            return set()
        question = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
        command = ("diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames")
        sizes: dict[str, int] = {}
        last = ""
        for word in self.git.run(*command, stdin=question).decode(errors="replace").split("\0"):
            if word in commits:
                last = word
            sizes[last] = sizes.get(last, -1) + 1
        return {commit for commit in commits if 0 < sizes.get(commit, 0) <= _MAX_FILES}

    def _traced(self, wanted: Iterable[SourceLine], *, copies: bool) -> dict[SourceLine, Fate]:
        asked: defaultdict[str, set[int]] = defaultdict(set)
        for file, line in wanted:
            asked[file].add(line)
        names = {file: {file} for file in asked}
        waiting, history = sorted(asked), self.history
        found: dict[SourceLine, Fate] = {}
        for _ in range(_ROUNDS):
            wider = set()
            for file, lines in self._blamed(history, waiting, names, asked, copies).items():
                for line, origin in lines.items():
                    fate, known = _fate(history, origin, names[file])
                    found[file, line] = fate
                    if not known and origin.file not in names[file]:
                        names[file].add(origin.file)
                        wider.add(file)
            if not wider:
                break
            waiting = sorted(wider)
            files = {name for file in waiting for name in names[file]}
            history = History.read(self.git, self.history.base, self.history.new, files)
        return found

    def _blamed(
        self,
        history: History,
        files: Iterable[str],
        names: Mapping[str, set[str]],
        asked: Mapping[str, set[int]],
        copies: bool,
    ) -> dict[str, dict[int, Origin]]:
        options = ["--root", "--incremental", "-w", *(["-C"] if copies else []), *self.options]
        with temporary_folder() as folder:
            commands = []
            for i, file in enumerate(files):
                graph = _written(folder / str(i), history.graph(names[file]))
                lines = ranges(asked[file])
                commands.append(["blame", f"-S{graph}", *options, *lines, history.new, "--", file])
            said = self.git.run_all(commands)
            return {
                file: {line: origin for line, origin in origins(text) if line in asked[file]}
                for file, text in zip(files, said, strict=True)
            }


def _fate(history: History, origin: Origin, names: set[str]) -> tuple[Fate, bool]:
    """What an origin says, and whether it is one: a commit that only leads to others changed this
    file unseen, at a time when the line was in another file."""
    if origin.commit == history.base:
        return Fate(line=(origin.file, origin.line)), True
    if history.touches(origin.commit, names):
        return Fate(commit=origin.commit), True
    return Fate(), False


def _written(path: Path, graph: Mapping[str, tuple[str, ...]]) -> Path:
    path.write_text("".join(" ".join((commit, *ps)) + "\n" for commit, ps in graph.items()))
    return path
