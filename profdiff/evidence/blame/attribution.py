"""Which instructions of a delta go to which commit, and what the others are: every instruction that
either kernel executed is in exactly one part."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts, picked_counts

INEXACT = (
    "blame needs exact counts, which add up to the last instruction: record with --collector exact"
)
# Every copy of a line (the line in its function, and in each function that this is inlined into)
# by the shapes of its instructions, sorted.
Code = frozenset[tuple[str, ...]]


class Line(NamedTuple):
    """A source line as one kernel executed it in one function. ``function``: its number among
    `Functions`. ``file`` and ``line``: "" and 0 if the debug information has none.
    ``instructions``: below zero where two lengths are subtracted and the longer one had less."""

    function: int
    file: str
    line: int
    instructions: int
    code: Code


class Functions:
    """The functions of a comparison by number: those with a name, then those that stand for what is
    unresolved, then those that a comparison of two lengths leaves out, since they cancel."""

    def __init__(self, comparison: Comparison) -> None:
        self.every: list[Function] = [*comparison.functions, *comparison.unnamed]
        self._numbers = comparison.numbers
        self._more: dict[Function, int] = {}

    def number(self, kernel: int, function: Function) -> int:
        """The number of a function as one kernel has it."""
        known = self._numbers[kernel].get(function, self._more.get(function))
        if known is None:
            known = self._more[function] = len(self.every)
            self.every.append(function)
        return known

    @property
    def unresolved(self) -> frozenset[int]:
        """Those that stand for what has no function."""
        return frozenset(number for number, one in enumerate(self.every) if one.reason)


def counted(comparison: Comparison, kernel: int) -> PickedCounts:
    """The exact counts of a kernel's places. Raises InputError where there are none."""
    found = picked_counts(comparison, kernel)
    if not comparison.metric.exact or len(found) != 1:
        raise InputError(INEXACT)
    return found[0]


def executed(
    counts: PickedCounts,
    kernel: int,
    functions: Functions,
    shapes: Sequence[str],
    rows: NDArray[np.int64] | slice = slice(None),
) -> list[Line]:
    """What ``kernel`` executed: the counts of all lines sum to its total. ``rows``: only at these
    places, by number; ``shapes``: of the instruction at each of them."""
    chains, found = counts.addresses.chains, counts.functions
    numbers = [functions.number(kernel, one) for one in found.functions]
    innermost = found.frames[found.offsets[1:].astype(np.int64) - 1]
    frames, files, lines = (
        column.tolist() for column in (chains.frames, chains.frame_file, chains.frame_line)
    )
    places = (
        column[rows].tolist()
        for column in (innermost, chains.offsets[:-1], chains.offsets[1:], chains.symbol)
    )
    copies: dict[tuple[int, str, int], dict[object, list[str]]] = defaultdict(dict)
    sums: dict[tuple[int, str, int], int] = defaultdict(int)
    counted = counts.count[rows].tolist()
    for function, start, end, symbol, count, shape in zip(*places, counted, shapes, strict=True):
        file, line = "", 0
        if end > start:
            leaf = frames[end - 1]
            file, line = chains.strings[files[leaf]], lines[leaf]
        key = (numbers[function], file, line) if file and line else (numbers[function], "", 0)
        sums[key] += count
        # In one physical function a line may have several copies, one for each call site.
        place = (symbol, *frames[start : end - 1])
        copies[key].setdefault(place, []).append(shape)
    return [
        Line(*key, total, frozenset(tuple(sorted(one)) for one in copies[key].values()))
        for key, total in sums.items()
    ]


# A file and a line, from 1.
Place = tuple[str, int]
# commit: instructions of lines that a commit added, changed or removed. more-often, other-code:
# of lines that both kernels have, executed more or less often, or compiled to other code. config:
# of lines that an option of the config leaves out of one kernel. unmatched: lines that no commit
# between the revisions explains (the sources are not those that the kernel was built from).
# no-line: the debug information has none. generated: not in the repository. unresolved: no function
# was found.
Kind = Literal[
    "commit",
    "more-often",
    "other-code",
    "config",
    "unmatched",
    "no-line",
    "generated",
    "unresolved",
]


class LineOrigins(msgspec.Struct, frozen=True):
    """What the repository says of one kernel's lines. ``lengths``: how many lines each of its files
    has; others are not in the repository. ``commits``: who added these lines (of the new kernel) or
    removed them (of the base)."""

    lengths: Mapping[str, int]
    commits: Mapping[Place, str]


