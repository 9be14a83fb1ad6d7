"""What ``profdiff record --suite`` does: the runs of all workloads in one go."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.base import units
from profdiff.base.errors import RunError
from profdiff.base.terminal import say, tell
from profdiff.session.states import RELEVANT

if TYPE_CHECKING:
    from profdiff.recording.cluster.cluster import Cluster
    from profdiff.recording.run import Batch
    from profdiff.recording.schedule import PlannedRun
    from profdiff.recording.suites import Planned, SuitePlan
    from profdiff.recording.varied import Repeated
    from profdiff.session.suite import Suite

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
    files = [*experiment.workload.files, *experiment.own]
    session = plan.open_session(
        experiment.folder, experiment.planned, files, experiment.workload.source
    )
    return Batch(session, experiment.kernels, recorders, one.name, one.wanted)


def _conclude(suite: Suite, batches: Sequence[Batch]) -> None:
    """Say how many runs there are, which failed and gave no result since, which could not be made,
    and which cells changed most. Raises RunError when runs failed."""
    from profdiff.base.terminal import columns
    from profdiff.base.units import printable
    from profdiff.recording import schedule
    from profdiff.reports.documents import suite as suite_document
    from profdiff.reports.text.suite import report

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
        f"{done:,} runs with a result, "
        f"{absent:,} not there, {count:,} failed"
    )
    for message, number in failed.most_common(_TOLD):
        told = (
            f"{number:,} runs failed alike, first {where[message]}"
            if number > 1
            else (f"failed run {where[message]}")
        )
        tell(f"{told}: {message}")
    if len(failed) > _TOLD:
        tell(f"and {len(failed) - _TOLD:,} other failures")
    if done:
        document = suite_document.build(suite)
        for line in report.conclusion(document, columns()):
            say(line)
    say(f"profdiff report {shlex.quote(str(suite.folder))}")
    if count:
        raise _FailedRunsError(f"{units.counted(count, 'run')} of the suite failed")
