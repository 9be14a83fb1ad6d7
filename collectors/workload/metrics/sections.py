"""The headings that stand above each line of an output, for names that stand in it several times.

A heading is a line that ends in a colon; one that is set off (``== NAME ==``, ``[NAME]``, ``#
NAME``); and any other below which lines are indented further. It holds until the next one that is
indented no further, or until lines are indented less than the first one below it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from profdiff.collectors.workload.metrics.reading import MAX_LINE, NUMBER, lines

_LONGEST = 100
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
    if not line or len(line) > _LONGEST:
        return None
    if line.endswith(":"):
        return line.rstrip(": \t") or None
    if found := _SET_OFF.fullmatch(line):
        return found["title"] or found["name"]
    if not deeper:
        return None
    # A number may stand behind what it heads: "PROT_NONE: 2000 calls".
    value = _VALUE.search(line)
    return (line[: value.start()] if value else line).strip() or None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
