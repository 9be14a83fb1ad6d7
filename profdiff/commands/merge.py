"""``profdiff merge``: shards of a recording, put together."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from profdiff.base.terminal import say
from profdiff.commands import complete
from profdiff.commands.command import command

# As many workloads are named in a message.
_MAX_NAMES = 8
_FOLDER = click.Path(path_type=Path)


@command()
@click.argument("session", type=_FOLDER, shell_complete=complete.sessions)
@click.argument("shards", nargs=-1, required=True, type=_FOLDER, shell_complete=complete.sessions)
def merge(session: Path, shards: tuple[Path, ...]) -> None:
    """Put the runs of SHARDS into SESSION. merge creates SESSION if it does not exist.

    profdiff record --shard I/N makes shards: sessions or suites that were recorded with the same
    options, each with some of the runs. Afterwards SESSION looks as if one process had recorded all
    runs. merge refuses shards with other kernels, options or workloads, or from another QEMU. If
    several shards have a run, merge takes it once if it is the same in all of them, and otherwise
    refuses it. SESSION changes only if all files of a shard exist. merge says how many planned
    runs are missing.
    """
    from profdiff.recording.merge import merge as merged
    from profdiff.recording.schedule import in_no_shard
    from profdiff.recording.states import unseen
    from profdiff.session.held import held
    from profdiff.session.states import RELEVANT
    from profdiff.session.suite import Suite

    found = merged(session, shards)
    runs = [run for one in found for run in one.manifest.runs]
    failed = sum(run.failed for run in runs)
    absent = sum(run.not_there for run in runs)
    done = len(runs) - failed - absent
    say(f"{session}: {done:,} runs with a result, {absent:,} not there, {failed:,} failed")
    if lacking := sum(in_no_shard(one.manifest) for one in found):
        what = "run of the plan is" if lacking == 1 else "runs of the plan are"
        say(f"{lacking:,} {what} in no shard")
    if held(session) == "suite":
        suite = Suite.open(session)
        begun = {workload.name for workload, _, _ in suite.recorded()}
        # What their plans are, only a shard that began them would know.
        if lost := [one.name for one in suite.workloads if one.name not in begun]:
            what = "workload has" if len(lost) == 1 else "workloads have"
            more = ", …" if len(lost) > _MAX_NAMES else ""
            say(f"{len(lost):,} {what} no run in any shard: {', '.join(lost[:_MAX_NAMES])}{more}")
        if changed := sum(unseen(one.manifest, RELEVANT) for one in found):
            what = "cell that changed was" if changed == 1 else "cells that changed were"
            say(
                f"{changed:,} {what} seen in one state: record -o {shlex.quote(str(session))} "
                "without --shard repeats them in others"
            )
    say(f"profdiff report {shlex.quote(str(session))}")
