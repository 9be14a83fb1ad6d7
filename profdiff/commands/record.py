"""``profdiff record``: one workload on two or more kernels, or all workloads of a suite."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base import units
from profdiff.base.errors import InputError, RunError, SessionError
from profdiff.base.terminal import confirm, say, tell
from profdiff.commands.experiment.file import ExperimentCommand
from profdiff.commands.experiment.option_types import chosen_runs, of_shard, wanted_shard
from profdiff.commands.experiment.options import HEADINGS, experiment_options
from profdiff.commands.experiment.request import asked_suite, experiments
from profdiff.session.states import RELEVANT

if TYPE_CHECKING:
    from profdiff.collectors.kernels.files import KernelFiles
    from profdiff.recording.cluster.cluster import Cluster
    from profdiff.recording.experiment import Experiment
    from profdiff.recording.run import Batch
    from profdiff.recording.schedule import Chosen, PlannedRun
    from profdiff.recording.suites import Planned, SuitePlan
    from profdiff.recording.varied import Repeated
    from profdiff.session.parts import Parts
    from profdiff.session.session import Session
    from profdiff.session.suite import Suite


@click.command(cls=ExperimentCommand, headings=HEADINGS)
@experiment_options
def record(**options: Any) -> None:
    """Record COMMAND on two or more kernels: every instruction that they execute, perf samples, or
    run times.

    COMMAND is a program, a shell or Python script, or a .c or .cpp file, with its arguments. Write
    it after --. profdiff copies the files that its words name into the guest.

    profdiff boots each kernel under QEMU, or records the kernel that a machine runs. To compare two
    kernels of one machine, record the first, reboot, and record the second into the same session
    (-o), which knows COMMAND. If you did not record that session on this machine, profdiff shows
    COMMAND and asks before it runs it.

    profdiff counts the whole command. If --ops says which word of COMMAND is its number of
    operations ({ops}, or a {NAME} of --sweep), profdiff also runs half as many and subtracts them,
    so that start-up cancels out. If a program marks its loop with PROFDIFF_START() and
    PROFDIFF_STOP() from profdiff.h (profdiff header prints its folder), exact counts cover only
    what runs between the marks. A .c file with a testcase() and without main(), like
    will-it-scale's tests, does --ops operations.

    Run the same command again to resume an interrupted recording.
    """
    record_experiment(options)


def record_experiment(options: dict[str, Any]) -> None:
    """Record what the values of ``experiment_options`` ask for. Raises RunError when runs
    failed."""
    from profdiff.recording import machines
    from profdiff.recording.experiments import session_folder
    from profdiff.recording.suites import SuitePlan

    jobs = options["jobs"] or os.cpu_count() or 1
    if (suite := asked_suite(options)) is not None:
        wanted = SuitePlan.of(suite)
        with _place(options["cluster"], [one.experiment for one in wanted.each]) as place:
            record_suite(wanted, jobs, place)
        return
    shard = wanted_shard(options)
    if not (options["command"] or options["boot"] or options["replay"]):
        _agree(session_folder(options["output"], ()), options["yes"])
    asked = of_shard(shard, experiments(options))
    for note in dict.fromkeys(one.note for one in asked.each if one.note):
        tell(f"note: {note}")
    chosen = chosen_runs(shard, asked.each)
    with _place(options["cluster"], asked.each) as place:
        prepared = machines.saved(asked.each, jobs, tell, chosen)
        asked = replace(asked, each=prepared.each)
        with asked.recording() as several:
            if several is None:
                (one,) = asked.each
                session = _record(one, jobs, place, chosen[0])
                conclude(session, one.kernels, whole=shard is None)
            else:
                _record_several(several, asked.each, jobs, place, chosen)


@contextlib.contextmanager
def _place(text: str | None, each: Sequence[Experiment]) -> Iterator[Cluster | None]:
    """The cluster that ``--cluster`` names, or None. Raises InputError, MissingError, OSError."""
    if text is None:
        yield None
        return
    from profdiff.recording.cluster.cluster import cluster

    with cluster(
        text, [qemu for one in each for qemu in one.equipment.emulators.values()]
    ) as found:
        yield found


def _record(asked: Experiment, jobs: int, place: Cluster | None, chosen: Chosen | None) -> Session:
    """Make the runs that a session lacks, or of them those that are ``chosen``, ``jobs`` at a time,
    or in a ``place`` as many as that has room for. The folder is locked."""
    from profdiff.base.progress import progress
    from profdiff.base.temporary import temporary_folder
    from profdiff.recording import plan, run, schedule, varied

    if added := plan.added(asked.folder, asked.planned):
        tell(f"adds {', '.join(added)} to {asked.folder}")
    with temporary_folder() as temporary:
        session = plan.open_session(asked.folder, asked.planned, asked.code, asked.workload.source)
        recorders = asked.recorders(session.manifest, temporary)
        pending = schedule.missing_runs(session.manifest, asked.kernels, recorders, chosen)
        left = schedule.runs_left(session.manifest, pending, jobs)
        with progress(len(pending), left) as display:
            if not pending:
                display.say(f"{asked.folder}: all runs are already recorded")
            batch = run.Batch(session, asked.kernels, recorders, chosen=chosen)
            run.record_batches([batch], jobs=jobs, progress=display, place=place)
        # A shard need not have all kernels of a point.
        if chosen is None:
            repeated = varied.of_experiment(asked, batch)
            varied.repeat(repeated, asked.most_states, jobs=jobs, place=place)
    return session


def _record_several(
    several: Parts,
    each: Sequence[Experiment],
    jobs: int,
    place: Cluster | None,
    chosen: Sequence[Chosen | None],
) -> None:
    """Record one part after the other, and say what all together show. A kernel without a
    result on one does not keep the others from being recorded. Raises RunError for it then."""
    from profdiff.base.terminal import columns
    from profdiff.commands import record_summary
    from profdiff.profile.kept import keep
    from profdiff.reports.text import parts

    errors = []
    for asked, runs in zip(each, chosen, strict=True):
        tell(f"recording {asked.folder}")
        session = _record(asked, jobs, place, runs)
        keep(session, asked.kernels)
        for line in [
            *record_summary.holes(session.manifest),
            *record_summary.failed(session.manifest.runs),
        ]:
            tell(f"{asked.folder.name}: {line}")
        try:
            if runs is None:
                _refuse_without_result(session, asked.kernels)
        except RunError as error:
            errors.append(f"{asked.folder.name}: {error}")
    told = parts.summary(several, columns())
    for line in [*told, ""] if told else []:
        say(line)
    say(f"profdiff report {shlex.quote(str(several.folder))}")
    if errors:
        raise RunError("; ".join(errors))


def _agree(folder: Path, yes: bool) -> None:
    """Show the command that a session brings, or those of several parts, and ask unless it
    is this user's own. Raises InputError when it must not run, SessionError."""
    from profdiff.recording import origin
    from profdiff.recording.experiments import command_of, sessions

    found = sessions(folder)
    if not found:
        return
    command = shlex.join(command_of(folder, found))
    tell(f"{folder}: its command is {command}")
    if yes or all(origin.is_own(one.folder, one.manifest) for one in found):
        return
    if not confirm("You did not record this session on this machine. Run its command here?"):
        raise InputError(
            f"you did not record {folder} on this machine: read its command, then add --yes to run "
            "it here"
        )


