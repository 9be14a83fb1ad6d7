"""Functions that vanished and new ones that may be the same, renamed or moved: a suggestion, by
their code without what differs from build to build."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import X86_64
from profdiff.evidence.blame.attribution import Functions, Line, Place, executed
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts
from profdiff.symbolization._native import disassemble

# The offset in 0x2e(r64); an array's scale stays.
_OFFSET = re.compile(r"-?0x[0-9a-f]+(?=\()")


def shapes(
    comparison: Comparison,
    kernel: int,
    addresses: Addresses,
    rows: NDArray[np.int64] | slice = slice(None),
) -> list[str]:
    """The shape of the instruction that ran at each address of a kernel, "" where its bytes were
    not seen. ``rows``: only at these."""
    label = comparison.labels[kernel]
    emulators = (run.qemu for run in comparison.runs if run.kernel == label and run.qemu)
    # Recordings of before 0.3 do not say it: they are all of this one.
    names = [emulator.architecture for emulator in emulators if emulator.architecture] or [
        X86_64.name
    ]
    where, code = addresses.places.address[rows], addresses.executed[rows]
    seen = np.flatnonzero(code[:, 0])
    decoded = disassemble(names[0], where[seen], np.ascontiguousarray(code[seen]))
    texts = [_OFFSET.sub("", text) for text in decoded.strings]
    found = [""] * len(where)
    for row, shape in zip(seen.tolist(), decoded.shape.tolist(), strict=True):
        found[row] = texts[shape]
    return found


# How much of two functions must be alike.
_LEAST = 0.6
# What so few different lines or instructions say, unlike functions have in common too: only for
# names that are near is it enough. Where names are unlike, so much of the code must be the same.
_FEW = 8
_UNLIKE, _MUCH = 0.4, 0.85
# Names are near that have so much in common of their words (two at least), or of their letters.
_WORDS, _LETTERS = 0.6, 0.8
_MAX_PAIRS = 400
# The fewest letters of a line that tell something: a brace or a return does not.
_SAYING = 8

Texts = Mapping[str, Sequence[bytes]]
_What = TypeVar("_What")


class Names(NamedTuple):
    """How much two functions' names are alike: from 0 to 1, and whether that says something."""

    ratio: float
    near: bool

    @staticmethod
    def of(one: str, other: str) -> "Names":
        ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
        words = [Counter(filter(None, name.split("_"))) for name in (one, other)]
        common = (words[0] & words[1]).total()
        said = common > 1 and _dice(*words) >= _WORDS
        return Names(ratio, said or ratio >= _LETTERS)


class Pair(NamedTuple):
    """Numbers of functions. ``alike``: from 0 to 1, how much of their code, or of their executed
    source lines, is the same."""

    vanished: int
    new: int
    alike: float


def renamed(
    base: Iterable[Line],
    new: Iterable[Line],
    functions: Sequence[Function],
    same: Mapping[Place, Place],
    texts: tuple[Texts, Texts],
) -> list[Pair]:
    """The best pairs, each function in at most one, those that executed most first; functions of
    the kernel with those of the kernel. Among very many, those that executed most."""
    before, after = _by_function(base), _by_function(new)
    vanished = [_Features.of(one, before[one], texts[0], same) for one in _most(before, after)]
    added = [_Features.of(one, after[one], texts[1], None) for one in _most(after, before)]
    # What has nothing in common is not alike: most of many.
    having: dict[tuple[int, object], list[tuple[int, int]]] = defaultdict(list)
    for number, other in enumerate(added):
        for feature, times in other.every:
            having[feature].append((number, times))
    possible = []
    for old in vanished:
        common: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for feature, times in old.every:
            for number, as_many in having.get(feature, ()):
                common[number][feature[0]] += min(times, as_many)
        for number, sums in common.items():
            other = added[number]
            wholes = map(add, old.totals, other.totals)
            if not any(
                2 * one >= _LEAST * whole > 0 for one, whole in zip(sums, wholes, strict=True)
            ):
                continue
            first, second = functions[old.number], functions[other.number]
            if first.in_kernel != second.in_kernel or first.reason or second.reason:
                continue
            names = Names.of(first.name, second.name)
            if (alike := old.alike(other, names)) >= _LEAST:
                possible.append((alike, names.ratio, old.number, other.number))
    found: list[Pair] = []
    executed = {one.number: one.instructions for one in (*vanished, *added)}
    taken: set[int] = set()
    for alike, _, first_, second_ in sorted(possible, reverse=True):
        if taken.isdisjoint((first_, second_)):
            taken |= {first_, second_}
            found.append(Pair(first_, second_, alike))
    return sorted(found, key=lambda pair: -max(executed[pair.vanished], executed[pair.new]))


