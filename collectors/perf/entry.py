"""The perf collector: samples of perf record, in guests and on machines."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import SAMPLED, event_metric
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.perf.command import (
    EVENTS,
    Attempt,
    attempts,
    fallback_reason,
    refusal_line,
    words,
)

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.machine.environment import Environment, Finding
    from profdiff.collectors.recorded import Recorded
    from profdiff.collectors.records import Value
    from profdiff.collectors.workload.files import GuestFile
    from profdiff.symbolization._native import PerfData


class Perf(Collector):
    """Samples of what the machine's or the guest's perf can sample."""

    name = "perf"
    kind = SAMPLED
    help = "samples of perf record"
    options: ClassVar[Sequence[click.Option]] = (
        EVENTS,
        click.Option(
            ["--count"],
            type=click.IntRange(1, 2**62),
            metavar="N",
            help="Sampling period: events between two samples.",
        ),
        click.Option(
            ["--frequency"],
            type=click.IntRange(1, 10**9),
            metavar="HZ",
            help="Samples per second, instead of --count; perf adapts the period.",
        ),
        click.Option(
            ["--call-graph"],
            type=click.Choice(["fp", "lbr", "dwarf"]),
            default="fp",
            show_default=True,
            help="How perf finds callers in user space.",
        ),
        click.Option(
            ["--perf-args"],
            default="",
            metavar="ARGUMENTS",
            help="Extra arguments for perf record.",
        ),
    )
    # How large a recording gets is the user's.
    leaves: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(("attempt", "perf-refusal.1", "perf-refusal.2"), 1 << 20),
        "perf.data": 64 << 30,
    }
    called: ClassVar[Mapping[str, str]] = {"perf.data": "perf-data"}
    failures: ClassVar[Sequence[str]] = ("perf",)
    uses_agent = False
    profiles = True

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        if given["count"] and given["frequency"]:
            raise InputError("--count and --frequency cannot be used together")
        more = given["perf_args"]
        try:
            arguments = shlex.split(more)
        except ValueError as error:
            raise InputError(f"--perf-args {more}: {error}") from error
        return super().settings({**given, "events": words(given["events"]), "perf_args": arguments})

    def script(self) -> str:
        return (Path(__file__).parent / "collector.sh").read_text()

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        from profdiff.collectors.perf import programs

        return programs.files(
            [attempt.arguments for attempt in attempts(options, emulated=emulated)]
        )

    def programs(self, architecture: Architecture) -> list[GuestFile]:
        from profdiff.collectors.perf.programs import perf_files

        return perf_files(architecture)

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        from profdiff.collectors.machine.environment import program
        from profdiff.collectors.perf.programs import rights

        if environment is not None:
            return rights(environment)
        return [program("perf")] if architecture and architecture.is_host else []

    def judge(self, left: Left) -> Result:
        from profdiff.collectors.guest.result import Result, exit_status, with_output
        from profdiff.collectors.perf import programs
        from profdiff.collectors.perf.samples import sampling, totals
        from profdiff.collectors.records import Failure, Window
        from profdiff.symbolization._native import NativeError, PerfData

        def refused(message: str) -> Result:
            files = {what: name for what, name in left.files.items() if what != "perf-data"}
            return Result(files, failure=Failure("perf", message))

        if left.failure:
            return Result(left.files, failure=left.failure)
        # collector.sh numbers the two from 1.
        if (text := left.end("attempt").strip()) not in (b"1", b"2"):
            complaint = left.end("perf-refusal.2") or left.end("perf-refusal.1")
            return refused(programs.refused("record", complaint).message)
        status, failure = exit_status(left.end("status"))
        if "perf-data" not in left.files or not left.path("perf-data").stat().st_size:
            why = _complaint(left.end("stderr"))
            return refused(f"perf recorded nothing{f': {why}' if why else ''}")
        failure = failure and with_output(failure, left, status)
        try:
            data = PerfData.open(str(left.path("perf-data")))
        except NativeError as error:
            return Result(left.files, status, Failure("perf", str(error)))
        if not data.statistics["samples"]:
            few = "perf took no sample: run the workload longer, or lower --count"
            return Result(left.files, status, failure or Failure("perf", few))
        tried = attempts(left.options, emulated=left.emulated)
        used = tried[min(int(text), len(tried)) - 1]
        fallback = _fallback(used, tried[0], data, _complaint(left.end("perf-refusal.1")))
        told = sampling(data, fallback=fallback, emulated=left.emulated)
        window = Window(kind="command", count=1)
        return Result(left.files, status, failure, window, told, measured=totals(data))

    def read(self, files: Mapping[str, Path]) -> Recorded | None:
        from profdiff.collectors.perf.samples import read

        return read(files)


class Imported(Perf):
    """Recordings of perf that existed before, or their text."""

    name = "import"
    help = ""
    options: ClassVar[Sequence[click.Option]] = ()
    records = False

    def refusal(self, architecture: Architecture | None) -> str | None:
        return "recordings are imported with profdiff import"


def _complaint(text: bytes) -> str:
    return refusal_line(text.decode(errors="replace"))


def _fallback(used: Attempt, wanted: Attempt, data: PerfData, refusal: str) -> str | None:
    """Why something else was sampled than was wanted; None if it was that."""
    if reason := fallback_reason(used, wanted, refusal):
        return reason
    # perf itself takes cpu-clock for cycles where there is no PMU, and hardly says so.
    from profdiff.collectors.perf.samples import counts, metric_of

    sampled = [event for event in data.events if counts(event)]
    if {metric_of(one) for one in sampled} == {event_metric(name) for name in used.events}:
        return None
    names = " and ".join(one.name for one in sampled)
    return f"perf sampled {names} instead of {' and '.join(used.events)}"
