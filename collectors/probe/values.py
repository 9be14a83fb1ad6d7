"""What the kernel counted of each probe, by thread, and which of it is the workload's.

The text is that of ``hist`` files (Documentation/trace/histogram.rst). It comes from a guest or a
machine, so lines may be anything.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_PAIR = re.compile(rb"\{ (\w+): +(-?\d{1,20}), (\w+): +(-?\d{1,20}) *\} hitcount: +(\d{1,18})\s*")
_DROPPED = re.compile(rb"^ *Dropped: (\d{1,18})$", re.M)
# More than the kernel keeps of one: 65,536 entries.
_MAX_VALUES = 1 << 17


class Counted(NamedTuple):
    """``values``: in how many calls of the workload's threads; ``dropped``: calls of any thread
    for which the kernel had no room."""

    values: Counter[int]
    dropped: int


def threads(forks: bytes, first: int) -> set[int]:
    """The thread ``first`` with all that it started, and what they did."""
    children: dict[int, list[int]] = {}
    for parent, child, _ in _pairs(forks, (b"parent_pid", b"child_pid")):
        children.setdefault(parent, []).append(child)
    found, ahead = {first}, [first]
    while ahead:
        new = [one for one in children.get(ahead.pop(), ()) if one not in found]
        found.update(new)
        ahead += new
    return found


def counted(text: bytes, mine: set[int]) -> Counted:
    """One probe's values; those of 2**63 and more are negative numbers."""
    values: Counter[int] = Counter()
    for thread, value, calls in _pairs(text, (b"common_pid", b"value")):
        if thread in mine:
            values[value - (1 << 64) if value >= 1 << 63 else value] += calls
    dropped = _DROPPED.search(text)
    return Counted(values, int(dropped[1]) if dropped else 0)


def _pairs(text: bytes, keys: tuple[bytes, bytes]) -> Iterator[tuple[int, int, int]]:
    """Both keys' values, and how often they came together."""
    for number, match in enumerate(_PAIR.finditer(text)):
        if number == _MAX_VALUES:
            return
        fields = {match[1]: match[2], match[3]: match[4]}
        if fields.keys() == set(keys):
            yield int(fields[keys[0]]), int(fields[keys[1]]), int(match[5])