def _by_function(lines: Iterable[Line]) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        if line.instructions:
            found[line.function].append(line)
    return found


def _most(lines: Mapping[int, Sequence[Line]], others: Mapping[int, Sequence[Line]]) -> list[int]:
    """The functions that ``others`` has not."""
    sums = {
        one: sum(line.instructions for line in own)
        for one, own in lines.items()
        if one not in others
    }
    return sorted(sums, key=lambda one: (-sums[one], one))[:_MAX_PAIRS]


class _Features(NamedTuple):
    """What of a function is compared: its executed code, each line's largest copy, which counts as
    much as it has instructions; and its executed lines: by where they are in the new sources if
    they are there, and by text."""

    number: int
    instructions: int
    totals: tuple[int, int, int]
    code: Counter[tuple[str, ...]]
    places: Counter[Place]
    texts: Counter[bytes]

    @staticmethod
    def of(
        number: int, lines: Sequence[Line], texts: Texts, same: Mapping[Place, Place] | None
    ) -> "_Features":
        code: Counter[tuple[str, ...]] = Counter()
        found: Counter[bytes] = Counter()
        places: Counter[Place] = Counter()
        for line in lines:
            copy = max(line.code, key=lambda copy: (len(copy), copy), default=())
            code[copy] += len(copy)
            place = (line.file, line.line)
            if line.line:
                # The number of a removed line means nothing among the new ones.
                places[place if same is None else same.get(place, ("", line.line))] = 1
            text = texts.get(line.file, ())[line.line - 1 : line.line]
            plain = [b"".join(one.split()) for one in text]
            found.update(one for one in plain if len(one) >= _SAYING)
        whole = sum(line.instructions for line in lines)
        totals = places.total(), found.total(), code.total()
        return _Features(number, whole, totals, code, places, found)

    @property
    def every(self) -> Iterator[tuple[tuple[int, object], int]]:
        """Each place, text and copy of a line's code, by which of them it is, and how often."""
        every: tuple[Counter[Any], ...] = (self.places, self.texts, self.code)
        for kind, features in enumerate(every):
            for feature, times in features.items():
                yield (kind, feature), times

    def alike(self, other: "_Features", names: Names) -> float:
        """The largest of the likenesses that say something where names are as much alike."""
        found = [0.0]
        if names.near or len(self.places & other.places) >= _FEW:
            found.append(_dice(self.places, other.places))
        if names.near or len(self.texts.keys() & other.texts.keys()) >= _FEW:
            found.append(_dice(self.texts, other.texts))
        code = _dice(self.code, other.code)
        common = {shape for copy in self.code.keys() & other.code.keys() for shape in copy}
        if names.near or (len(common) >= _FEW and (names.ratio >= _UNLIKE or code >= _MUCH)):
            found.append(code)
        return max(found)


def _dice(one: Counter[_What], other: Counter[_What]) -> float:
    """Sørensen and Dice's coefficient of two multisets."""
    whole = one.total() + other.total()
    return 2 * (one & other).total() / whole if whole else 0.0


# Of one file, on either side: of more, none is compared.
_MAX_OF_FILE = 200
# How many times as much a function may cost by another name that is near, and by any.
_SIMILAR, _SAME = 1.5, 1.05


