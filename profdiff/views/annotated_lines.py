"""The source lines of a function's instructions, those of several kernels together."""

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.function_code import FunctionCode
from profdiff.sources.matched_lines import matched_lines

# As many instructions that two lines have in common are no chance.
_SURE = 3


class SourceTree(Protocol):
    """What a kernel was built from."""

    def lines(self, file: str) -> Sequence[str] | None:
        """The lines of a file as the debug information names it; None where it is not there."""
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


class Hints:
    """Numbers that are the same for lines of kernels that may be one: by the sources, or by the
    distance to where the function is declared. ``declared``: that line by kernel, 0 if unknown."""

    def __init__(
        self, labels: Sequence[str], declared: Sequence[int], sources: Mapping[str, SourceTree]
    ) -> None:
        self._labels = labels
        self._declared = declared
        self._sources = sources
        self._numbers: dict[object, int] = {}
        self._in_base: dict[tuple[int, str], list[int] | None] = {}

    def of(self, kernel: int, lines: Sequence[SourceLine]) -> NDArray[np.int64]:
        """int64[N], from 1; 0 where the line is unknown."""
        known: dict[SourceLine, int] = {}
        for line in lines:
            if line not in known:
                key = self._key(kernel, line)
                known[line] = self._numbers.setdefault(key, len(self._numbers) + 1) if key else 0
        return np.array([known[line] for line in lines], np.int64)

    def same(self, kernel: int, line: SourceLine) -> SourceLine | None:
        """The line of the base that this one is by the sources; None where they do not tell."""
        if kernel == 0:
            return line
        found = self._matched(kernel, line.file)
        if found is None or not 0 < line.line <= len(found) or found[line.line - 1] < 0:
            return None
        return SourceLine(line.file, found[line.line - 1] + 1)

    def told(self, kernel: int, file: str) -> bool:
        """Whether the sources of the base and of a kernel both have a file."""
        return kernel == 0 or self._matched(kernel, file) is not None

    def text(self, kernel: int, line: SourceLine) -> str | None:
        """What stands there; None without sources."""
        tree = self._sources.get(self._labels[kernel])
        lines = tree.lines(line.file) if tree and line.file else None
        return lines[line.line - 1] if lines and 0 < line.line <= len(lines) else None

    def _key(self, kernel: int, line: SourceLine) -> object:
        if not line.line:
            return None
        if self.told(kernel, line.file) and self._labels[0] in self._sources:
            base = self.same(kernel, line)
            return base or (kernel, line)
        name = line.file.rpartition("/")[2]
        return name, line.line - self._declared[kernel]

    def _matched(self, kernel: int, file: str) -> list[int] | None:
        """For each line of a kernel's file, that of the base, from 0; -1: none."""
        if (kernel, file) not in self._in_base:
            trees = [self._sources.get(self._labels[at]) for at in (kernel, 0)]
            mine, base = (tree.lines(file) if tree else None for tree in trees)
            both = mine is not None and base is not None
            found = matched_lines(mine or (), base or ()).tolist() if both else None
            self._in_base[kernel, file] = found
        return self._in_base[kernel, file]


def paired_lines(
    rows: Sequence[NDArray[np.int64]],
    lines: Sequence[Sequence[SourceLine]],
    hints: Hints,
) -> list[dict[int, SourceLine]]:
    """The lines of K kernels, those that are one together: by kernel, each line once.

    By the sources where both kernels have them; else the lines of instructions that belong
    together, those with most of them first; then those at one distance from the declaration.
    ``rows``: int64[R, K] of each place, of instructions that do the same. The lines of the base are
    in their order; those that it has not stand behind the one before them.
    """
    records: list[dict[int, SourceLine]] = []
    for kernel, mine in enumerate(lines):
        where = {(k, line): n for n, record in enumerate(records) for k, line in record.items()}
        free = set(range(len(records)))
        left: list[SourceLine] = []
        for line in dict.fromkeys(mine):
            at = None
            base = hints.same(kernel, line) if kernel and hints.told(kernel, line.file) else None
            if base is not None:
                at = where.get((0, base))
            if at in free:
                records[at][kernel] = line
                free.discard(at)
            else:
                left.append(line)
        if kernel:
            left = _voted(records, kernel, left, free, rows, lines, where, hints)
            left = _near(records, kernel, left, free, hints)
        records = _ordered(records, kernel, left)
    return records


