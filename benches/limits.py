"""How a benchmark tells its figures, each beside its limit."""

from collections.abc import Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """``taken`` and ``limit`` with their units."""

    what: str
    taken: str
    met: bool
    limit: str


def told(figures: Sequence[Figure]) -> int:
    """Print them; the exit status: 1 if a limit is missed."""
    for what, taken, met, limit in figures:
        print(f"{what:12} {taken:>8} (limit {limit}: {'met' if met else 'MISSED'})")
    return 0 if all(figure.met for figure in figures) else 1
