"""Which names are one row: those of lines, on any kernel, that have fields of one record or
variable in common. What is written most on a line of one kernel need not
be it on another.

Functions of two kernels that may be the same under another name: of which each executed on one
kernel alone, of one source file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from profdiff.profile.function_identity import MatchedFunctions
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.sums import Sums


def joined(
    kernels: Sequence[Mapping[Name, Sums]], ops: Sequence[int]
) -> tuple[dict[Name, Name], dict[Name, list[Name]]]:
    """The name of the row that each name belongs to; and what makes the lines of each row change
    hands, the most first, by the operations of each kernel."""
    weights: Counter[Name] = Counter()
    written: defaultdict[Name, set[Name]] = defaultdict(set)
    for own, several in zip(kernels, ops, strict=True):
        for name, sums in own.items():
            if _is_whole(name):
                for one, count in sums.sharing.items():
                    if _owner(one) == _owner(name):
                        weights[one] += count / several  # type: ignore[assignment]
                if sums.sharing:
                    every = sums.written | {name}
                    written[_owner(name)] |= {one for one in every if _owner(one) == _owner(name)}
    row = {name: name for own in kernels for name in own}

    def of(name: Name) -> Name:
        while row.setdefault(name, name) != name:
            name = row[name]
        return name

    def join(one: Name, other: Name) -> None:
        first, second = sorted((of(one), of(other)))
        row[second] = first

    for own in kernels:
        for name, sums in own.items():
            if not _is_whole(name):
                continue
            covers = {_plain(path) for path in sums.covers}
            # What is seldom written here may be what makes the line change hands elsewhere.
            for other in written[_owner(name)]:
                if other in sums.written or _plain(other.path) in covers:
                    join(name, other)
    members: defaultdict[Name, list[Name]] = defaultdict(list)
    for name in row:
        members[of(name)].append(name)
    title: dict[Name, Name] = {}
    fields: dict[Name, list[Name]] = {}
    for some in members.values():
        there = [name for name in some if weights[name]] or some
        there.sort(key=lambda name: (-weights[name], name))
        fields[there[0]] = there
        title |= dict.fromkeys(some, there[0])
    return title, fields


def _owner(name: Name) -> Name:
    return name._replace(path="", function=-1)


def _plain(path: str) -> str:
    """An array of something stands for the one thing that it was."""
    return path.replace("[]", "")


def _is_whole(name: Name) -> bool:
    """Whether a name says of what the data is a part."""
    is_object = name.kind in ("field", "variable", "per-cpu")
    return is_object and not name.among and not name.is_part


# Names are near that have so much of their words in common, two at least.
_NEAR = 0.6
_WORDS = 2


class Renames:
    """``matched``: the functions of all kernels. ``numbers[k][f]``: which one kernel k's function f
    is, one that was renamed for certain the base's. ``titles``: the newest name of those."""

    def __init__(self, matched: MatchedFunctions) -> None:
        self._functions = matched.functions
        self._there = [set(own) for own in matched.numbers]
        same: dict[int, int] = {}
        for there in self._there[1:]:
            same |= self._renamed(there - same.keys())
        self.numbers = [[same.get(one, one) for one in own] for own in matched.numbers]
        self._there = [set(own) for own in self.numbers]
        # The newest name is the one that a reader is likeliest to look for.
        self.titles = {old: new for new, old in same.items()}

    def _renamed(self, there: set[int]) -> dict[int, int]:
        """A kernel's own functions that are one of the base's."""
        base = self._there[0]
        by_file: defaultdict[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(
            lambda: ([], [])
        )
        for side, numbers in enumerate((base - there, there - base)):
            for number in sorted(numbers):
                function = self._functions[number]
                if function.file and not function.reason:
                    by_file[function.object, function.file][side].append(number)
        found: dict[int, int] = {}
        for gone, came in by_file.values():
            near = [(old, new) for old in gone for new in came if self._is_near(old, new)]
            olds, news = (Counter(pair[side] for pair in near) for side in (0, 1))
            found |= {new: old for old, new in near if olds[old] == news[new] == 1}
        return found

    def _is_near(self, one: int, other: int) -> bool:
        words = [Counter(self._words(at)) for at in (one, other)]
        common, whole = (words[0] & words[1]).total(), words[0].total() + words[1].total()
        return common >= _WORDS and 2 * common >= _NEAR * whole

    def _words(self, number: int) -> list[str]:
        return self._functions[number].name.strip("_").split("_")

    def kin(self, functions: Iterable[int], kernel: int) -> frozenset[object]:
        """What functions may be on the base and on another kernel: themselves; or of those that
        only one of the two executed, any of their file whose name has a word in common."""
        either: Sequence[set[int]] = (self._there[0], self._there[kernel])
        found = set[object](functions)
        for one in found & (either[0] ^ either[1]):
            if isinstance(one, int):
                function = self._functions[one]
                found |= {(function.object, function.file, word) for word in self._words(one)}
        return frozenset(found)
