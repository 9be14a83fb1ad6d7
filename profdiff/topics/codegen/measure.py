"""A function, or all functions of an object file, as several compilers made them."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.profile.code.alignment import KernelSide, aligned
from profdiff.profile.code.file_code import FileCode, FileFunction, Loop
from profdiff.topics.size.measure import inlined_sizes

# An object file of Linux has a few hundred; to decode a whole kernel takes minutes.
MAX_FUNCTIONS = 5000

Sameness = Literal["identical", "registers", "differs", "absent"]


class CompiledFunction(NamedTuple):
    """A function by label of what has it, the base's first. ``blind``: those without debug
    information, which alone tells what is inlined. ``rows``: int64[R, K], instructions that belong
    together, -1: none."""

    name: str
    sides: Mapping[str, FileFunction]
    blind: list[str]
    rows: NDArray[np.int64]

    def sameness(self, label: str) -> Sameness:
        """How the code is to that of the base."""
        labels = list(self.sides)
        return sameness(*(self.sides[one] for one in (labels[0], label)))

    def alike(self, label: str) -> tuple[int, int]:
        """How many instructions of the base another has, and how many if registers are not
        regarded; in order."""
        labels = list(self.sides)
        base, other = (self.sides[one].side.decoded for one in (labels[0], label))
        pairs = self.rows[:, [0, labels.index(label)]]
        both = pairs[(pairs >= 0).all(axis=1)].tolist()
        return (
            sum(base.text[one] == other.text[two] for one, two in both),
            sum(base.key[one] == other.key[two] for one, two in both),
        )


class HotLoop(NamedTuple):
    """The loop of each label, None where the function has none. ``rows`` as of the function."""

    loops: Mapping[str, Loop | None]
    rows: NDArray[np.int64]


def sameness(base: FileFunction, other: FileFunction) -> Sameness:
    """How the code of a function is to that of the base."""
    one, two = base.side.decoded, other.side.decoded
    if not one.text or not two.text:
        return "absent"
    if one.text == two.text:
        return "identical"
    return "registers" if one.key == two.key else "differs"


def compiled_function(
    files: Mapping[str, FileCode], name: str, source: str = ""
) -> CompiledFunction:
    """A function in each file. ``source``: the file that declares it, without a suffix. Raises
    InputError where none has code of it, or one has several of its name."""
    blind = [label for label, file in files.items() if not file.index.has_inlines]
    sides = {}
    for label, file in files.items():
        into = [] if label in blind or name in file.by_name else inlined_sizes(file.index)
        outer = [outer for outer, what in into if what == name]
        sides[label] = file.function(name, outer, source)
    if not any(len(side.side.code) for side in sides.values()):
        known = [one for file in files.values() for one in file.by_name]
        told = f"a function {name}{f' of {source}' if source else ''}"
        meant = did_you_mean(name, known) or "nothing calls it there, or the config leaves it out"
        raise InputError(f"no code of {told} is in {_names(files)}: {meant}")
    return CompiledFunction(name, sides, blind, _rows([one.side for one in sides.values()]))


def _names(files: Mapping[str, FileCode]) -> str:
    return units.few(list(dict.fromkeys(file.path.name for file in files.values())), 3)


def compiled_functions(files: Mapping[str, FileCode]) -> dict[str, dict[str, FileFunction]]:
    """All functions with code of their own in any file, by name and label. Raises InputError for
    more than ``MAX_FUNCTIONS``."""
    names = dict.fromkeys(name for file in files.values() for name in file.by_name)
    if len(names) > MAX_FUNCTIONS:
        raise InputError(
            f"the files have {len(names):,} functions: name a FUNCTION, or OBJECT:FUNCTION; "
            "profdiff size compares the sizes of whole kernels"
        )
    return {
        name: {label: file.function(name) for label, file in files.items()}
        for name in names
        if not name.startswith("__pfx_")
    }


def hot_loop(function: CompiledFunction, number: int | None) -> HotLoop | None:
    """The base's loop of that number, from 1, or its innermost one, the longest of these; and that
    of each other label which has most source lines with it. None where nothing loops. Raises
    InputError where the base has no loop of that number."""
    labels = list(function.sides)
    base = function.sides[labels[0]]
    if number is not None and not 0 < number <= len(base.loops):
        raise InputError(f"--loop {number}: {function.name} has {len(base.loops)} with {labels[0]}")
    first = base.loops[number - 1] if number else _innermost(base.loops)
    loops = {labels[0]: first}
    lines = {base.lines[row] for row in first.rows} - {""} if first else set()
    for label in labels[1:]:
        other = function.sides[label]
        loops[label] = _like(other, lines) or _innermost(other.loops)
    if not any(loops.values()):
        return None
    sides = [function.sides[label].side for label in labels]
    rows = [loop.rows if loop else [] for loop in loops.values()]
    found = _rows([_part(side, some) for side, some in zip(sides, rows, strict=True)])
    for column, some in enumerate(rows):
        mine = found[:, column] >= 0
        found[mine, column] = np.array(some, np.int64)[found[mine, column]]
    return HotLoop(loops, found)


def _innermost(loops: Sequence[Loop]) -> Loop | None:
    return max(loops, key=lambda loop: (loop.depth, len(loop.rows)), default=None)


def _like(function: FileFunction, lines: set[str]) -> Loop | None:
    """The loop that has most lines with others, of all lines of both."""

    def likeness(loop: Loop) -> float:
        own = {function.lines[row] for row in loop.rows} - {""}
        return len(own & lines) / max(len(own | lines), 1)

    best = max(function.loops, key=likeness, default=None)
    return best if best and likeness(best) else None


def _part(side: KernelSide, rows: Sequence[int]) -> KernelSide:
    """Some of the instructions."""
    at, code, read = np.array(rows, np.int64), side.code, side.decoded
    columns = ("place", "address", "code", "count", "file", "line", "symbol")
    return KernelSide(
        replace(code, **{name: getattr(code, name)[at] for name in columns}),
        replace(
            read,
            text=[read.text[row] for row in rows],
            operation=[read.operation[row] for row in rows],
            key=[read.key[row] for row in rows],
            target=read.target[at],
            conditional=read.conditional[at],
            starts_block=read.starts_block[at],
            classes=[read.classes[row] for row in rows],
        ),
        side.line[at],
    )


def _rows(sides: Sequence[KernelSide]) -> NDArray[np.int64]:
    """Instructions of the sides that belong together, by the same lines and what they do."""
    numbers: dict[str, int] = {"": 0}
    lined = []
    for side in sides:
        code = side.code
        places = zip(code.file.tolist(), code.line.tolist(), strict=True)
        names = [f"{code.strings[file]}:{line}" if line else "" for file, line in places]
        own = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
        lined.append(KernelSide(code, side.decoded, own))
    (place,) = aligned(lined)
    return place.rows
