"""``profdiff record``: one workload on two or more kernels."""

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Literal

import click

from profdiff import manifest as m
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.kernel_source import locate
from profdiff.collectors.kernel_spec import parse_arguments
from profdiff.collectors.perf_command import PerfRequest
from profdiff.errors import InputError, RunError
from profdiff.progress import progress
from profdiff.recording import plan, preparation, run, summary
from profdiff.reports import units
from profdiff.session import Session, is_session


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
    """exact, perf, or both with a comma."""

    name = "collectors"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        names = str(value).split(",")
        unknown = [name for name in names if name not in ("exact", "perf")]
        if unknown:
            self.fail(f"{unknown[0]!r} is no collector: exact, perf, or exact,perf", param, ctx)
        return names


@click.command()
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    required=True,
    metavar="[LABEL=]SPEC",
    help="A kernel: a folder with bzImage and vmlinux, an image (IMAGE,vmlinux=ELF), a build tree, "
    ".deb files, debian:SUITE, debian:VERSION, a name (profdiff kernel add); or a machine that "
    "runs it: running, ssh://[user@]host[:port]. Give two or more; the first is the base.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The session folder.  [default: WORKLOAD.profdiff]",
)
@click.option(
    "--collector",
    "collectors",
    type=Collectors(),
    metavar="exact|perf|exact,perf",
    help="How to record. exact: every instruction, counted by QEMU; perf: samples of perf record."
    "  [default: exact in x86-64 guests, else perf]",
)
@click.option(
    "--event",
    "events",
    metavar="EVENT,...",
    help="What perf samples, in one group.  [default: cycles,instructions, without a PMU "
    "cpu-clock]",
)
@click.option(
    "--count", type=click.IntRange(1, 2**62), help="Events between two of perf's samples."
)
@click.option(
    "--frequency",
    type=click.IntRange(1, 10**9),
    help="Samples per second instead: perf adapts the period.",
)
@click.option(
    "--call-graph",
    type=click.Choice(["fp", "lbr", "dwarf"]),
    default="fp",
    show_default=True,
    help="How perf finds callers in user space.",
)
@click.option("--perf-args", default="", metavar="ARGUMENTS", help="More for perf record.")
@click.option("--file", "files", multiple=True, metavar="SRC[:DEST]", help="A file for the guest.")
@click.option("--ops", type=click.IntRange(1), help="How many operations the window holds.")
@click.option(
    "--memory", type=Memory(), default="512M", show_default=True, help="The guest's memory."
)
@click.option(
    "--cpus", type=click.IntRange(1, 255), default=1, show_default=True, help="The guest's vCPUs."
)
@click.option("--append", default="", metavar="ARGUMENTS", help="More kernel arguments.")
@click.option(
    "--settle",
    type=click.FloatRange(0, 3600),
    default=5.0,
    show_default=True,
    help="Guest seconds between boot and workload, so that boot work is over.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1, 10**6),
    default=600.0,
    show_default=True,
    help="Seconds of wall time that a run may take.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 10**6),
    default=1,
    show_default=True,
    help="Runs of each cell and collector, in guests each in a boot of its own.",
)
@click.option(
    "--verify", is_flag=True, help="Run each cell twice; the report says whether they are equal."
)
@click.option(
    "--call-tree/--no-call-tree",
    default=True,
    help="Whether exact counts tell who called whom, which takes a fifth longer.",
)
@click.option("--jobs", type=click.IntRange(1), help="Guests side by side.  [default: CPUs]")
@click.option("--qemu", type=click.Path(path_type=Path), help="Another QEMU.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record(
    kernels: tuple[str, ...],
    output: Path | None,
    collectors: list[m.Collector] | None,
    events: str | None,
    count: int | None,
    frequency: int | None,
    call_graph: Literal["fp", "lbr", "dwarf"],
    perf_args: str,
    files: tuple[str, ...],
    ops: int | None,
    memory: int,
    cpus: int,
    append: str,
    settle: float,
    timeout: float,
    repeat: int,
    verify: bool,
    call_tree: bool,
    jobs: int | None,
    qemu: Path | None,
    command: tuple[str, ...],
) -> None:
    """Record COMMAND on two or more kernels: every instruction that it makes them execute, or
    samples of perf.

    COMMAND is a program, a shell script or a .c file, with its arguments; write it after --. Each
    kernel boots under QEMU, or is the one that a machine runs: then record the first, reboot, and
    record the second into the same session (-o), which knows COMMAND. Measured is the whole
    command, or for exact counts what the program marks with PROFDIFF_START() and PROFDIFF_STOP()
    from profdiff.h (profdiff header prints its folder). The same command again resumes an
    interrupted recording.
    """
    if count and frequency:
        raise InputError("--count and --frequency exclude each other")
    folder = output or Path(f"{Path(command[0]).stem if command else 'session'}.profdiff")
    if not command:
        command = _command_of(folder)
    located = [locate(argument) for argument in parse_arguments(kernels)]
    place = preparation.Place.of(located)
    if place.architecture is not None and len(kernels) < 2:
        raise InputError("give --kernel at least twice: the base, and what to compare with it")
    wanted = place.collectors(collectors or [])
    request = PerfRequest(
        tuple(events.split(",")) if events else None,
        count,
        frequency,
        call_graph,
        tuple(shlex.split(perf_args)),
    )
    emulators = preparation.Emulators.find(place, wanted, qemu)
    ways = preparation.perf_attempts(request, emulators)
    guest = None
    if place.architecture is not None:
        guest = m.Guest(memory=memory, cpus=cpus, append=append, settle=settle, timeout=timeout)
    prepared = place.workload(command, files)
    own = place.own_files()
    planned = plan.plan(
        [plan.describe_kernel(kernel) for kernel in located],
        plan.describe_workload(prepared, ops, own),
        collectors=wanted,
        guest=guest,
        perf=preparation.perf_options(request, ways) if "perf" in wanted else None,
        repeat=repeat,
        verify=verify,
        call_tree=call_tree,
        command=["profdiff", *sys.argv[1:]],
    )
    session = plan.open_session(folder, planned, [*prepared.files, *own])
    with session.lock(), tempfile.TemporaryDirectory(prefix="profdiff-") as temporary:
        recorders = preparation.recorders(
            place,
            wanted,
            emulators,
            prepared,
            ways,
            guest,
            timeout=timeout,
            call_tree=call_tree,
            folder=Path(temporary),
        )
        pending = run.missing_runs(session, located, recorders)
        with progress(len(pending)) as display:
            if not pending:
                display.say(f"{folder}: all runs are there already")
            run.record(
                session, located, recorders, jobs=jobs or os.cpu_count() or 1, progress=display
            )
        _conclude(session, located)


def _command_of(folder: Path) -> tuple[str, ...]:
    """The command of a session that is to be continued. Raises InputError, SessionError."""
    if not is_session(folder):
        raise InputError("no COMMAND: write what to record after --")
    return tuple(Session.open(folder).manifest.workload.argv)


def _conclude(session: Session, kernels: list[KernelFiles]) -> None:
    """Symbolize, print the summary, and fail if a kernel has no result at all."""
    summary.symbolize(session, kernels)
    for line in summary.lines(session):
        click.echo(line)
    click.echo(f"profdiff report {shlex.quote(str(session.folder))}")
    for kernel in kernels:
        for collector in session.manifest.collectors:
            if session.finished(kernel.label, collector):
                continue
            failed = [
                r
                for r in session.manifest.runs
                if r.kernel == kernel.label and r.collector == collector and r.failure
            ]
            last = failed[-1].failure if failed else None
            if last:
                for line in last.console:
                    click.echo(f"  console: {units.printable(line)}", err=True)
            reason = last.message if last else "no run was made"
            raise RunError(f"{kernel.label} has no result: {reason}")
