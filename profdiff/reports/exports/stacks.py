"""Stacks as other tools read them: the names of frames, and the differential profile of
FlameGraph's ``difffolded.pl`` and ``flamegraph.pl``."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.stack_table import StackTable
from profdiff.session import inlines


class FrameName(NamedTuple):
    """``line`` is that of the newest kernel that knows it; 0: unknown."""

    name: str
    object: str
    file: str
    line: int
    in_kernel: bool


def frame_names(comparison: Comparison) -> list[FrameName]:
    """A name for each function of the comparison's stacks, and for unresolved frames."""
    names = []
    for row, function in enumerate([*comparison.functions, *comparison.unnamed]):
        lines = comparison.lines[row] if row < len(comparison.functions) else ()
        line = next((int(line) for line in reversed(lines) if line), 0)
        name, owner, file = (units.printable(text) for text in function[:3])
        names.append(FrameName(name, owner, file, line, function.in_kernel))
    return names


def described(comparisons: Sequence[Comparison]) -> str:
    """What a file of these comparisons is called: its kernels, and what of them is not shown."""
    labels = comparisons[0].labels
    name = f"{labels[0]} against {', '.join(labels[1:])}" if labels[1:] else labels[0]
    return "; ".join([name, *inlines.told(comparisons[0].manifest.compared)])


_Frame = TypeVar("_Frame")

# A stack with more frames than MOST_FRAMES keeps its KEPT_FRAMES outermost and innermost:
# what is written for a program that calls itself without end grows with its depth, not with the
# square. `write_folded` of perf-data does the same.
MOST_FRAMES, KEPT_FRAMES = 1024, 64
LEFT_OUT = "[frames left out]"


def stack_paths(
    stacks: StackTable, frames: Sequence[_Frame], left_out: _Frame
) -> list[list[_Frame]]:
    """The frames of each stack, root first; ``frames``: by function, ``left_out``: what stands for
    those that are left out."""
    paths: list[list[_Frame]] = []
    columns = (stacks.parent.tolist(), stacks.function.tolist(), stacks.depth.tolist())
    for parent, function, depth in zip(*columns, strict=True):
        path = paths[parent] if parent >= 0 else []
        if depth == MOST_FRAMES:
            path = [*path[:KEPT_FRAMES], left_out, *path[1 - KEPT_FRAMES :]]
        elif depth > MOST_FRAMES:
            path = [*path[: KEPT_FRAMES + 1], *path[KEPT_FRAMES + 2 :]]
        paths.append([*path, frames[function]])
    return paths


def folded_difference(comparison: Comparison) -> Iterator[tuple[str, bytes]]:
    """For each kernel but the base (label, lines): ``a;b;c BASE OTHER``, sorted, a line for each
    stack that either executed, in the comparison's metric. What would break a line or a frame is
    replaced, as in other folded stacks, and very deep stacks are shortened (stack_paths). Raises
    InputError for a single kernel."""
    if len(comparison.labels) < 2:
        raise InputError("--folded-diff: there is one kernel, and nothing to compare it with")
    names = [_frame(one.name) for one in frame_names(comparison)]
    paths = stack_paths(comparison.stacks, names, LEFT_OUT)
    for kernel, label in list(enumerate(comparison.labels))[1:]:
        # The format has no counts below zero, which two lengths can give.
        pair = np.maximum(comparison.counts[:, [0, kernel]], 0)
        sums: dict[str, list[int]] = {}
        # Functions of one name in different objects are one here.
        for row in np.flatnonzero(pair.any(axis=1)).tolist():
            both = sums.setdefault(";".join(paths[row]), [0, 0])
            both[0] += int(pair[row, 0])
            both[1] += int(pair[row, 1])
        lines = [f"{text} {base} {other}\n" for text, (base, other) in sorted(sums.items())]
        yield label, "".join(lines).encode(errors="backslashreplace")


def _frame(name: str) -> str:
    return name.replace(";", ":")
