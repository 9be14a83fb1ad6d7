"""``profdiff atlas``: what any number of recordings say of releases, as a site."""

from pathlib import Path

import click

from profdiff.base import terminal
from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import OUTPUT_FILE, OUTPUT_FOLDER, command
from profdiff.commands.output import write
from profdiff.commands.report import tell_damaged
from profdiff.session.states import RELEVANT


@command()
@click.argument(
    "sessions",
    metavar="SESSION...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    shell_complete=complete.sessions,
)
@click.option(
    "--site",
    "-o",
    type=OUTPUT_FOLDER,
    metavar="DIR",
    default=Path("atlas"),
    show_default=True,
    help="Write the site into this folder. atlas replaces an older site there, and keeps files "
    "that do not belong to the site.",
)
@click.option(
    "--threshold",
    metavar="PERCENT",
    help=f"A change of at least this is relevant.  [default: {100 * RELEVANT:g}%]",
)
@click.option(
    "--csv",
    "series",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write the lines also as time series, a row for each release and a column for each cell, "
    "as Apache Otava reads them.",
)
def atlas(sessions: tuple[Path, ...], site: Path, threshold: str | None, series: str | None) -> int:
    """Make a site of suites and sessions: each cell's line over releases, its steps, and the
    functions that made them.

    atlas joins cells by name, and sorts kernels by version. Counts from another QEMU, CPU model or
    architecture, or with other guest options, form another series: one line never joins two
    series. If a session comes from a bisection, the steps that it explains show its commit.

    atlas names and skips damaged recordings, and then exits with status 1.

    The pages need no server: open DIR/index.html, or copy DIR to any web server.
    """
    if again := next((session for session in sessions if sessions.count(session) > 1), None):
        raise InputError(f"{again} is given twice: name each recording once")
    from profdiff.reports import atlas as reports_atlas
    from profdiff.reports import csv
    from profdiff.views.suite import parsed

    made = reports_atlas.write(site, sessions, parsed(threshold), terminal.tell)
    for sentence in made.sentences:
        terminal.say(sentence)
    terminal.say(str(site / "index.html"))
    if series is not None:
        write(series, csv.atlas(made))
    return tell_damaged(made.damaged)
