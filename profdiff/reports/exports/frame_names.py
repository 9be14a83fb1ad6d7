"""Functions as other tools' files name them: distinct, printable, one line."""

from collections.abc import Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.profile.comparison import Comparison
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
