"""``profdiff plan``: what ``record`` would run, and about how long it takes."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.terminal import confirm, printable, say, tell
from profdiff.commands.experiment.file import ExperimentCommand
from profdiff.commands.experiment.option_types import chosen_runs, wanted_shard
from profdiff.commands.experiment.options import HEADINGS, experiment_options
from profdiff.commands.experiment.request import asked, asked_suite, experiments
from profdiff.session.states import RELEVANT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profdiff.recording.experiment import Experiment
    from profdiff.recording.schedule import Chosen, Estimate
    from profdiff.recording.suites import SuitePlan
    from profdiff.session.manifest import Kernel

_SHOWN = 40


@click.command(cls=ExperimentCommand, headings=HEADINGS)
@experiment_options
@click.option("--all", "everything", is_flag=True, help="List every run, however many there are.")
def plan(everything: bool, **options: Any) -> None:
    """Show what record would run with the same options, in which order, and roughly how long it
    would take. plan records nothing, but it fetches kernels. It asks before it builds kernels from
    git, which runs their Makefiles."""
    show_plan(options, everything=everything)


def show_plan(options: dict[str, Any], *, everything: bool = False) -> None:
    """Show what the values of ``experiment_options`` ask for. Raises InputError where nobody agrees
    to build what that takes."""
    from profdiff.recording.experiments import not_built as of_parts
    from profdiff.recording.located import not_built
    from profdiff.recording.schedule import Estimate
    from profdiff.recording.suites import SuitePlan

    if (wanted := asked_suite(options)) is not None:
        _agree(
            (
                kernel
                for _, one in wanted.each
                for kernel in not_built(one.kernels, one.architectures, one.compilers)
            ),
            options["yes"],
        )
        _show_suite(SuitePlan.of(wanted), options)
        return
    shard = wanted_shard(options)
    one = asked(options, click.get_current_context())
    _agree(of_parts(one), options["yes"])
    found = experiments(options, one)
    shown = None if everything else _SHOWN
    chosen = chosen_runs(shard, found.each)
    estimates = [
        _show(one, options, shown, runs) for one, runs in zip(found.each, chosen, strict=True)
    ]
    if len(estimates) > 1:
        whole = Estimate(
            sum(estimate.low for estimate in estimates),
            sum(estimate.high for estimate in estimates),
            sum(estimate.basis for estimate in estimates),
        )
        say(f"{found.folder}: {whole} in all" if whole.high else f"{found.folder}: nothing to do")


def _agree(not_built: Iterable[str], yes: bool) -> None:
    """Say which kernels have to be built, and ask. Raises InputError where nobody agrees."""
    waiting = dict.fromkeys(not_built)
    if not waiting or yes:
        return
    kernels = "kernel is" if len(waiting) == 1 else "kernels are"
    tell(f"{len(waiting):,} {kernels} not known to be built: {', '.join(waiting)}")
    if not confirm("plan builds them first, which runs the make files of their trees. Build them?"):
        raise InputError(
            "plan shows nothing before the kernels are built, which runs the make files of their "
            "trees: add --yes to build them, or run profdiff record"
        )


def _show_suite(asked: SuitePlan, options: dict[str, Any]) -> None:
    """Say what a suite has: a line for each workload, and how long all take."""
    from profdiff.base.temporary import temporary_folder
    from profdiff.recording import schedule
    from profdiff.recording.plan import continued

    jobs = options["jobs"] or os.cpu_count() or 1
    done = runs = 0
    low = high = 0.0
    for one in asked.each:
        experiment = one.experiment
        manifest = continued(experiment.folder, experiment.planned)
        with temporary_folder() as temporary:
            recorders = experiment.recorders(manifest, temporary)
        states = one.wanted_states(manifest, RELEVANT)
        pending = schedule.missing_runs(manifest, experiment.kernels, recorders, one.wanted, states)
        estimate = schedule.estimate(manifest, pending, jobs)
        low, high = low + estimate.low, high + estimate.high
        done += sum(run.failure is None for run in manifest.runs)
        runs += len(pending)
        tags = f"  ({', '.join(one.workload.tags)})" if one.workload.tags else ""
        told = f"{one.cells:4} cells {len(pending):6,} runs  {one.workload.about}{tags}"
        say(printable(f"{one.name:24} {told}").rstrip())
    kernels = {
        kernel.label: kernel for one in asked.each for kernel in one.experiment.planned.kernels
    }
    say(
        f"{asked.folder}: {units.counted(len(asked.each), 'workload')}, "
        f"{units.counted(asked.cells, 'cell')}, "
        f"{units.counted(len(kernels), 'kernel')}; "
        f"{units.counted(done, 'run')} done, {runs:,} to do"
    )
    _say_given(kernels.values())
    if runs:
        say(str(schedule.Estimate(low, high, done)))
    if (most := max(one.states for one in asked.each)) and not asked.asked.shard:
        say(
            f"then, each cell that changed by {RELEVANT:.0%} is repeated in varied states until "
            f"its verdict stands, at most {most}"
        )


def _say_given(kernels: Iterable[Kernel]) -> None:
    """What the guests of some kernels are given otherwise than those of others."""
    for kernel in kernels:
        if words := kernel.variant.words:
            say(printable(f"{kernel.label} is given {' '.join(words)}"))


def _show(
    asked: Experiment, options: dict[str, Any], most: int | None, chosen: Chosen | None
) -> Estimate:
    """Say what is to be recorded into one session, of what is ``chosen``, at most ``most`` runs of
    it, and how long it takes, which is returned."""
    from profdiff.base.temporary import temporary_folder
    from profdiff.collectors import registry
    from profdiff.recording import schedule, varied
    from profdiff.recording.plan import continued
    from profdiff.session import points

    manifest = continued(asked.folder, asked.planned)
    with temporary_folder() as temporary:
        recorders = asked.recorders(manifest, temporary)
    most_states = varied.most_states(asked, manifest) if chosen is None else 0
    states = varied.wanted_states(manifest, most_states) if most_states else None
    pending = schedule.missing_runs(manifest, asked.kernels, recorders, chosen, states or None)
    done = sum(run.failure is None for run in manifest.runs)
    failed = len(manifest.runs) - done
    by_collector = Counter(run.recorder.collector.name for run in pending)
    say(
        f"{asked.folder}: {len(manifest.kernels)} kernels, {points.number_of(manifest)}, "
        f"{', '.join(manifest.collectors)}; {done} runs done, {failed} failed, "
        f"{len(pending)} to do"
    )
    _say_given(manifest.kernels)
    if asked.note:
        say(f"note: {asked.note}")
    for name in manifest.collectors:
        for line in registry.collector(name).preview(options):
            say(f"  in the sample, {line}")
    shown = pending[:most]
    longest = max((len(run.recorder.collector.name) for run in shown), default=0)
    for number, run in enumerate(shown, 1):
        point = manifest.points[run.point]
        told = [f"{name}={value}" for name, value in point.parameters.items()]
        cpus = run.kernel.variant.cpus or point.cpus
        told += [units.counted(cpus, "vCPU")] if cpus else []
        copies = manifest.workload.copies
        told += [f"{copies} copies"] if copies > 1 else []
        told += [f"state {run.state}"] if run.state else []
        words = [points.substitute(word, point.parameters) for word in manifest.workload.argv]
        say(
            printable(
                f"{number:4}  {run.recorder.collector.name:{longest}}  {run.kernel.label:16}  "
                f"{', '.join(told):24}  {' '.join(words)}"
            ).rstrip()
        )
    if len(pending) > len(shown):
        say(f"      ... and {len(pending) - len(shown):,} more (--all lists them)")
    estimate = schedule.estimate(manifest, pending, options["jobs"] or os.cpu_count() or 1)
    if pending:
        basis = f"from {estimate.basis} finished runs, the quickest and the slowest"
        if not estimate.basis:
            load = os.getloadavg()[0]
            basis = (
                f"assumed for a short workload, with a load of {load:.1f} on this machine: nothing "
                "is recorded yet"
            )
        counts = ", ".join(f"{number} {name}" for name, number in by_collector.items())
        say(f"{estimate} ({counts}; {basis})")
    if most_states:
        say(
            f"then, what changed by {RELEVANT:.0%} is repeated in varied states until its verdict "
            f"stands, at most {most_states} (--vary-state 0: none)"
        )
    return estimate
