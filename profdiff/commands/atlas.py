"""``profdiff atlas``: what any number of recordings say of releases, as a site."""

from pathlib import Path

import click

from profdiff.base import terminal
from profdiff.commands import complete
from profdiff.commands.report import tell_damaged
from profdiff.views.suite.threshold import RELEVANT, parsed


@click.command()
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
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("atlas"),
    show_default=True,
    help="Write the site into this folder. An older site there is replaced; files in it that are "
    "not the site's stay.",
)
@click.option(
    "--threshold",
    metavar="PERCENT",
    help=f"A change of at least this is relevant.  [default: {100 * RELEVANT:g}%]",
)
def atlas(sessions: tuple[Path, ...], site: Path, threshold: str | None) -> int:
    """Make a site of suites and sessions: each cell's line over releases, its steps, and the
    functions that made them.

    Cells are joined by name, and kernels stand in the order of their versions. What was counted on
    another QEMU, CPU model, architecture or with other guest options is another series: it is
    never joined in one line. Where a session is a bisection's, the steps that it explains show its
    commit.

    A recording that is damaged is left out: atlas names it, and exits with status 1.

    The pages need no server: open DIR/index.html, or copy DIR to any web server.
    """
    from profdiff.reports.atlas import site as atlas_site

    made = atlas_site.write(site, sessions, parsed(threshold), terminal.tell)
    for sentence in made.sentences:
        terminal.say(sentence)
    terminal.say(str(site / "index.html"))
    return tell_damaged(made.damaged)
