"""Lines of source files, those of several kernels: which may be the same one, and whether sources
are those that a kernel was built from."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.profile.code.kernel_functions import FunctionCode, KernelFunctions
from profdiff.profile.comparison import Comparison
from profdiff.sources.moves import moved_lines
from profdiff.symbolization.chains import Chains


class SourceTree(Protocol):
    """What a kernel was built from."""

    def read(self, files: Iterable[str]) -> None:
        """Read files ahead."""
        ...

    def lines(self, file: str) -> Sequence[str] | None:
        """The lines of a file as the debug information names it; None where it is not there."""
        ...

    def misfit(self, file: str, last_line: int, functions: Mapping[str, int]) -> str | None:
        """Why a file is not the one that was compiled, None where nothing says so. ``last_line``:
        the largest line that the debug information names in it; ``functions``: lines that declare
        them, by name."""
        ...


class SourceLine(NamedTuple):
    """A line of one kernel: a file as the debug information names it, and a number from 1; "" and 0
    where it is unknown."""

    file: str
    line: int


def lines_of(code: FunctionCode) -> list[SourceLine]:
    """The line of each instruction."""
    pairs = zip(code.file.tolist(), code.line.tolist(), strict=True)
    return [SourceLine(code.strings[file] if line else "", line) for file, line in pairs]


class SourceLines:
    """What is known of the lines of K kernels. ``declared``: where each one declares the function,
    0 if unknown; ``sources``: by label, of those whose sources are known."""

    def __init__(
        self, labels: Sequence[str], declared: Sequence[int], sources: Mapping[str, SourceTree]
    ) -> None:
        self._trees = [sources.get(label) for label in labels]
        self._declared = declared
        self._numbers: dict[object, int] = {}
        self._matches: dict[tuple[int, int, str], list[int] | None] = {}

    def hints(self, kernel: int, lines: Sequence[SourceLine]) -> NDArray[np.int64]:
        """int64[N], a number from 1 that is the same for lines of kernels that may be one: by the
        sources, or by the distance to where the function is declared; 0 where the line is
        unknown."""
        known: dict[SourceLine, int] = {}
        for line in lines:
            if line not in known:
                key = self._key(kernel, line)
                known[line] = self._numbers.setdefault(key, len(self._numbers) + 1) if key else 0
        return np.array([known[line] for line in lines], np.int64)

    def told(self, kernel: int, other: int, file: str) -> bool:
        """Whether the sources of both kernels have a file."""
        return self._matched(kernel, other, file) is not None

    def same(self, kernel: int, line: SourceLine, other: int) -> SourceLine | None:
        """The line of another kernel, one before it, that this one is by the sources; None where
        there is no such, or they do not tell."""
        found = self._matched(kernel, other, line.file)
        if found is None or not 0 < line.line <= len(found) or found[line.line - 1] < 0:
            return None
        return SourceLine(line.file, found[line.line - 1] + 1)

    def may_be(self, kernel: int, line: SourceLine, other: int, theirs: SourceLine) -> bool:
        """Whether a line may be one of another kernel, one before it. Lines of different files are
        not; where the sources of both are known, they alone decide."""
        if line.file != theirs.file or bool(line.line) != bool(theirs.line):
            return False
        if not line.line or not self.told(kernel, other, line.file):
            return True
        return self.same(kernel, line, other) == theirs

    def text(self, kernel: int, line: SourceLine) -> str | None:
        """What stands there; None where the sources do not have it."""
        tree = self._trees[kernel]
        lines = tree.lines(line.file) if tree and line.file else None
        return lines[line.line - 1] if lines and 0 < line.line <= len(lines) else None

    def _key(self, kernel: int, line: SourceLine) -> object:
        if not line.line:
            return None
        told = [other for other in range(kernel) if self.told(kernel, other, line.file)]
        for other in told:
            theirs = self.same(kernel, line, other)
            if theirs is not None:
                return self._key(other, theirs)
        if told:
            return kernel, line
        name = line.file.rpartition("/")[2]
        return name, line.line - self._declared[kernel]

    def _matched(self, kernel: int, other: int, file: str) -> list[int] | None:
        """For each line of a kernel's file, that of the other's, from 0; -1: none."""
        key = (kernel, other, file)
        if key not in self._matches:
            trees = self._trees[kernel], self._trees[other]
            mine, theirs = (tree.lines(file) if tree and file else None for tree in trees)
            both = mine is not None and theirs is not None
            self._matches[key] = moved_lines(mine or (), theirs or ()).tolist() if both else None
        return self._matches[key]


def check_sources(
    comparison: Comparison,
    kernel: int,
    functions: KernelFunctions,
    tree: SourceTree,
    files: Collection[str],
) -> None:
    """Raises InputError where one of some files is of another version than what kernel number
    ``kernel`` was built from."""
    tree.read(files)
    last = dict.fromkeys(files, 0)
    for chains in _chains(functions):
        for number, name in enumerate(chains.strings):
            if name in last:
                lines = chains.frame_line[chains.frame_file == number]
                last[name] = max(last[name], int(lines.max(initial=0)))
    declared: dict[str, dict[str, int]] = {file: {} for file in files}
    for function, row in comparison.numbers[kernel].items():
        if function.file in declared and row < len(comparison.lines):
            declared[function.file][function.name] = int(comparison.lines[row, kernel])
    for file in sorted(files):
        why = tree.misfit(file, last[file], declared[file])
        if why is not None:
            raise InputError(f"{why}: name the sources that it was built from")


def _chains(functions: KernelFunctions) -> Iterator[Chains]:
    """All that is known of where a kernel's code is from."""
    for part in functions.parts:
        yield part.addresses.chains
    if functions.known.part is not None:
        yield functions.known.part.chains