def _ordered(
    records: list[dict[int, SourceLine]], kernel: int, left: Sequence[SourceLine]
) -> list[dict[int, SourceLine]]:
    """Records with the lines that only this kernel has, each behind the nearest line before it."""
    known = sorted((record[kernel], at) for at, record in enumerate(records) if kernel in record)
    # A file that no other kernel has comes last.
    last = {record[min(record)].file: at for at, record in enumerate(records)}
    placed: list[tuple[float, SourceLine, dict[int, SourceLine]]] = []
    for line in sorted(left):
        before = bisect(known, (line, len(records))) - 1
        if before >= 0 and known[before][0].file == line.file:
            at: float = known[before][1]
        else:
            after = [at for one, at in known if one.file == line.file and one > line]
            at = after[0] - 1 if after else last.get(line.file, len(records))
        placed.append((at + 0.5, line, {kernel: line}))
    old = [(float(at), SourceLine("", 0), record) for at, record in enumerate(records)]
    return [record for *_, record in sorted(old + placed, key=lambda one: one[:2])]


def _voted(
    records: list[dict[int, SourceLine]],
    kernel: int,
    left: list[SourceLine],
    free: set[int],
    rows: Sequence[NDArray[np.int64]],
    lines: Sequence[Sequence[SourceLine]],
    where: Mapping[tuple[int, SourceLine], int],
    hints: Hints,
) -> list[SourceLine]:
    """Pair by instructions that belong together. Returns what is left."""
    votes: Counter[tuple[int, SourceLine]] = Counter()
    for place in rows:
        for row in place.tolist():
            if row[kernel] < 0:
                continue
            line = lines[kernel][row[kernel]]
            for other in range(kernel):
                if row[other] >= 0:
                    votes[where[other, lines[other][row[other]]], line] += 1
    wanted = set(left)
    size = [Counter(own) for own in lines[: kernel + 1]]
    for (record, line), number in sorted(votes.items(), key=lambda one: (-one[1], one[0])):
        # Few of many are chance: a compare and a jump; so are few that cross others.
        sizes = [size[kernel][line], *(size[k][one] for k, one in records[record].items())]
        few = number < _SURE and any(
            _cross(records[record], other, kernel, line) for other in records if kernel in other
        )
        if 3 * number < min(sizes) or few:
            continue
        # What the sources tell apart stays apart.
        told = hints.told(kernel, line.file) and line.line > 0
        if record in free and line in wanted and not (told and hints.same(kernel, line)):
            both = [bool(one.line) for one in (*records[record].values(), line)]
            if all(both) or not any(both):
                records[record][kernel] = line
                free.discard(record)
                wanted.discard(line)
    return [line for line in left if line in wanted]


def _cross(
    record: Mapping[int, SourceLine], other: Mapping[int, SourceLine], kernel: int, line: SourceLine
) -> bool:
    """Whether lines stand in another order on this kernel than another pair of one file says."""
    mine = other[kernel]
    return mine.file == line.file and any(
        record[k].file == one.file and (one < record[k]) != (mine < line)
        for k, one in other.items()
        if k in record
    )


def _near(
    records: list[dict[int, SourceLine]],
    kernel: int,
    left: list[SourceLine],
    free: set[int],
    hints: Hints,
) -> list[SourceLine]:
    """Pair by number, relative to the declaration. Returns what is left."""
    numbers: dict[int, int] = {}
    for record in sorted(free):
        first = min(records[record])
        numbers.setdefault(int(hints.of(first, [records[record][first]])[0]), record)
    rest: list[SourceLine] = []
    for line in left:
        number = int(hints.of(kernel, [line])[0])
        if number in numbers:
            record = numbers.pop(number)
            records[record][kernel] = line
            free.discard(record)
        else:
            rest.append(line)
    return rest
