"""Which functions are the same, and what they are called: names without compiler suffixes, and
namesakes told apart by file.

Inlined or called makes no difference: a function that one kernel's compiler inlined and another's
did not is one function."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from profdiff.base import units
from profdiff.symbolization._native import demangled

# What GCC and Clang append to a function's name when they clone or split it: GCC's
# clone_function_name() (.isra .constprop .part .cold .lto_priv .localalias), Clang's promotion of
# local functions under ThinLTO (.llvm.HASH).
_KINDS = r"\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?:\.\d+)*"
# perf and c++filt write them as ` [clone .cold]`.
_SUFFIX = re.compile(rf"(?:(?:{_KINDS}(?=\.|\Z))+|(?: \[clone (?:{_KINDS})+\])+)\Z")
# What may follow the parameters of a C++ function.
_BEHIND = re.compile(r"\)(?: const| volatile| &{1,2})*\Z")


def fold(symbol: str) -> tuple[str, str]:
    """The source-level name and the compiler's suffix; their concatenation is ``symbol``."""
    if "." not in symbol:
        return symbol, ""
    match = _SUFFIX.search(symbol)
    if match is None or match.start() == 0:
        return symbol, ""
    return symbol[: match.start()], match[0]


def parted(name: str) -> tuple[str, str]:
    """The name of a C++ function, and its parameters with what is behind them: ``a::f`` and
    ``(int) const``. Their concatenation is ``name``."""
    behind = _BEHIND.search(name)
    if behind is None:
        return name, ""
    depth = 0
    for at in range(behind.start(), 0, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            before = name[:at]
            # operator() without parameters is none of those.
            if before.endswith((" ", "::")) or before.split("::")[-1] == "operator":
                break
            return before, name[at:]
    return name, ""


class Function(NamedTuple):
    """A function as one kernel has it. ``file`` is where it is declared, "" if unknown.
    ``parameters``: of a C++ function, where they are known; they tell it from others of its name.

    With a ``reason`` it stands for all addresses that for that reason have no function.
    """

    name: str
    object: str
    file: str
    in_kernel: bool
    reason: str = ""
    parameters: str = ""

    @staticmethod
    @lru_cache(1 << 16)
    def of(symbol: str, owner: str, file: str, in_kernel: bool) -> "Function":
        """By its name, or by its symbol: with a compiler's suffix, perhaps mangled."""
        name, parameters = fold(symbol)[0], ""
        if name.startswith(("_Z", "_R")) or "::h" in name:
            (told,) = demangled([name])
            name, parameters = parted(told) if name[0] == "_" else (told, "")
        return Function(name, owner, file, in_kernel, parameters=parameters)


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


# Where a function is declared, and its parameters.
_Place = tuple[str, str]
# The kernels that have each of them, in order.
_Places = Mapping[_Place, list[int]]


def match(kernels: Sequence[Sequence[Function]]) -> MatchedFunctions:
    """Match functions across kernels by name and object; by file and parameters where a kernel has
    namesakes.

    Namesakes with different files are one function whose file was moved where nothing else is
    possible: none of them could be another namesake's continuation instead; so with parameters
    that are not known. The order of the kernels does not change what is matched. The name of each
    of several with one file has the parameters.
    """
    named: dict[tuple[str, str, bool, str], dict[_Place, list[int]]] = {}
    for index, functions in enumerate(kernels):
        for name, owner, file, in_kernel, reason, parameters in functions:
            places_of = named.setdefault((name, owner, in_kernel, reason), {})
            holders = places_of.setdefault((file, parameters), [])
            if not holders or holders[-1] != index:
                holders.append(index)
    matched: list[Function] = []
    namesakes: list[bool] = []
    places: dict[Function, int] = {}
    for key, files in sorted(named.items(), key=lambda item: bool(item[0][3])):
        name, owner, in_kernel, reason = key
        groups = _match_places(files)
        # The newest kernel's place, which a reader is likeliest to have at hand.
        shown = [max(group, key=lambda at: (bool(at[0]), group[at][-1], at)) for group in groups]
        told = Counter(file for file, _ in shown)
        for group, (file, parameters) in zip(groups, shown, strict=True):
            for of, its in group:
                places[Function(name, owner, of, in_kernel, reason, its)] = len(matched)
            whole = name + parameters if told[file] > 1 else name
            matched.append(Function(whole, owner, file, in_kernel, reason))
            namesakes.append(len(told) > 1)
    numbers = [[places[function] for function in functions] for functions in kernels]
    return MatchedFunctions(matched, namesakes, numbers)


def _match_places(holders: _Places) -> list[_Places]:
    """Groups of places that are one function's; a kernel has at most one place in a group. Other
    parameters are another function's; unknown ones are any, if there are no two others."""
    known = {parameters for _, parameters in holders if parameters}
    if len(known) < 2:
        return _match_files(holders)
    apart: dict[str, dict[_Place, list[int]]] = {}
    for place, kernels in holders.items():
        apart.setdefault(place[1], {})[place] = kernels
    return [group for places in sorted(apart) for group in _match_files(apart[places])]


def _match_files(holders: _Places) -> list[_Places]:
    if len(holders) == 1:
        return [holders]
    groups: list[_Places] = [{file: holders[file]} for file in sorted(holders)]
    result: list[_Places] = []
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


def _kernels(files: _Places) -> set[int]:
    return {kernel for holders in files.values() for kernel in holders}


def title(name: str, owner: str, file: str, *, namesakes: bool) -> str:
    """A function's name with the object that it is in, unless that is the kernel, and, of
    namesakes, its file; one printable line."""
    place = [] if owner in ("vmlinux", "") else [owner]
    if namesakes and file:
        place.append(file)
    return units.printable(f"{name} ({', '.join(place)})" if place else name)
