"""Which functions are the same: names without compiler suffixes, and namesakes told apart by file.

Inlined or called makes no difference: a function that one kernel's compiler inlined and another's
did not is one function.
"""

import re
from collections.abc import Mapping, Sequence
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


# The kernels that have each file, in order.
_Files = Mapping[str, list[int]]


def match(kernels: Sequence[Sequence[Function]]) -> MatchedFunctions:
    """Match functions across kernels by name and object; by file where a kernel has namesakes.

    Namesakes with different files are one function whose file was moved where nothing else is
    possible: none of them could be another namesake's continuation instead. The order of the
    kernels does not change what is matched.
    """
    named: dict[tuple[str, str, bool, str], dict[str, list[int]]] = {}
    for index, functions in enumerate(kernels):
        for name, owner, file, in_kernel, reason in functions:
            holders = named.setdefault((name, owner, in_kernel, reason), {}).setdefault(file, [])
            if not holders or holders[-1] != index:
                holders.append(index)
    matched: list[Function] = []
    namesakes: list[bool] = []
    places: dict[Function, int] = {}
    for key, files in sorted(named.items(), key=lambda item: bool(item[0][3])):
        name, owner, in_kernel, reason = key
        groups = _match_files(files)
        for group in groups:
            for file in group:
                places[Function(name, owner, file, in_kernel, reason)] = len(matched)
            # The newest kernel's file, which a reader is likeliest to have at hand.
            file = max(group, key=lambda file: (bool(file), group[file][-1]))
            matched.append(Function(name, owner, file, in_kernel, reason))
            namesakes.append(len(groups) > 1)
    numbers = [[places[function] for function in functions] for functions in kernels]
    return MatchedFunctions(matched, namesakes, numbers)


def _match_files(holders: _Files) -> list[_Files]:
    """Groups of files that are one function's; a kernel has at most one file in a group."""
    if len(holders) == 1:
        return [holders]
    groups: list[_Files] = [{file: holders[file]} for file in sorted(holders)]
    result: list[_Files] = []
    while groups:
        # Files of which no kernel has both may be one that was moved; with all that they may be one
        # with, they are, unless a kernel then had two: nothing tells which of those it was.
        linked = [groups.pop(0)]
        for group in linked:
            possible = [other for other in groups if _kernels(group).isdisjoint(_kernels(other))]
            groups = [other for other in groups if other not in possible]
            linked += possible
        kernels = [kernel for group in linked for kernel in _kernels(group)]
        merged = {file: holders[file] for group in linked for file in group}
        result += [merged] if len(set(kernels)) == len(kernels) else linked
    return result


def _kernels(files: _Files) -> set[int]:
    return {kernel for holders in files.values() for kernel in holders}
