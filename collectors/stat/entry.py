"""The stat collector: perf stat, in guests and on machines. It counts; nothing is sampled.

How perf stat is asked to count, and what is tried where the PMU cannot do that.

What ``perf stat -x TAB`` wrote: a line for each event, and for each metric (perf-stat(1),
section CSV FORMAT). The file comes from a guest or a machine, so lines may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import CLOCKS, COUNTED, Better, EventName, event_metric
from profdiff.base.units import listed
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.perf.command import EVENTS, grouped, members, words

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.machine.environment import Environment, Finding
    from profdiff.collectors.records import Measured, Value
    from profdiff.collectors.workload.files import GuestFile


# A value that was counted for less of the time says more of the scaling than of the event.
_LEAST_PART = 0.5
_HIGHER = ("retiring", "ipc", "insn_per_cycle")


class Stat(Collector):
    """Counts of the events that the machine's or the guest's perf can count, one value a boot."""

    name = "stat"
    kind = COUNTED
    help = "events counted by perf stat: time, cycles, instructions"
    how = "counted by perf stat, whole command"
    options: ClassVar[Sequence[click.Option]] = (
        EVENTS,
        click.Option(
            ["--metrics", "metric_groups"],
            metavar="METRIC|GROUP,...",
            help="Metrics that perf computes in stat runs, or groups of them, as perf list metric "
            "names them: TopdownL1.",
        ),
    )
    selected_by = ("metric_groups",)
    leaves: ClassVar[Mapping[str, int]] = dict.fromkeys(
        ("attempt", "perf-refusal", "perf-version", "stat"), 1 << 20
    )
    failures: ClassVar[Sequence[str]] = ("perf",)
    whole_command = True

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        groups = given["metric_groups"]
        split = groups.split(",") if groups else None
        return super().settings({**given, "events": words(given["events"]), "metric_groups": split})

    def script(self) -> str:
        return (Path(__file__).parent / "collector.sh").read_text()

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        from profdiff.collectors.perf import programs

        return programs.files(attempts(options))

    def programs(self, architecture: Architecture) -> list[GuestFile]:
        from profdiff.collectors.perf.programs import perf_files

        return perf_files(architecture)

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        # Those of perf, which says them.
        return []

    def judge(self, left: Left) -> Result:
        from profdiff.collectors.guest.result import Result, agents_result
        from profdiff.collectors.perf import programs

        if left.failure is None and not left.end("attempt").strip():
            failure = programs.refused("count", left.end("perf-refusal"))
            return Result(left.files, failure=failure)
        events, metrics = read(left.read("stat"))
        wanted = _wanted(events, left.options)
        result = agents_result(left, lambda left: _measured(wanted, metrics, left))
        return result if result.failure else replace(result, remarks=_remarks(wanted, left))


def _measured(events: Sequence[Counted], metrics: Sequence[Derived], left: Left) -> list[Measured]:
    """All of a run. Raises InputError where something that was asked for has no value."""
    options = left.options
    nothing = all(event.value is None for event in events) and options["events"] is None
    if nothing or not events:
        raise InputError("perf stat counted nothing: perf stat true, there, says why")
    return [*left.wall_time(), *_counted(events, options), *_derived(metrics, options)]


def _counted(events: Sequence[Counted], options: Options) -> Iterator[Measured]:
    """The values of what was asked for. Raises InputError where what was named has no value,
    and where a value is mostly scaling."""
    from profdiff.collectors.records import Measured

    for event in events:
        if event.value is None and options["events"] is not None:
            told = _WHY.get(event.why, "name another event")
            raise InputError(f"{event.event} is {event.why}: {told}")
        if event.value is not None and event.part < _LEAST_PART:
            raise InputError(
                f"{event.event} was counted for {event.part:.0%} of the time, because there are "
                "more events than counters: name fewer with --event, and the others in another "
                "recording"
            )
        if event.value is not None:
            metric = event_metric(event.event)
            unit = event.unit or metric.unit
            yield Measured(metric.name, unit, "lower", True, [event.value], event.part)


def _wanted(counted: Sequence[Counted], options: Options) -> list[Counted]:
    """Without the events that metrics bring."""
    if not options["metric_groups"]:
        return list(counted)
    # perf adds modifiers where it may not count the kernel.
    names = {EventName.of(event).name for event in events(options)}
    return [count for count in counted if EventName.of(count.event).name in names]


def _derived(metrics: Sequence[Derived], options: Options) -> Iterator[Measured]:
    """The metrics that were asked for. Raises InputError if perf has none of them."""
    from profdiff.collectors.records import Measured

    if not options["metric_groups"]:
        return
    if not metrics:
        raise InputError(
            f"perf computed no metric of {','.join(options['metric_groups'])}: perf list metric "
            "names those of the processor"
        )
    for metric in metrics:
        better: Better = "higher" if metric.name.lower().endswith(_HIGHER) else "lower"
        yield Measured(metric.name, metric.unit, better, False, [metric.value])


def _remarks(events: Sequence[Counted], left: Left) -> list[str]:
    """What was not counted of the events that nobody named, and what emulated cycles are."""
    lacking = [event.event for event in events if event.value is None]
    found = []
    if lacking:
        told = "cannot be counted there: no PMU, or none with these events"
        found.append(f"{listed(lacking)} {told}")
    if left.emulated and any(event_metric(event.event).name == "cycles" for event in events):
        found.append("cycles are QEMU's virtual time (1 GHz), not processor cycles")
    return found


_WHY = {
    "not supported": "the processor, or the guest's PMU, has no such event",
    "not counted": "the workload was too short for its turn, or no counter was free; name fewer "
    "events with --event",
}


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
