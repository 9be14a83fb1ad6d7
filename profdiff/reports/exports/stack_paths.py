"""The frames of stacks one by one, for formats that repeat them with each stack."""

from collections.abc import Sequence
from typing import TypeVar

from profdiff.profile.stack_table import StackTable

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