def conclude(session: Session, kernels: list[KernelFiles], *, whole: bool) -> None:
    """Symbolize, print the summary, and fail if a kernel has no result at all, unless the session
    is a shard."""
    from profdiff.commands import record_summary
    from profdiff.profile.kept import keep
    from profdiff.profile.runs import held
    from profdiff.reports import kept_text

    with held(session):
        keep(session, kernels)
        for line in [*record_summary.lines(session), *record_summary.commands(session)]:
            say(line)
        with contextlib.suppress(InputError, SessionError):
            kept_text.keep(session)
    if whole:
        _refuse_without_result(session, kernels)


def _refuse_without_result(session: Session, kernels: Sequence[KernelFiles]) -> None:
    """Raises RunError when a collector has no result of a kernel."""
    for kernel in kernels:
        for collector in session.manifest.collectors:
            if session.finished(kernel.label, collector):
                continue
            failed = [
                r
                for r in session.manifest.runs
                if r.kernel == kernel.label and r.collector == collector and r.failure
            ]
            if failed and all(run.not_there for run in failed):
                continue
            last = failed[-1].failure if failed else None
            if last:
                for line in last.console:
                    tell(f"  console: {line}")
            reason = last.message if last else "no run was recorded"
            raise RunError(f"{kernel.label} has no result: {reason}")


_TOLD = 10


class _FailedRunsError(RunError):
    """All others are recorded."""

    status = 1


