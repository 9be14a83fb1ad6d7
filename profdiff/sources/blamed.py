"""``git blame`` of some lines of one file, and what it says."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from profdiff.sources.quoted import unquoted

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+) (\d+)")
# No argument list grows beyond what a process can have.
_RANGES = 4000


class Origin(NamedTuple):
    """Where a line comes from: a commit, and its file and line there."""

    commit: str
    file: str
    line: int


def ranges(lines: Iterable[int]) -> list[str]:
    """Options that select ``lines``."""
    known = sorted(set(lines))
    found: list[list[int]] = []
    for line in known:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    while len(found) > _RANGES:  # more lines than asked for do no harm
        found = [[a[0], b[1]] for a, b in zip(found[::2], found[1::2] or found[:1], strict=False)]
    return [f"-L{first},{last}" for first, last in found]


def origins(said: bytes) -> Iterator[tuple[int, Origin]]:
    """Each line with its origin, from what ``--incremental`` prints."""
    header: Sequence[bytes] | None = None
    for line in said.split(b"\n"):
        if match := _HEADER.fullmatch(line):
            header = match.groups()
        elif header and line.startswith(b"filename "):
            file = unquoted(line.removeprefix(b"filename "))
            first, result, count = (int(one) for one in header[1:])
            for i in range(count):
                yield result + i, Origin(header[0].decode(), file, first + i)
            header = None