class BlamedPart(NamedTuple):
    """Instructions of a function. ``reason``: a commit's hash, or an option of the config; "" of
    other kinds. ``added``: executed by the new kernel; ``removed``: by the base, negative."""

    kind: Kind
    reason: str
    function: int
    added: int
    removed: int

    @property
    def delta(self) -> int:
        """What it adds to the delta."""
        return self.added + self.removed


# For a line (as the new kernel has it) that only one executes, the new one if true: the option of
# the config that is why, or "".
Option = Callable[[Place, bool], str]


def attribute(
    base: Sequence[Line],
    new: Sequence[Line],
    same: Mapping[Place, Place],
    before: LineOrigins,
    after: LineOrigins,
    unresolved: frozenset[int],
    option: Option = lambda _new, _by_new: "",
) -> list[BlamedPart]:
    """The parts of new minus base, one for each kind, reason and function; their deltas sum to the
    delta. ``same``: lines of the base with the line of the new kernel that is the same one, each
    at most once. ``unresolved``: the functions that stand for what has none."""
    sums = _Sums()
    pairs: dict[Place, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    nets: dict[tuple[Kind, int, str, int], int] = defaultdict(int)
    both = set(same.values())
    for lines, side, known, sign in ((base, 0, before, -1), (new, 1, after, 1)):
        for line in lines:
            place = (line.file, line.line)
            kind = _without_commit(line, known, unresolved)
            common = (place if place in both else None) if side else same.get(place)
            if kind is None and common is not None:
                pairs[common][side].append(line)
            elif kind is None and (commit := known.commits.get(place)):
                sums.add("commit", commit, line.function, sign * line.instructions, side)
            else:
                nets[kind or "unmatched", line.function, *place] += sign * line.instructions
    for (kind, function, *_), net in nets.items():
        sums.add(kind, "", function, net)
    for place, (old, now) in pairs.items():
        _compare(sums, old, now, partial(option, place))
    return sums.parts()


def merged(parts: Iterable[BlamedPart]) -> list[BlamedPart]:
    """Parts of the same kind, reason and function as one."""
    sums = _Sums()
    for kind, reason, function, added, removed in parts:
        sums.add(kind, reason, function, added, 1)
        sums.add(kind, reason, function, removed, 0)
    return sums.parts()


def _without_commit(line: Line, known: LineOrigins, unresolved: frozenset[int]) -> Kind | None:
    if line.function in unresolved:
        return "unresolved"
    if not line.line:
        return "no-line"
    length = known.lengths.get(line.file)
    if length is None:
        return "generated"
    return "unmatched" if line.line > length else None


class _Sums:
    def __init__(self) -> None:
        self._sums: dict[tuple[Kind, str, int], list[int]] = defaultdict(lambda: [0, 0])

    def add(
        self, kind: Kind, reason: str, function: int, count: int, side: int | None = None
    ) -> None:
        """``side``: 0 removed, 1 added; None: by the sign."""
        column = (count < 0) if side is None else (side == 0)
        self._sums[kind, reason, function][column] += count

    def parts(self) -> list[BlamedPart]:
        return [
            BlamedPart(*key, added, removed)
            for key, (added, removed) in self._sums.items()
            if added or removed
        ]


def _compare(
    sums: _Sums, old: Sequence[Line], new: Sequence[Line], option: Callable[[bool], str]
) -> None:
    """A line that both kernels have: only what they differ by."""
    before, after = _by_function(old), _by_function(new)
    net = sum(after.values()) - sum(before.values())
    kind: Kind = "more-often" if _alike(old, new) else "other-code"
    reason, ran = "", any(after.values())
    if net and ran != any(before.values()) and (reason := option(ran)):
        kind = "config"
    if before.keys() == after.keys():
        for function, count in after.items():
            sums.add(kind, reason, function, count - before[function])
    elif net:
        # The function has another name, or the line runs in a macro's other user.
        one = after or before
        sums.add(kind, reason, max(one, key=lambda function: abs(one[function])), net)


def _by_function(lines: Iterable[Line]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for line in lines:
        found[line.function] += line.instructions
    return dict(found)


def _alike(old: Sequence[Line], new: Sequence[Line]) -> bool:
    """Whether every copy of one of both sides is one of the other's too: the line may have been
    inlined in more places, or in fewer."""
    before = frozenset().union(*(line.code for line in old))
    after = frozenset().union(*(line.code for line in new))
    return before <= after or after <= before
