"""``profdiff record``: one workload on two or more kernels."""

import os
import shlex
from pathlib import Path
from typing import Any

import click

from profdiff.base.errors import InputError, RunError
from profdiff.base.progress import progress
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import confirm, say, tell
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.commands import record_summary as summary
from profdiff.commands.experiment import Experiment, experiment_options, session_folder
from profdiff.commands.experiment_file import ExperimentCommand
from profdiff.recording import origin, plan, preparation, run, schedule
from profdiff.session.folder import Session, is_session, recording


@click.command(cls=ExperimentCommand)
@experiment_options
def record(jobs: int | None, observe: bool, yes: bool, **options: Any) -> None:
    """Record COMMAND on two or more kernels: every instruction that it makes them execute, samples
    of perf, or its times.

    COMMAND is a program, a shell script or a .c file, with its arguments; write it after --. Each
    kernel boots under QEMU, or is the one that a machine runs: then record the first, reboot, and
    record the second into the same session (-o), which knows COMMAND. If you did not record that
    session on this machine, profdiff shows COMMAND and asks before it runs it. profdiff measures
    the whole command, or, for exact counts, what the program marks with PROFDIFF_START() and
    PROFDIFF_STOP() from profdiff.h (profdiff header prints its folder). The same command again
    resumes an interrupted recording.
    """
    if not options["command"]:
        _agree(options["output"], yes)
    asked = Experiment.from_options({**options, "jobs": jobs, "observe": observe, "yes": yes})
    files = [*asked.workload.files, *asked.own]
    with recording(asked.folder), temporary_folder() as temporary:
        session = plan.open_session(asked.folder, asked.planned, files, asked.workload.source)
        origin.remember(session.folder, session.manifest)
        recorders = preparation.recorders(
            session.manifest,
            asked.place,
            asked.emulators,
            asked.workload,
            asked.ways,
            timeout=options["timeout"],
            observe=observe,
            folder=temporary,
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


def _agree(output: Path | None, yes: bool) -> None:
    """Show the command that a session brings, and ask unless it is this user's own. Raises
    InputError when it must not run, SessionError."""
    folder = session_folder(output, ())
    if not is_session(folder):
        return
    manifest = Session.open(folder).manifest
    command = shlex.join(manifest.workload.argv)
    tell(f"{folder}: its command is {command}")
    if yes or origin.is_own(folder, manifest):
        return
    if not confirm("You did not record this session on this machine. Run its command here?"):
        raise InputError(
            f"{folder} was not recorded by you on this machine: read its command, and add --yes to "
            "run it here"
        )


def _conclude(session: Session, kernels: list[KernelFiles]) -> None:
    """Symbolize, print the summary, and fail if a kernel has no result at all."""
    summary.symbolize(session, kernels)
    for line in summary.lines(session):
        say(line)
    say(f"profdiff report {shlex.quote(str(session.folder))}")
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
                    tell(f"  console: {line}")
            reason = last.message if last else "no run was made"
            raise RunError(f"{kernel.label} has no result: {reason}")
