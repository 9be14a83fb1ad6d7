"""The stat collector: perf stat, in guests and on machines. It counts; nothing is sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import COUNTED, Better, EventName, event_metric
from profdiff.base.units import listed
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.perf.events import EVENTS, words

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.machine.environment import Environment, Finding
    from profdiff.collectors.records import Measured, Value
    from profdiff.collectors.stat.counted import Counted, Derived
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
            help="Metrics that stat runs compute of events, or groups of them, as perf list metric "
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
        from profdiff.collectors.perf import delivery
        from profdiff.collectors.stat.command import attempts

        return delivery.files(attempts(options))

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
        from profdiff.collectors.perf import delivery
        from profdiff.collectors.stat import counted

        if left.failure is None and not left.end("attempt").strip():
            failure = delivery.refused("count", left.end("perf-refusal"))
            return Result(left.files, failure=failure)
        events, metrics = counted.read(left.read("stat"))
        wanted = _wanted(events, left.options)
        result = agents_result(left, lambda left: _measured(wanted, metrics, left))
        return result if result.failure else replace(result, remarks=_remarks(wanted, left))


def _measured(events: Sequence[Counted], metrics: Sequence[Derived], left: Left) -> list[Measured]:
    """All of a run. Raises InputError where something that was asked for has no value."""
    options = left.options
    nothing = all(one.value is None for one in events) and options["events"] is None
    if nothing or not events:
        raise InputError("perf stat counted nothing: perf stat true, there, says why")
    return [*left.wall_time(), *_counted(events, options), *_derived(metrics, options)]


def _counted(events: Sequence[Counted], options: Options) -> Iterator[Measured]:
    """The values of what was asked for. Raises InputError where what was named has no value,
    and where a value is mostly scaling."""
    from profdiff.collectors.records import Measured

    for one in events:
        if one.value is None and options["events"] is not None:
            told = _WHY.get(one.why, "name another event")
            raise InputError(f"{one.event} is {one.why}: {told}")
        if one.value is not None and one.part < _LEAST_PART:
            raise InputError(
                f"{one.event} was counted for {one.part:.0%} of the time, because there are more "
                "events than counters: name fewer with --event, and the others in another recording"
            )
        if one.value is not None:
            metric = event_metric(one.event)
            unit = one.unit or metric.unit
            yield Measured(metric.name, unit, "lower", True, [one.value], one.part)


def _wanted(events: Sequence[Counted], options: Options) -> list[Counted]:
    """Without the events that metrics bring."""
    from profdiff.collectors.stat import command

    if not options["metric_groups"]:
        return list(events)
    # perf adds modifiers where it may not count the kernel.
    names = {EventName.of(event).name for event in command.events(options)}
    return [one for one in events if EventName.of(one.event).name in names]


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
    for one in metrics:
        better: Better = "higher" if one.name.lower().endswith(_HIGHER) else "lower"
        yield Measured(one.name, one.unit, better, False, [one.value])


def _remarks(events: Sequence[Counted], left: Left) -> list[str]:
    """What was not counted of the events that nobody named, and what emulated cycles are."""
    lacking = [one.event for one in events if one.value is None]
    found = []
    if lacking:
        told = "cannot be counted there: no PMU, or none with these events"
        found.append(f"{listed(lacking)} {told}")
    if left.emulated and any(event_metric(one.event).name == "cycles" for one in events):
        found.append("cycles are QEMU's virtual time (1 GHz), not processor cycles")
    return found


_WHY = {
    "not supported": "the processor, or the guest's PMU, has no such event",
    "not counted": "the workload was too short for its turn, or no counter was free; name fewer "
    "events with --event",
}
