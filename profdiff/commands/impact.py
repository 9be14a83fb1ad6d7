"""``profdiff impact``: what a change of system calls adds to a real program."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import TOP, TableOutput, refuse_inputs, table_options


@command()
@click.argument("recording", type=click.Path(path_type=Path), shell_complete=complete.sessions)
@click.option(
    "--of",
    "trace",
    required=True,
    metavar="TRACE",
    type=click.Path(path_type=Path),
    help="What the program calls: a file that strace -f -tt, strace -c, perf trace (also -s), "
    "perf script or bpftrace wrote, a perf.data file with syscalls:sys_enter_*, or a session "
    "that recorded the program.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.001, 10**7),
    metavar="N",
    help="How long the program runs without tracing.  [default: the traced time]",
)
@click.option(
    "--only", metavar="GLOB", multiple=True, help="Use only these cells. Can be repeated."
)
@TOP
@table_options(
    "Instead of the tables, judge 'impact > +1%' or 'impact:openat > +5%', and fail if it holds. "
    "Can be repeated."
)
def impact(
    recording: Path,
    trace: Path,
    seconds: float | None,
    only: tuple[str, ...],
    top: int | None,
    tables: TableOutput,
) -> int:
    """Show what the changes of a suite's cells add to a real program: how often it makes each
    system call, times what RECORDING says that such a call costs more or less. Nothing is recorded,
    and it says nothing of time.

    \b
      profdiff record --suite syscalls --kernel debian:bookworm --kernel debian:trixie
      strace -f -tt -o build.strace make
      profdiff impact syscalls.profdiff --of build.strace

    With --width 72 the text fits into a mail. With --fail-if, the exit status is 1 if a condition
    holds, 125 if one is inconclusive, else 0.
    """
    from profdiff.checks.rows import judge_rows
    from profdiff.evidence.atlas import as_suite
    from profdiff.topics.impact.measure import Impact, numbers
    from profdiff.topics.impact.shapes import section
    from profdiff.topics.impact.traces import Trace

    refuse_inputs(tables.targets.values(), [trace])
    calls = Trace.read(trace, numbers())
    found = Impact.of(
        as_suite(recording),
        calls,
        lambda cell: not only or any(fnmatchcase(cell, glob) for glob in only),
    )
    shown = section(found, seconds)
    return tables.limited(top).write(
        shown,
        f"What the change adds to {trace.name}",
        lambda conditions: judge_rows(shown, found.labels, conditions),
    )
