"""What ``perf stat -x TAB`` wrote: a line for each event, and for each metric (perf-stat(1),
section CSV FORMAT). The file comes from a guest or a machine, so lines may be anything."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from profdiff.base.metric import CLOCKS, EventName

_MOST_LINES, _MOST_NAME = 1000, 200
_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,20})?")
# A unit and two blanks may stand before a name. GHz is what perf says beside cycles.
_METRIC = re.compile(r"(?:(\S+)\s\s+)?((?!GHz$)[A-Za-z_][\w.-]*)")
_NANOSECONDS = {"ns": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}


class Counted(NamedTuple):
    """An event. ``value``: None where it was not counted, ``why`` in perf's words; ``unit``: ``ns``
    of times, else perf's. ``part``: of the time in which the command ran, in how much it was
    counted; below 1 the kernel took turns, and perf scaled the value."""

    event: str
    value: float | None
    unit: str = ""
    part: float = 1.0
    why: str = ""


class Derived(NamedTuple):
    """A metric that perf computes of events; ``unit`` is perf's: ``%``, ``faults/sec``, or none."""

    name: str
    value: float
    unit: str = ""


def read(data: bytes) -> tuple[list[Counted], list[Derived]]:
    """Events and metrics, the first of each name; what is neither is passed over."""
    events: dict[str, Counted] = {}
    metrics: dict[str, Derived] = {}
    for line in data.decode(errors="replace").splitlines()[:_MOST_LINES]:
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 5:
            continue
        if fields[2]:
            event = _event(fields)
            if event is not None:
                events.setdefault(event.event, event)
        for metric in _metrics(fields):
            metrics.setdefault(metric.name, metric)
    return list(events.values()), list(metrics.values())


def _event(fields: list[str]) -> Counted | None:
    text, unit, name, running, percent = (field.strip() for field in fields[:5])
    name = name[:_MOST_NAME]
    if text.startswith("<"):
        return Counted(name, None, why=text.strip("<>"))
    if not _NUMBER.fullmatch(text) or not _NUMBER.fullmatch(percent):
        return None
    part = min(float(percent) / 100, 1.0)
    times = _NANOSECONDS.get(unit)
    if times is None:
        return Counted(name, float(text), unit, part)
    # perf rounds a clock to 10 µs, but not the time in which it was counted, which is its value.
    if EventName.of(name).name in CLOCKS and part == 1 and _NUMBER.fullmatch(running):
        return Counted(name, float(running), "ns")
    return Counted(name, float(text) * times, "ns", part)


def _metrics(fields: list[str]) -> Iterator[Derived]:
    """``12.3`` and ``%  tma_retiring``: not what perf says beside an event (``K/sec``, ``of all
    branches``)."""
    if len(fields) > 6 and (match := _METRIC.fullmatch(fields[6].strip())):
        text = fields[5].strip()
        if _NUMBER.fullmatch(text):
            yield Derived(
                match.group(2)[:_MOST_NAME], float(text), (match.group(1) or "")[:_MOST_NAME]
            )
