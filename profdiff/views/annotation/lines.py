"""Source lines of a listing, what is said below it, and the columns of its data."""

from bisect import bisect
from collections import Counter
from collections.abc import Container, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.alignment import AlignedPlace, KernelSide
from profdiff.profile.kept_code import Known
from profdiff.symbolization.kernel_code import KernelCode
from profdiff.views.annotation.records import Access
from profdiff.views.annotation.source_lines import SourceLine, SourceLines


class Columns:
    """N instructions. ``accesses``: by row, what each accesses. ``taken``: None for what is no
    conditional branch, and where it is not known of all executions."""

    def __init__(self, side: KernelSide, accesses: Sequence[list[Access]]) -> None:
        code, dis = side.code, side.decoded
        self.accesses = accesses
        self.address: list[int] = code.address.tolist()
        self.count: list[int] = code.count.tolist()
        self.samples = _list(code.samples)
        self.text, self.key, self.classes = dis.text, dis.key, dis.classes
        self.target: list[int] = dis.target.tolist()
        self.taken: list[int | None] = [None] * len(code)
        if code.taken is not None:
            known = dis.conditional if code.untold is None else dis.conditional & (code.untold == 0)
            for row in np.flatnonzero(known).tolist():
                self.taken[row] = int(code.taken[row])


def _list(column: NDArray[np.int64] | None) -> list[int] | None:
    return None if column is None else column.tolist()


def notes_of(
    in_kernel: bool,
    labels: Sequence[str],
    known: Sequence[Known[KernelCode]],
    sources: Container[str],
    sides: Sequence[KernelSide],
    places: Sequence[AlignedPlace],
    renamed: Sequence[str],
    left: int,
) -> list[str]:
    """The notes of a function on K kernels. ``sources``: the labels of those whose sources are
    known; ``renamed``: other functions whose code is like it; ``left``: how many places are left
    out."""
    notes = []
    for label, code, one in zip(labels, known, sides, strict=True):
        if not one.code.count.any():
            notes.append(f"not executed on {label}")
        if code.part is None and in_kernel:
            notes.append(f"{label}: only code that executed is shown ({code.missing})")
    notes += [f"perhaps renamed: the code of {title} is like it" for title in renamed]
    if any(label in sources for label in labels):
        notes += [
            f"{label}: its sources are not known; its lines are matched by their code"
            for label in labels
            if label not in sources
        ]
    if not in_kernel:
        notes.append("of user space, only code that executed is shown")
    if untold := _untold_branches(sides, places):
        which = "1 branch" if untold == 1 else f"{untold:,} branches"
        who = "it" if untold == 1 else "they"
        notes.append(f"of {which} it is not known whether {who} jumped")
    if left:
        copies = "1 more copy of it is" if left == 1 else f"{left} more copies of it are"
        notes.append(f"{copies} left out")
    return notes


def _untold_branches(sides: Sequence[KernelSide], places: Sequence[AlignedPlace]) -> int:
    """How many rows have a conditional branch that some kernel executed without telling where
    it then went."""
    unknown = []
    for side in sides:
        code = side.code
        untold = np.zeros(len(code), np.int64) if code.untold is None else code.untold
        unknown.append((untold != 0) & (code.count != 0) & side.decoded.conditional)
    number = 0
    for place in places:
        rows = [
            (members >= 0) & known[np.maximum(members, 0)]
            for members, known in zip(place.rows.T, unknown, strict=True)
            if len(known)
        ]
        number += int(np.any(rows, axis=0).sum())
    return number


# As many instructions that two lines have in common are not a coincidence.
_SURE = 3


def paired_lines(
    rows: Sequence[NDArray[np.int64]],
    lines: Sequence[Sequence[SourceLine]],
    known: SourceLines,
) -> list[dict[int, SourceLine]]:
    """The lines of K kernels, those that are one together: by kernel, each line once.

    By the sources alone where those of both kernels are known; else the lines of instructions that
    belong together, those with most of them first; then those at one distance from the declaration.
    Lines that are one are of one file.
    ``rows``: int64[R, K] of each place, of instructions that do the same. The lines of the base are
    in their order; those that it has not stand behind the one before them.
    """
    records: list[dict[int, SourceLine]] = []
    for kernel, mine in enumerate(lines):
        where = {(k, line): n for n, record in enumerate(records) for k, line in record.items()}
        free = set(range(len(records)))
        left: list[SourceLine] = []
        for line in dict.fromkeys(mine):
            theirs = ((other, known.same(kernel, line, other)) for other in range(kernel))
            found = (where.get((other, one)) for other, one in theirs if one)
            fits = (at for at in found if at in free and _fit(records[at], kernel, line, known))
            at = next(fits, None)
            if at is None:
                left.append(line)
            else:
                records[at][kernel] = line
                free.discard(at)
        if kernel:
            left = _voted(records, kernel, left, free, rows, lines, where, known)
            left = _near(records, kernel, left, free, known)
        records = _ordered(records, kernel, left)
    return records


def _fit(
    record: Mapping[int, SourceLine], kernel: int, line: SourceLine, known: SourceLines
) -> bool:
    """Whether a line may be the one that a record is of."""
    return all(known.may_be(kernel, line, other, theirs) for other, theirs in record.items())


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
    known: SourceLines,
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
        if record in free and line in wanted and _fit(records[record], kernel, line, known):
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
    known: SourceLines,
) -> list[SourceLine]:
    """Pair by number, relative to the declaration. Returns what is left."""
    numbers: dict[int, int] = {}
    for record in sorted(free):
        first = min(records[record])
        numbers.setdefault(int(known.hints(first, [records[record][first]])[0]), record)
    rest: list[SourceLine] = []
    for line in left:
        number = int(known.hints(kernel, [line])[0])
        if number in numbers and _fit(records[numbers[number]], kernel, line, known):
            record = numbers.pop(number)
            records[record][kernel] = line
            free.discard(record)
        else:
            rest.append(line)
    return rest
