"""``profdiff coverage``: which source lines executed, as lcov tracefiles."""

from pathlib import Path

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import OUTPUT_FOLDER, command
from profdiff.commands.output import ASCII, WIDTH, write
from profdiff.commands.recording import CELL, SESSION, find
from profdiff.reports.form import ReportOptions, text, write_files


@command()
@SESSION
@click.option(
    "--output",
    "-o",
    "folder",
    type=OUTPUT_FOLDER,
    metavar="DIR",
    default=Path("coverage"),
    show_default=True,
    help="Write the tracefiles into this folder. Files of the same names are replaced.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="LABEL=TREE",
    shell_complete=complete.sources,
    help="Match lines by this tree: a folder, or REPO@REV of a git repository. Give it once "
    "for each kernel.  [default: what profdiff built it from]",
)
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    shell_complete=complete.points,
    help="Use this point of the sweep; vCPUs=N is a parameter too.  [default: the point with the "
    "largest change]",
)
@CELL
@WIDTH
@ASCII
def coverage(
    session: Path | None,
    folder: Path,
    sources: tuple[str, ...],
    at: str | None,
    cell: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Write which source lines each kernel of SESSION executed in the window, as tracefiles that
    genhtml and other tools of lcov read. SESSION defaults to the newest session in this folder.

    \b
      DIR/LABEL.info                      all lines of the functions that executed
      DIR/unsure/LABEL.info               lines of which it is not certain that they executed:
                                          the compiler moved their code, or merged it
      DIR/difference/LABEL.new.info       lines that only LABEL executed, not the base
      DIR/difference/LABEL.vanished.info  lines that only the base executed, not LABEL

    Names of files are relative to the kernel's source tree, so run genhtml there.
    """
    from profdiff.api import trees
    from profdiff.evidence.findings import LazyFindings
    from profdiff.reports.coverage import render_text, render_tracefile
    from profdiff.session.session import Session
    from profdiff.views import coverage as views

    recording, at = find(session, cell, at, ["session"])
    (one,) = recording.sessions().values()
    # Each kernel has its own lines; one without debug information is left out.
    only = Session(one.folder, one.manifest, unfolded=True)
    found = LazyFindings.of(only, at).findings
    if not found.comparisons:
        raise InputError(views.INEXACT)
    comparison = found.comparisons[0]
    given = trees.named(sources, comparison)
    own, untold = trees.own(only, comparison, given)
    made = views.coverage(found.comparisons, only, {**given, **own}, list(untold.values()))
    write_files(
        ((folder / f"{one.name}.info", render_tracefile(one)) for one in made.tracefiles),
        make_folders=True,
    )
    asked = ReportOptions(width=width, ascii_only=ascii_only)
    write("-", text(asked, "-", lambda _, columns: render_text(made, width=columns)))
