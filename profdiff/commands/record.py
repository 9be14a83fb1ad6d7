"""``profdiff record``: one workload on two or more kernels."""

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import click

from profdiff import manifest as m
from profdiff.cache import cache_folder
from profdiff.collectors import initramfs
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.kernel_source import locate
from profdiff.collectors.kernel_spec import parse_arguments
from profdiff.collectors.qemu import find_qemu
from profdiff.collectors.workload import prepare
from profdiff.errors import InputError, RunError
from profdiff.progress import progress
from profdiff.recording import plan, run, summary
from profdiff.reports import units
from profdiff.session import Session


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


@click.command()
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    required=True,
    metavar="[LABEL=]SPEC",
    help="A kernel: a folder with bzImage and vmlinux, an image (IMAGE,vmlinux=ELF), a build tree, "
    ".deb files, debian:SUITE, debian:VERSION, or a name (profdiff kernel add). Give two or more; "
    "the first is the base.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The session folder.  [default: WORKLOAD.profdiff]",
)
@click.option(
    "--collector",
    type=click.Choice(["exact"]),
    default="exact",
    show_default=True,
    help="How to record. exact: every instruction, counted by QEMU.",
)
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
    help="Runs of each cell, each in a boot of its own.",
)
@click.option(
    "--verify", is_flag=True, help="Run each cell twice; the report says whether they are equal."
)
@click.option("--jobs", type=click.IntRange(1), help="Guests side by side.  [default: CPUs]")
@click.option("--qemu", type=click.Path(path_type=Path), help="Another qemu-system-x86_64.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(
    kernels: tuple[str, ...],
    output: Path | None,
    collector: str,
    files: tuple[str, ...],
    ops: int | None,
    memory: int,
    cpus: int,
    append: str,
    settle: float,
    timeout: float,
    repeat: int,
    verify: bool,
    jobs: int | None,
    qemu: Path | None,
    command: tuple[str, ...],
) -> None:
    """Record COMMAND on two or more kernels: every instruction that it makes them execute.

    COMMAND is a program, a shell script or a .c file, with its arguments; write it after --. Each
    kernel boots under QEMU. Measured is the whole command, or what the program marks with
    PROFDIFF_START() and PROFDIFF_STOP() from profdiff.h (profdiff header prints its folder).
    The same command again resumes an interrupted recording.
    """
    if len(kernels) < 2:
        raise InputError("give --kernel at least twice: the base, and what to compare with it")
    guest = m.Guest(memory=memory, cpus=cpus, append=append, settle=settle, timeout=timeout)
    emulator = find_qemu(qemu)
    prepared = prepare(
        command, files, cache_folder("workloads"), header_folder=initramfs.guest_resources()
    )
    located = [locate(argument) for argument in parse_arguments(kernels)]
    planned = plan.plan(
        [plan.describe_kernel(kernel) for kernel in located],
        plan.describe_workload(prepared, ops),
        guest,
        repeat=repeat,
        verify=verify,
        command=["profdiff", *sys.argv[1:]],
    )
    folder = output or Path(f"{Path(command[0]).stem}.profdiff")
    session = plan.open_session(folder, planned, prepared)
    with session.lock():
        pending = run.missing_runs(session, located)
        with (
            tempfile.TemporaryDirectory(prefix="profdiff-") as temporary,
            progress(len(pending)) as display,
        ):
            if not pending:
                display.say(f"{folder}: all runs are there already")
            archive = Path(temporary) / "initramfs.cpio.gz"
            initramfs.build(archive, prepared.files, prepared.guest_argv, settle)
            run.record(
                session,
                located,
                emulator,
                initramfs=archive,
                expect_marks=prepared.has_marks,
                jobs=jobs or os.cpu_count() or 1,
                progress=display,
            )
        _conclude(session, located)


def _conclude(session: Session, kernels: list[KernelFiles]) -> None:
    """Symbolize, print the summary, and fail if a kernel has no result at all."""
    summary.symbolize(session, kernels)
    for line in summary.lines(session):
        click.echo(line)
    click.echo(f"profdiff report {shlex.quote(str(session.folder))}")
    for kernel in session.manifest.kernels:
        if not session.finished(kernel.label, "exact"):
            failed = [r for r in session.manifest.runs if r.kernel == kernel.label and r.failure]
            last = failed[-1].failure if failed else None
            if last:
                for line in last.console:
                    click.echo(f"  console: {units.printable(line)}", err=True)
            reason = last.message if last else "no run was made"
            raise RunError(f"{kernel.label} has no result: {reason}")
