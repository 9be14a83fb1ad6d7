"""What an experiment is told: the options of ``record`` and ``plan``, which are one definition."""

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.source import locate
from profdiff.collectors.kernels.spec import parse_arguments
from profdiff.collectors.perf.command import Attempt, PerfRequest
from profdiff.collectors.workload.metrics import Wanted
from profdiff.collectors.workload.workload import GuestFile, PreparedWorkload
from profdiff.recording import plan, preparation, sweep
from profdiff.session import manifest as m
from profdiff.session.folder import Session, is_session


class Memory(click.ParamType[int]):
    """MiB, or with a suffix: 512, 512M, 2G."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,7})([MG]?)(iB|B)?", str(value), re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is no size: write 512M or 2G", param, ctx)
        mebibytes = int(match[1]) * (1024 if match[2].upper() == "G" else 1)
        if mebibytes < 64:
            self.fail("a guest needs at least 64M", param, ctx)
        return mebibytes


class Collectors(click.ParamType[list[str]]):
    """exact, perf and timed, with commas."""

    name = "collectors"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        names = value if isinstance(value, list) else str(value).split(",")
        unknown = [name for name in names if name not in ("exact", "perf", "timed")]
        if unknown:
            self.fail(f"{unknown[0]!r} is no collector: exact, perf, timed", param, ctx)
        return names


class Cpus(click.ParamType[list[int]]):
    """Numbers of vCPUs, with commas."""

    name = "cpus"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        if isinstance(value, list):
            return value
        numbers = [
            int(part) for part in str(value).split(",") if part.isdecimal() and len(part) < 4
        ]
        if len(numbers) != len(str(value).split(",")) or not all(0 < n < 256 for n in numbers):
            self.fail(f"{value!r}: write numbers from 1 to 255, with commas", param, ctx)
        return list(dict.fromkeys(numbers))


_OPTIONS = [
    click.option(
        "--experiment",
        metavar="FILE",
        help="A TOML file whose keys are these options.  [default: profdiff.toml here, if no "
        "COMMAND is given]",
    ),
    click.option(
        "--kernel",
        "kernels",
        multiple=True,
        required=True,
        metavar="[LABEL=]SPEC",
        help="A kernel: a folder with bzImage and vmlinux, an image (IMAGE,vmlinux=ELF), a build "
        "tree, .deb files, debian:SUITE, debian:VERSION, a name (profdiff kernel add); or a "
        "machine that runs it: running, ssh://[user@]host[:port]. Give two or more; the first is "
        "the base.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="The session folder.  [default: WORKLOAD.profdiff]",
    ),
    click.option(
        "--collector",
        "collectors",
        type=Collectors(),
        metavar="exact|perf|timed,...",
        help="How to record. exact: every instruction, counted by QEMU; perf: samples of perf "
        "record; timed: the workload alone, its time and what it prints.  [default: exact in "
        "x86-64 guests, else perf]",
    ),
    click.option(
        "--sweep",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Values of a parameter, in place of {NAME} in COMMAND and --ops; several are crossed.",
    ),
    click.option("--zip", "zipped", is_flag=True, help="Go through all parameters side by side."),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="[NAME[:UNIT[:lower|higher]]=]FORMAT[:KEY]",
        help="What timed runs read from the workload's output: docs/workload-metrics.md.",
    ),
    click.option(
        "--difference",
        metavar="NAME=SHORT,LONG",
        help="Run two lengths of the workload, {NAME} in COMMAND, and subtract, so that start-up "
        "cancels; an op is one iteration.",
    ),
    click.option(
        "--event",
        "events",
        metavar="EVENT,...",
        help="What perf samples, in one group.  [default: cycles,instructions, without a PMU "
        "cpu-clock]",
    ),
    click.option(
        "--count", type=click.IntRange(1, 2**62), help="Events between two of perf's samples."
    ),
    click.option(
        "--frequency",
        type=click.IntRange(1, 10**9),
        help="Samples per second instead: perf adapts the period.",
    ),
    click.option(
        "--call-graph",
        type=click.Choice(["fp", "lbr", "dwarf"]),
        default="fp",
        show_default=True,
        help="How perf finds callers in user space.",
    ),
    click.option("--perf-args", default="", metavar="ARGUMENTS", help="More for perf record."),
    click.option(
        "--file", "files", multiple=True, metavar="SRC[:DEST]", help="A file for the guest."
    ),
    click.option(
        "--ops",
        metavar="N",
        help="How many operations the window holds: a number, or a product of numbers and {NAME} "
        "of a sweep.",
    ),
    click.option(
        "--memory", type=Memory(), default="512M", show_default=True, help="The guest's memory."
    ),
    click.option(
        "--cpus",
        type=Cpus(),
        default="1",
        show_default=True,
        metavar="N,...",
        help="The guest's vCPUs.",
    ),
    click.option("--append", default="", metavar="ARGUMENTS", help="More kernel arguments."),
    click.option(
        "--settle",
        type=click.FloatRange(0, 3600),
        default=5.0,
        show_default=True,
        help="Guest seconds between boot and workload, so that boot work is over.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(1, 10**6),
        default=600.0,
        show_default=True,
        help="Seconds of wall time that a run may take.",
    ),
    click.option(
        "--repeat",
        type=click.IntRange(1, 10**6),
        default=1,
        show_default=True,
        help="Runs of each cell and collector, in guests each in a boot of its own.",
    ),
    click.option(
        "--boot-runs",
        type=click.IntRange(1, 10_000),
        default=1,
        show_default=True,
        help="How often a timed run executes the workload in its boot.",
    ),
    click.option(
        "--aa",
        "twin_repeat",
        type=click.IntRange(0, 10**6),
        default=0,
        metavar="N",
        help="Record the base N times against itself, in the same order: the noise floor.",
    ),
    click.option(
        "--vary-boots",
        is_flag=True,
        help="Give each repetition its own random numbers, user addresses and time of settling, "
        "as boots of a machine have them: exact counts then have a spread.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Of the order of runs, and of --vary-boots.",
    ),
    click.option(
        "--verify",
        is_flag=True,
        help="Run each cell twice; the report says whether they are equal.",
    ),
    click.option(
        "--call-tree/--no-call-tree",
        default=True,
        help="Whether exact counts tell who called whom, which takes a fifth longer.",
    ),
    click.option(
        "--observe/--no-observe",
        default=True,
        help="Whether guests run the workload once more after what is measured, to see its system "
        "calls and memory.",
    ),
    click.option("--jobs", type=click.IntRange(1), help="Guests side by side.  [default: CPUs]"),
    click.option(
        "--yes",
        is_flag=True,
        help="Without COMMAND: run the command of the session, whoever recorded it.",
    ),
    click.option("--qemu", type=click.Path(path_type=Path), help="Another QEMU."),
    click.argument("command", nargs=-1, type=click.UNPROCESSED),
]


def experiment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an experiment and its COMMAND."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Experiment:
    """What is going to be recorded, with all that was asked for found and checked. ``kernels`` are
    located, twins too; ``own``: the guest's own programs."""

    folder: Path
    kernels: list[KernelFiles]
    place: preparation.Place
    emulators: preparation.Emulators
    workload: PreparedWorkload
    own: list[GuestFile]
    ways: list[Attempt]
    planned: m.Manifest

    @staticmethod
    def prepare(
        *,
        kernels: tuple[str, ...],
        output: Path | None,
        collectors: list[m.Collector] | None,
        sweep_: tuple[str, ...],
        zipped: bool,
        metrics: tuple[str, ...],
        metrics_by_default: bool,
        difference: str | None,
        perf: PerfRequest,
        files: tuple[str, ...],
        ops: str | None,
        guest: m.Guest,
        cpus: list[int],
        repeat: int,
        boot_runs: int,
        twin_repeat: int,
        order: m.Order,
        verify: bool,
        call_tree: bool,
        qemu: Path | None,
        command: tuple[str, ...],
    ) -> "Experiment":
        """Raises InputError, MissingError, SessionError."""
        folder = session_folder(output, command)
        if not command:
            command = _command_of(folder)
        located = [locate(argument) for argument in parse_arguments(kernels)]
        place = preparation.Place.of(located)
        if place.architecture is not None and len(kernels) < 2 and not twin_repeat:
            raise InputError("give --kernel at least twice: the base, and what to compare with it")
        described = [plan.describe_kernel(kernel) for kernel in located]
        if twin_repeat:
            located = plan.with_twin(located)
            twin = plan.describe_kernel(located[1], located[0].label)
            described.insert(1, twin)
        wanted = place.collectors(collectors or (["timed"] if metrics else []))
        if metrics_by_default and "timed" not in wanted:
            metrics = ()
        if metrics and "timed" not in wanted:
            raise InputError("--metric: only timed runs read the output, add --collector timed")
        emulators = preparation.Emulators.find(place, wanted, qemu)
        ways = preparation.perf_attempts(perf, emulators)
        subtracted = sweep.parse_difference(difference)
        points = sweep.points(
            sweep.parse_sweep(sweep_),
            [None] if place.architecture is None else cpus,
            zipped=zipped,
            ops=ops,
            difference=subtracted,
            command=command,
        )
        prepared = place.workload(command, files)
        own = place.own_files()
        planned = m.Manifest(
            schema=m.SCHEMA,
            profdiff=__version__,
            created=m.timestamp(),
            command=["profdiff", *sys.argv[1:]],
            collectors=wanted,
            repeat=max(repeat, 2) if verify else repeat,
            verify=verify,
            call_tree=call_tree,
            twin_repeat=twin_repeat,
            boot_runs=boot_runs,
            metrics=[str(Wanted.parse(text)) for text in metrics],
            order=order,
            difference=subtracted,
            points=points,
            workload=plan.describe_workload(prepared, own),
            guest=guest if place.architecture is not None else None,
            perf=preparation.perf_options(perf, ways) if "perf" in wanted else None,
            kernels=described,
            runs=[],
        )
        return Experiment(folder, located, place, emulators, prepared, own, ways, planned)

    @staticmethod
    def from_options(options: dict[str, Any]) -> "Experiment":
        """From the values of ``experiment_options``. Raises as ``prepare``."""
        taken = dict(options)
        for name in ("experiment", "jobs", "observe", "yes"):
            taken.pop(name)
        events, count, frequency = (taken.pop(name) for name in ("events", "count", "frequency"))
        if count and frequency:
            raise InputError("--count and --frequency exclude each other")
        request = PerfRequest(
            tuple(events.split(",")) if events else None,
            count,
            frequency,
            taken.pop("call_graph"),
            _words("--perf-args", taken.pop("perf_args")),
        )
        guest = m.Guest(**{name: taken.pop(name) for name in m.Guest.__struct_fields__})
        order = m.Order(seed=taken.pop("seed"), vary=taken.pop("vary_boots"))
        swept = taken.pop("sweep")
        # Of an experiment file whose collectors the command line replaces.
        source = click.get_current_context().get_parameter_source("metrics")
        taken["metrics_by_default"] = source is click.core.ParameterSource.DEFAULT_MAP
        return Experiment.prepare(**taken, sweep_=swept, perf=request, guest=guest, order=order)


def session_folder(output: Path | None, command: Sequence[str]) -> Path:
    """Where a recording goes: ``-o``, or the workload's name."""
    return output or Path(f"{Path(command[0]).stem if command else 'session'}.profdiff")


def _words(option: str, text: str) -> tuple[str, ...]:
    """As a shell splits ``text``. Raises InputError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{option} {text}: {error}") from error


def _command_of(folder: Path) -> tuple[str, ...]:
    """The command of a session that is to be continued. Raises InputError, SessionError."""
    if not is_session(folder):
        raise InputError("no COMMAND: write what to record after --")
    return tuple(Session.open(folder).manifest.workload.argv)