def record_suite(asked: SuitePlan, jobs: int, place: Cluster | None) -> None:
    """Make the runs that a suite lacks, ``jobs`` at a time or in a ``place``, and say what came of
    them. Raises RunError when runs failed, and as ``run.record_batches``."""
    from profdiff.base.progress import progress
    from profdiff.base.temporary import temporary_folder
    from profdiff.profile.kept import keep
    from profdiff.recording import machines, run, varied
    from profdiff.recording.schedule import Pace

    wanted = [one.wanted for one in asked.each]
    prepared = machines.saved([one.experiment for one in asked.each], jobs, tell, wanted)
    each = [
        replace(one, experiment=experiment)
        for one, experiment in zip(asked.each, prepared.each, strict=True)
    ]
    for name, note in dict.fromkeys((one.name, one.experiment.note) for one in each):
        if note:
            tell(f"note: {name}: {note}")
    with asked.recording() as suite, temporary_folder() as temporary:
        begun = [
            (one, batch)
            for number, one in enumerate(each)
            if (batch := _batch(one, asked, temporary / str(number)))
        ]
        batches = [batch for _, batch in begun]
        total = sum(len(one.missing()) for one in batches)
        with progress(total, str(Pace(total)), brief=True) as display:
            if not total:
                display.say(f"{asked.folder}: all runs are already recorded")
            run.record_batches(batches, jobs=jobs, progress=display, place=place)
        most = max((one.states for one, _ in begun), default=0)
        varied.repeat(_repeated(begun), most, jobs=jobs, place=place)
        for batch in batches:
            keep(batch.session, batch.kernels)
    _conclude(suite, batches)


def _repeated(begun: Sequence[tuple[Planned, Batch]]) -> list[Repeated]:
    """The cells that changed are repeated in varied states."""
    from profdiff.recording.varied import Repeated

    return [
        Repeated(
            batch,
            partial(one.wanted_states, threshold=RELEVANT),
            partial(_is_varied, one),
        )
        for one, batch in begun
    ]


def _is_varied(one: Planned, place: PlannedRun) -> bool:
    """Whether a run is in a varied state. What else failed was just tried."""
    return bool(place.state) and one.wanted(place)


def _batch(one: Planned, asked: SuitePlan, temporary: Path) -> Batch | None:
    """What a session of the suite lacks, which is made if need be; None where nothing of it is to
    be recorded now."""
    from profdiff.recording import plan, schedule
    from profdiff.recording.run import Batch
    from profdiff.session.held import is_session

    experiment = one.experiment
    manifest = plan.continued(experiment.folder, experiment.planned)
    recorders = experiment.recorders(manifest, temporary)
    pending = schedule.missing_runs(manifest, experiment.kernels, recorders, one.wanted)
    if not pending and not is_session(experiment.folder):
        return None
    if several := asked.several.get(one.workload.name):
        several.made()
    session = plan.open_session(
        experiment.folder, experiment.planned, experiment.code, experiment.workload.source
    )
    return Batch(session, experiment.kernels, recorders, one.name, one.wanted)


def _conclude(suite: Suite, batches: Sequence[Batch]) -> None:
    """Say how many runs there are, which failed and gave no result since, which could not be made,
    and which cells changed most. Raises RunError when runs failed."""
    from profdiff.base.terminal import columns
    from profdiff.base.units import printable
    from profdiff.recording import schedule
    from profdiff.reports import suite_document
    from profdiff.reports.text.suite import conclusion

    done, failed, absent = 0, Counter[str](), 0
    where: dict[str, str] = {}
    for batch in batches:
        for made in batch.session.manifest.runs:
            done += made.failure is None
            absent += made.not_there
        for made in schedule.still_failed(batch.session.manifest, batch.chosen):
            message = printable(made.failure.message if made.failure else "")
            failed[message] += 1
            where.setdefault(message, f"{batch.name} {made.id}")
    count = sum(failed.values())
    say(
        f"{suite.folder}: {units.counted(len(batches), 'workload')}, "
        f"{units.counted(done, 'run')} with a result, "
        f"{absent:,} not there, {count:,} failed"
    )
    for message, number in failed.most_common(_TOLD):
        told = (
            f"{number:,} runs failed the same way, first {where[message]}"
            if number > 1
            else (f"failed run {where[message]}")
        )
        tell(f"{told}: {message}")
    if len(failed) > _TOLD:
        tell(f"and {len(failed) - _TOLD:,} other failures")
    if done:
        document = suite_document.build(suite)
        for line in conclusion(document, columns()):
            say(line)
    say(f"profdiff report {shlex.quote(str(suite.folder))}")
    if count:
        raise _FailedRunsError(f"{units.counted(count, 'run')} of the suite failed")