def other_names(comparison: Comparison, kernel: int) -> dict[int, int]:
    """The base's function that each of a kernel's own may be by another name, by number: of the
    same file, with the same callers, and of the same cost, or of a similar one where the names are
    near. What could be one of two is none; nor is any of samples, which miss what is rare."""
    if not comparison.metric.exact:
        return {}
    totals = comparison.total[:, [0, kernel]]
    by_file: defaultdict[tuple[str, str], tuple[list[int], list[int]]]
    by_file = defaultdict(lambda: ([], []))
    for side in (0, 1):
        for row in np.flatnonzero((totals[:, side] > 0) & (totals[:, 1 - side] <= 0)).tolist():
            function = comparison.functions[row]
            if function.file:
                by_file[function.object, function.file][side].append(row)
    costs = totals.max(axis=1).tolist()

    def is_near(old: int, new: int) -> bool:
        low, high = sorted((costs[old], costs[new]))
        if high > _SIMILAR * low:
            return False
        names = (comparison.functions[row].name for row in (old, new))
        return high <= _SAME * low or Names.of(*names).near

    pairs = [
        (old, new)
        for gone, came in by_file.values()
        if max(len(gone), len(came)) <= _MAX_OF_FILE
        for old in gone
        for new in came
        if is_near(old, new)
    ]
    callers = _callers(comparison, kernel, {row for pair in pairs for row in pair})
    return unambiguous(pair for pair in pairs if alike(*(callers[row] for row in pair)))


def unambiguous(pairs: Iterable[tuple[_What, _What]]) -> dict[_What, _What]:
    """By the second of each pair the first, where neither is in another pair."""
    known = list(pairs)
    olds, news = (Counter(pair[side] for pair in known) for side in (0, 1))
    return {new: old for old, new in known if olds[old] == news[new] == 1}


def _callers(comparison: Comparison, kernel: int, rows: set[int]) -> dict[int, set[int]]:
    """The functions that call or inline each of some, on the base or on a kernel."""
    found: dict[int, set[int]] = {row: set() for row in rows}
    if not rows:
        return found
    stacks = comparison.stacks
    wanted = np.isin(stacks.function, list(rows)) & (stacks.parent >= 0)
    wanted &= stacks.inclusive(comparison.counts[:, [0, kernel]]).any(axis=1)
    above = stacks.function[stacks.parent[wanted]].tolist()
    for row, caller in zip(stacks.function[wanted].tolist(), above, strict=True):
        found[row].add(caller)
    return found


def alike(one: Set[_What], other: Set[_What]) -> bool:
    """Whether most of two sets is in both; not of two empty ones."""
    return 2 * len(one & other) >= _LEAST * (len(one) + len(other)) > 0


# For each kernel, so many functions that executed most: annotate is not to wait for the others.
_MAX_FUNCTIONS = 150


class RenamedCode:
    """Between any two kernels of a comparison; each two are compared once."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._found: dict[tuple[int, int], dict[int, int]] = {}

    def of(
        self, row: int, base: int, kernel: int, counts: tuple[Sequence[PickedCounts], ...]
    ) -> int | None:
        """The function that ``row`` may be on the other one of two kernels, None where there is
        none. ``counts``: of the two. Samples tell nothing, because they miss what is rare."""
        if not self._comparison.metric.exact or any(len(count) != 1 for count in counts):
            return None
        ((first,), (second,)) = counts
        own = first.function == row, second.function == row
        if own[0].any() == own[1].any():
            return None
        if (base, kernel) not in self._found:
            self._found[base, kernel] = self._pairs((base, first), (kernel, second))
        return self._found[base, kernel].get(row)

    def _pairs(self, *sides: tuple[int, PickedCounts]) -> dict[int, int]:
        functions = Functions(self._comparison)
        alone = np.setxor1d(sides[0][1].function, sides[1][1].function)
        alone = alone[alone >= 0]
        lines = []
        for number, one in sides:
            own = np.isin(one.function, alone)
            sums = np.bincount(one.function[own], one.count[own])
            most = np.argsort(-sums, kind="stable")[:_MAX_FUNCTIONS]
            rows = np.flatnonzero(np.isin(one.function, most[sums[most] > 0]))
            said = shapes(self._comparison, number, one.addresses, rows)
            lines.append(executed(one, number, functions, said, rows))
        found = renamed(lines[0], lines[1], functions.every, {}, ({}, {}))
        return {
            a: b for one in found for a, b in ((one.vanished, one.new), (one.new, one.vanished))
        }
