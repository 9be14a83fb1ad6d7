"""How perf stat is asked to count, and what is tried where the PMU cannot do that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from profdiff.collectors.perf.events import grouped, members

# Not duration_time: perf 7.3 counts 0 of it beside other events. The agent takes the time.
SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
HARDWARE = ("cycles", "instructions", "branches", "branch-misses")


def attempts(options: Mapping[str, Any]) -> list[list[str]]:
    """Arguments of ``perf stat`` in front of ``--``, best first. Hardware events are counted
    over the same time where the PMU has counters for all of them. Else the kernel takes turns, and
    perf scales (tools/perf/Documentation/perf-stat.txt): cycles and instructions still together,
    since their ratio is wanted; in the end each alone. Groups that the user wrote stay."""
    metrics = ["-M", ",".join(options["metric_groups"])] if options["metric_groups"] else []
    asked = options["events"]
    ways = _asked(asked) if asked is not None else _default()
    return [[*metrics, *(word for one in way for word in ("-e", one))] for way in ways]


def events(options: Mapping[str, Any]) -> list[str]:
    """The events that are to be counted; not those that ``--metrics`` needs."""
    if options["events"] is None:
        return [*SOFTWARE, *HARDWARE]
    return [event for word in options["events"] for event in members(word)]


def _default() -> Iterator[Sequence[str]]:
    yield (*SOFTWARE, grouped(HARDWARE))
    yield (*SOFTWARE, grouped(HARDWARE[:2]), *HARDWARE[2:])
    yield (*SOFTWARE, *HARDWARE)


def _asked(asked: Sequence[str]) -> Iterator[Sequence[str]]:
    if len(asked) > 1 and all(members(word) == [word] for word in asked):
        yield [grouped(asked)]
    yield asked
