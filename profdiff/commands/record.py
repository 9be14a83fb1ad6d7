"""``profdiff record``: one workload on two or more kernels."""

import os
import shlex
import tempfile
from pathlib import Path
from typing import Any

import click

from profdiff.collectors.kernel_files import KernelFiles
from profdiff.commands.experiment import Experiment, experiment_options
from profdiff.commands.experiment_file import ExperimentCommand
from profdiff.errors import RunError
from profdiff.progress import progress
from profdiff.recording import plan, preparation, run, schedule, summary
from profdiff.reports import units
from profdiff.session import Session


@click.command(cls=ExperimentCommand)
@experiment_options
def record(jobs: int | None, observe: bool, **options: Any) -> None:
    """Record COMMAND on two or more kernels: every instruction that it makes them execute, samples
    of perf, or its times.

    COMMAND is a program, a shell script or a .c file, with its arguments; write it after --. Each
    kernel boots under QEMU, or is the one that a machine runs: then record the first, reboot, and
    record the second into the same session (-o), which knows COMMAND. Measured is the whole
    command, or for exact counts what the program marks with PROFDIFF_START() and PROFDIFF_STOP()
    from profdiff.h (profdiff header prints its folder). The same command again resumes an
    interrupted recording.
    """
    asked = Experiment.from_options({**options, "jobs": jobs, "observe": observe})
    files = [*asked.workload.files, *asked.own]
    session = plan.open_session(asked.folder, asked.planned, files, asked.workload.source)
    with session.lock(), tempfile.TemporaryDirectory(prefix="profdiff-") as temporary:
        recorders = preparation.recorders(
            session.manifest,
            asked.place,
            asked.emulators,
            asked.workload,
            asked.ways,
            timeout=options["timeout"],
            observe=observe,
            folder=Path(temporary),
        )
        pending = schedule.missing_runs(session.manifest, asked.kernels, recorders)
        with progress(len(pending)) as display:
            if not pending:
                display.say(f"{asked.folder}: all runs are there already")
            run.record(
                session,
                asked.kernels,
                recorders,
                jobs=jobs or os.cpu_count() or 1,
                progress=display,
            )
        _conclude(session, asked.kernels)


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
