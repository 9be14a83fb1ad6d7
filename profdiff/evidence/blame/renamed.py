"""Functions that vanished and new ones that may be the same, renamed or moved: a suggestion."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

from profdiff.evidence.blame.attribution import Place
from profdiff.evidence.blame.executed import Line
from profdiff.profile.function_identity import Function

LEAST = 0.6
"""How much of two functions must be alike."""
# Below so many instructions or lines unlike functions are the same, unless their names are so much
# alike; and where those are unlike, so much of the code must be the same.
_SMALL, _FEW, _ALIKE = 12, 3, 0.7
_UNLIKE, _MUCH = 0.4, 0.85
_MOST = 400
# Of a line: a brace or a return says nothing.
_SAYING = 8

Texts = Mapping[str, Sequence[bytes]]
_What = TypeVar("_What")


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
    the kernel with those of the kernel. Of very many, those that executed most."""
    before, after = _by_function(base), _by_function(new)
    vanished = [_Features.of(one, before[one], texts[0], same) for one in _most(before, after)]
    added = [_Features.of(one, after[one], texts[1], None) for one in _most(after, before)]
    possible = []
    for old in vanished:
        for other in added:
            first, second = functions[old.number], functions[other.number]
            if first.in_kernel != second.in_kernel or first.reason or second.reason:
                continue
            if old.at_most(other) < LEAST:
                continue
            matcher = SequenceMatcher(None, first.name, second.name, autojunk=False)
            named = matcher.ratio()
            if (alike := old.alike(other, named)) >= LEAST:
                possible.append((alike, named, old.number, other.number))
    found: list[Pair] = []
    sums = {one.number: one.instructions for one in (*vanished, *added)}
    taken: set[int] = set()
    for alike, _, first_, second_ in sorted(possible, reverse=True):
        if taken.isdisjoint((first_, second_)):
            taken |= {first_, second_}
            found.append(Pair(first_, second_, alike))
    return sorted(found, key=lambda pair: -max(sums[pair.vanished], sums[pair.new]))


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
    return sorted(sums, key=lambda one: (-sums[one], one))[:_MOST]


class _Features(NamedTuple):
    """What of a function is compared: its executed code, each line's largest copy, which counts as
    much as it has instructions; and its executed lines: by where they are in the new sources if
    they are there, and by text."""

    number: int
    instructions: int
    size: int
    code: Counter[tuple[str, ...]]
    places: frozenset[Place]
    texts: Counter[bytes]

    @staticmethod
    def of(
        number: int, lines: Sequence[Line], texts: Texts, same: Mapping[Place, Place] | None
    ) -> "_Features":
        code: Counter[tuple[str, ...]] = Counter()
        found: Counter[bytes] = Counter()
        places = set()
        for line in lines:
            copy = max(line.code, key=lambda copy: (len(copy), copy), default=())
            code[copy] += len(copy)
            place = (line.file, line.line)
            # Of a line that is gone, the number means nothing among the new ones.
            places.add(place if same is None else same.get(place, ("", line.line)))
            text = texts.get(line.file, ())[line.line - 1 : line.line]
            plain = [b"".join(one.split()) for one in text]
            found.update(one for one in plain if len(one) >= _SAYING)
        whole = sum(line.instructions for line in lines)
        return _Features(number, whole, code.total(), code, frozenset(places), found)

    def at_most(self, other: "_Features") -> float:
        """What `alike` is not above."""
        return max(
            _bound(self.size, other.size),
            _bound(len(self.places), len(other.places)),
            _bound(self.texts.total(), other.texts.total()),
        )

    def alike(self, other: "_Features", named: float) -> float:
        """The largest of the likenesses that say something where names are as much alike."""
        found = [0.0]
        if named >= _ALIKE or min(len(self.places), len(other.places)) >= _FEW:
            common = len(self.places & other.places)
            found.append(2 * common / (len(self.places) + len(other.places)))
        if named >= _ALIKE or min(self.texts.total(), other.texts.total()) >= _FEW:
            found.append(_dice(self.texts, other.texts))
        code = _dice(self.code, other.code)
        if named >= _ALIKE or (
            min(self.size, other.size) >= _SMALL and (named >= _UNLIKE or code >= _MUCH)
        ):
            found.append(code)
        return max(found)


def _bound(one: int, other: int) -> float:
    return 2 * min(one, other) / (one + other) if one + other else 0.0


def _dice(one: Counter[_What], other: Counter[_What]) -> float:
    """Sørensen and Dice's coefficient of two multisets."""
    whole = one.total() + other.total()
    return 2 * (one & other).total() / whole if whole else 0.0
