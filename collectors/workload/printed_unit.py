"""Units as programs print them: their symbols, and which direction is better."""

import re

from profdiff.base.metric import Better

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
