"""How a report writes a function's name."""

from profdiff.base import units
from profdiff.profile.comparison import Comparison


def function_name(comparison: Comparison, row: int) -> str:
    """Name, suffixes that were folded into it, object and file where they are needed."""
    function = comparison.functions[row]
    place = [] if function.object in ("vmlinux", "") else [function.object]
    if comparison.namesakes[row] and function.file:
        place.append(function.file)
    folded = sorted({text for texts in comparison.symbols[row].values() for text in texts})
    suffixes = [text.removeprefix(function.name) for text in folded]
    name = function.name + (f" [{', '.join(suffixes)}]" if suffixes else "")
    return units.printable(f"{name} ({', '.join(place)})" if place else name)
