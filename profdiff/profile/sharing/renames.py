"""Functions of two kernels that may be the same under another name: of which each executed on one
kernel alone, of one source file."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from profdiff.profile.function_identity import MatchedFunctions

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
            for one in sorted(numbers):
                function = self._functions[one]
                if function.file and not function.reason:
                    by_file[function.object, function.file][side].append(one)
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
