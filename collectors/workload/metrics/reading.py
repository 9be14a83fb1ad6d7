"""What one output says of one name, and what a number looks like.

The headings that stand above each line of an output, for names that stand in it several times.

A heading is a line that ends in a colon; one that is set off (``== NAME ==``, ``[NAME]``, ``#
NAME``); and any other below which lines are indented further. It holds until the next one that is
indented no further, or until lines are indented less than the first one below it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
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


_MAX_HEADING = 100
# The most headings within headings; beyond that, the outermost are forgotten.
DEPTH = 8
_SET_OFF = re.compile(r"(?:[=*~-]{2,}|#+)\s*(?P<title>[^\s=*~#-].*?)\s*[=*~#:-]*|\[(?P<name>.+)\]")
_VALUE = re.compile(rf":[ \t]++{NUMBER}(?![\w.]*:)")


@dataclass
class _Section:
    """``body``: how far its first line is indented, None where it has none yet."""

    indent: int
    title: str
    body: int | None = None


def with_headings(output: str, longest: int = MAX_LINE) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each line, as ``lines`` gives them, and the headings above it, the outermost first."""
    inside: list[_Section] = []
    for line, following in pairwise([*lines(output, longest), ""]):
        indent = _indent(line)
        title = _title(line.strip(), deeper=_indent(following) > indent)
        if title is None:
            while inside and indent < (inside[-1].body or 0):
                inside.pop()
            if inside and inside[-1].body is None:
                inside[-1].body = indent
        else:
            while inside and inside[-1].indent >= indent:
                inside.pop()
        yield line, tuple(section.title for section in inside)
        if title is not None:
            inside = [*inside, _Section(indent, title)][-DEPTH:]


def _title(line: str, *, deeper: bool) -> str | None:
    """The heading that a line is, or None; ``deeper``: the next line is indented further."""
    if not line or len(line) > _MAX_HEADING:
        return None
    if line.endswith(":"):
        return line.rstrip(": \t") or None
    if match := _SET_OFF.fullmatch(line):
        return match["title"] or match["name"]
    if not deeper:
        return None
    # A number may stand behind what it heads: "PROT_NONE: 2000 calls".
    value = _VALUE.search(line)
    return (line[: value.start()] if value else line).strip() or None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
