"""What one output says of one name, and what a number looks like."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from profdiff.base.metric import Better


class Reading(NamedTuple):
    """``values`` in ``unit``, in the order of the output: several where the format repeats itself,
    none where it says that this one failed. ``better`` where the format knows better than the
    unit. ``headings`` stand above it, the outermost first, in formats that have such."""

    name: str
    values: list[float]
    unit: str
    better: Better | None = None
    headings: tuple[str, ...] = ()

    def is_below(self, heading: str) -> bool:
        """Whether ``heading``, or several as ``OUTER/INNER``, stand right above it."""
        return f"/{'/'.join(self.headings)}".endswith(f"/{heading}")

    def path(self, depth: int) -> str:
        """Its name below the innermost ``depth`` headings: ``HEADING/NAME``."""
        return "/".join([*self.headings[-depth:], self.name])


# 1234, 1,234.5, .5, 1e-3, -2, and what printf writes for what is not a number.
NUMBER = (
    r"(?:[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,5})?"
    r"|[+-]?(?i:nan|inf(?:inity)?)(?!\w))"
)
# No program's line of results comes near; what expressions cost grows with the line.
MAX_LINE = 1000


def lines(output: str, longest: int = MAX_LINE) -> Iterator[str]:
    """The lines of ``output``, without blanks at their ends; not those that are empty, or longer
    than ``longest`` characters."""
    return (line.rstrip() for line in output.splitlines() if line and len(line) <= longest)


_NUMBER = re.compile(NUMBER, re.ASCII)


def number(text: str) -> float | None:
    """``text`` as a number; a comma separates thousands. None: it is none. What is too large, or
    called infinite, is infinite; :func:`~.read` refuses that."""
    text = text.strip()
    return float(text.replace(",", "")) if _NUMBER.fullmatch(text) else None
