"""Which functions are the same: names without compiler suffixes, and namesakes told apart by file.

Inlined or called makes no difference: a function that one kernel's compiler inlined and another's
did not is one function.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

# What GCC and Clang append to a function's name when they clone or split it: GCC's
# clone_function_name() (.isra .constprop .part .cold .lto_priv .localalias), Clang's promotion of
# local functions under ThinLTO (.llvm.HASH).
_SUFFIX = re.compile(
    r"(?:\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?:\.\d+)*(?=\.|\Z))+\Z"
)


def fold(symbol: str) -> tuple[str, str]:
    """The source-level name and the compiler's suffix; their concatenation is ``symbol``."""
    if "." not in symbol:
        return symbol, ""
    match = _SUFFIX.search(symbol)
    if match is None or match.start() == 0:
        return symbol, ""
    return symbol[: match.start()], match[0]


class Function(NamedTuple):
    """A function as one kernel has it. ``file`` is where it is declared, "" if unknown.

    With a ``reason`` it stands for all addresses that for that reason have no function.
    """

    name: str
    object: str
    file: str
    in_kernel: bool
    reason: str = ""


def unresolved(reason: str, in_kernel: bool) -> Function:
    """What stands for addresses without a function."""
    return Function(f"[unresolved: {reason}]", "", "", in_kernel, reason)


class MatchedFunctions(NamedTuple):
    """The functions of all kernels, each once, those with a reason last; ``numbers[k][f]`` is where
    kernel k's function f is among them. ``namesakes`` marks those that another function shares name
    and object with."""

    functions: list[Function]
    namesakes: list[bool]
    numbers: list[list[int]]


def match(kernels: Sequence[Sequence[Function]]) -> MatchedFunctions:
    """Match functions across kernels by name and object; by file where a kernel has namesakes.

    Namesakes with different files are one function whose file was moved where nothing else is
    possible: none of them could be another namesake's continuation instead. The order of the
    kernels does not change what is matched.
    """
    files: dict[_Key, list[list[str]]] = {}
    for index, functions in enumerate(kernels):
        for function in functions:
            key = _key(function)
            by_kernel = files.setdefault(key, [[] for _ in kernels])
            if function.file not in by_kernel[index]:
                by_kernel[index].append(function.file)
    matched: list[Function] = []
    namesakes: list[bool] = []
    places: list[dict[tuple[_Key, str], int]] = [{} for _ in kernels]
    for key, by_kernel in sorted(files.items(), key=lambda item: bool(item[0][3])):
        groups = _match_files(by_kernel)
        for group in groups:
            for index, file in group.items():
                places[index][key, file] = len(matched)
            # The newest kernel's file, which a reader is likeliest to have at hand.
            name, owner, in_kernel, reason = key
            file = next((group[index] for index in sorted(group, reverse=True) if group[index]), "")
            matched.append(Function(name, owner, file, in_kernel, reason))
            namesakes.append(len(groups) > 1)
    numbers = [
        [places[index][_key(f), f.file] for f in functions]
        for index, functions in enumerate(kernels)
    ]
    return MatchedFunctions(matched, namesakes, numbers)


_Key = tuple[str, str, bool, str]


def _key(function: Function) -> _Key:
    return function.name, function.object, function.in_kernel, function.reason


def _match_files(by_kernel: list[list[str]]) -> list[dict[int, str]]:
    """Groups of (kernel: file) that are one function; a kernel has at most one file in a group."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for index, files in enumerate(by_kernel):
        for file in files:
            holders[file].append(index)
    groups = [dict.fromkeys(indexes, file) for file, indexes in sorted(holders.items())]
    if len(groups) == 1:
        return groups
    result = []
    while groups:
        # Files of which no kernel has both may be one that was moved; with all that they may be one
        # with, they are, unless a kernel then had two: nothing tells which of those it was.
        linked = [groups.pop(0)]
        for group in linked:
            possible = [other for other in groups if group.keys().isdisjoint(other)]
            groups = [other for other in groups if other not in possible]
            linked += possible
        merged = {index: file for group in linked for index, file in group.items()}
        result += [merged] if len(merged) == sum(map(len, linked)) else linked
    return result
