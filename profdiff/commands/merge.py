"""``profdiff merge`` and ``profdiff compare``: recordings put together, or side by side."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.terminal import say, tell
from profdiff.commands import complete
from profdiff.commands.command import OUTPUT_FOLDER, command

if TYPE_CHECKING:
    from profdiff.recording.compared import Side

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
    with_result = units.counted(done, "run")
    say(f"{session}: {with_result} with a result, {absent:,} not there, {failed:,} failed")
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


@command()
@click.argument("one", metavar="[LABEL=]A", shell_complete=complete.labelled_sessions)
@click.argument("other", metavar="[LABEL=]B", shell_complete=complete.labelled_sessions)
@click.option(
    "-o",
    "--output",
    "folder",
    type=OUTPUT_FOLDER,
    help="The folder of the comparison.  [default: A-vs-B.profdiff, here]",
)
@click.pass_context
def compare(context: click.Context, one: str, other: str, folder: Path | None) -> int:
    """Compare the recordings A and B: sessions, suites, or recordings over several architectures.

    compare makes a session in which A's kernel is the base, as if one command had recorded both
    kernels, and prints its report; check, mail and all other commands work on it. With several
    kernels, each label of B is compared with the same label of A. A kernel keeps its label; if both
    have the same one, they are called as the folders, or LABEL.

    Kernels and their configs may differ. compare refuses recordings with another command, other
    contents of its files, other points, options, collectors, hardware, or from another QEMU or
    profdiff. It compares the points and workloads that both have, and says what it leaves out.
    """
    from profdiff.commands.report import report
    from profdiff.recording.compared import compare, labels_of

    sides = _side(one), _side(other)
    target = folder or Path(f"{'-vs-'.join(labels_of(sides))}.profdiff")
    for line in compare(target, sides, ["profdiff", *sys.argv[1:]]):
        tell(line)
    status: int = context.invoke(report, session=target)
    say(f"\nprofdiff report {shlex.quote(str(target))}")
    return status


def _side(text: str) -> Side:
    """``[LABEL=]FOLDER``."""
    from profdiff.collectors.kernels.label import is_label
    from profdiff.recording.compared import Side
    from profdiff.session.held import held

    label, equals, folder = text.partition("=")
    if not equals or held(Path(text)):
        return Side(Path(text))
    if is_label(label):
        return Side(Path(folder), label)
    if held(Path(folder)):
        raise InputError(
            f"{text}: {label!r} is not a valid label: use letters, digits and . _ + - (at most 64)"
        )
    return Side(Path(text))
