"""The stat collector: perf stat, in guests and on machines. It counts; nothing is sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import COUNTED, Better, event_metric
from profdiff.base.units import listed
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.perf.command import refusal_line
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
    uses_agent = False

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        groups = given["metric_groups"]
        split = groups.split(",") if groups else None
        return super().settings({**given, "events": words(given["events"]), "metric_groups": split})

    def script(self) -> str:
        return (Path(__file__).parent / "collector.sh").read_text()

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        from profdiff.collectors.guest.initramfs import guest_resources, nul_separated
        from profdiff.collectors.stat.command import attempts

        numbered = enumerate(attempts(options), 1)
        files = {f"attempt.{number}": nul_separated(one) for number, one in numbered}
        return files | {"environment.sh": (guest_resources() / "environment.sh").read_bytes()}

    def programs(self, architecture: Architecture) -> list[GuestFile]:
        from profdiff.collectors.perf.programs import perf_files

        return perf_files(architecture)

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        # Those of perf, which says them.
        return []

    def judge(self, left: Left) -> Result:
        from profdiff.collectors.guest.result import Result, exit_status, with_output
        from profdiff.collectors.records import Failure, Window
        from profdiff.collectors.stat import counted

        if left.failure:
            return Result(left.files, failure=left.failure)
        if not left.end("attempt").strip():
            why = refusal_line(left.end("perf-refusal").decode(errors="replace"))
            missing = "perf is missing: install linux-perf there, or your distribution's package"
            message = f"perf cannot count there: {why}" if why else missing
            told = f"{message} (profdiff doctor says what is missing)"
            return Result(left.files, failure=Failure("perf", told))
        status, failure = exit_status(left.end("status"))
        if failure:
            return Result(left.files, status, with_output(failure, left, status))
        window = Window(kind="command", count=1)
        events, metrics = counted.read(left.read("stat"))
        try:
            measured, lacking = _measured(events, metrics, left.options)
        except InputError as error:
            return Result(left.files, status, Failure("perf", str(error)), window)
        remarks = [_lacking(lacking)] if lacking else []
        if left.emulated and any(event_metric(one.event).name == "cycles" for one in events):
            remarks += ["cycles are QEMU's virtual time (1 GHz), not processor cycles"]
        return Result(left.files, status, None, window, measured=measured, remarks=remarks)


def _measured(
    events: Sequence[Counted], metrics: Sequence[Derived], options: Options
) -> tuple[list[Measured], list[str]]:
    """What was counted of what was asked for, and which of the default events were not. Raises
    InputError where something that was named has no value."""
    from profdiff.collectors.records import Measured
    from profdiff.collectors.stat import command

    named = options["events"] is not None
    wanted = {event_metric(event).name.partition(":")[0] for event in command.events(options)}
    found, lacking = list[Measured](), list[str]()
    for one in events:
        metric = event_metric(one.event)
        # A metric brings events of its own.
        if options["metric_groups"] and metric.name.partition(":")[0] not in wanted:
            continue
        if one.value is None and named:
            raise InputError(f"{one.event} is {one.why}: {_WHY.get(one.why, 'name another event')}")
        if one.value is None:
            lacking.append(one.event)
        elif one.part < _LEAST_PART:
            raise InputError(
                f"{one.event} was counted for {one.part:.0%} of the time, because there are more "
                "events than counters: name fewer with --event, and the others in another recording"
            )
        else:
            unit = one.unit or metric.unit
            measured = Measured(metric.name, unit, "lower", True, [one.value], one.part)
            found.append(measured)
    for derived in metrics if options["metric_groups"] else ():
        better: Better = "higher" if derived.name.lower().endswith(_HIGHER) else "lower"
        found.append(Measured(derived.name, derived.unit, better, False, [derived.value]))
    if options["metric_groups"] and not metrics:
        raise InputError(
            f"perf computed no metric of {','.join(options['metric_groups'])}: perf list metric "
            "names those of the processor"
        )
    if not found:
        raise InputError("perf stat counted nothing: perf stat true, there, says why")
    return found, lacking


_WHY = {
    "not supported": "the processor, or the guest's PMU, has no such event",
    "not counted": "the workload was too short for its turn, or no counter was free; name fewer "
    "events with --event",
}


def _lacking(events: Sequence[str]) -> str:
    return f"{listed(events)} cannot be counted there: no PMU, or none with these events"
