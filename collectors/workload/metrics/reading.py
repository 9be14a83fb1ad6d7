"""What one output says of one name, and what a unit and a number look like."""

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


_SPELLINGS = {
    "ns": ("nsec", "nsecs", "nanosec", "nanosecs", "nanosecond", "nanoseconds"),
    "us": ("usec", "usecs", "µs", "μs", "microsec", "microsecs", "microsecond", "microseconds"),
    "ms": ("msec", "msecs", "millisec", "millisecs", "millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
}
_SHORT = {spelling: short for short, spellings in _SPELLINGS.items() for spelling in spellings}
_PER = re.compile(r"\s+per\s+|\s*/\s*|_per_|-per-", re.IGNORECASE)


def unit(text: str) -> str:
    """``text`` with units of time by their symbols and a slash for *per*: ``ns/call`` for ``nsec
    per call``. Nothing is converted."""
    return "/".join(_SHORT.get(part.lower(), part) for part in _PER.split(text.strip()))


def unit_of_name(name: str) -> str:
    """The unit that a metric's name says it has: ``ns/1k_pages`` for ``mincore_ns_per_1k_pages``,
    ``us`` for ``latency_usec``, ``events/s`` for ``events_per_second``; "" for none."""
    first, *rest = unit(name.replace(" ", "_")).split("/")
    last = first.rpartition("_")[2]
    time = _SHORT.get(last.lower(), last)
    # What ends in "second" may as well be the second of something.
    if time in _SPELLINGS and (rest or time != "s"):
        return "/".join([time, *rest])
    return "/".join([first, *rest]) if rest else ""


# Rates whose unit does not say so, with a prefix or without.
_RATE = re.compile(r"[kmgt]?(?:bps|iops|qps|tps|hz)")


def usual_better(text: str) -> Better:
    """The direction of a unit: what is counted per second is better high; time, bytes, faults and
    whatever else, low."""
    _, per, last = unit(text).lower().rpartition("/")
    return "higher" if (per and last == "s") or _RATE.fullmatch(last) else "lower"
