"""``profdiff blame``: the instructions of a delta by commit, without building anything."""

from functools import partial
from pathlib import Path

import click

from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import (
    ASCII,
    PER_OP,
    TOP,
    WIDTH,
    form_options,
    targets,
    with_options,
    write_forms,
)
from profdiff.commands.recording import CELL, SESSION, find
from profdiff.reports.command_forms import BLAME_FORMS, Blamed
from profdiff.reports.form import ReportOptions, Subject, refuse_per_op
from profdiff.topics.functions.selection import Selection


@command()
@SESSION
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    metavar="LINUX",
    help="The git repository that the kernels were built from.  [default: the one that profdiff "
    "built them from]",
)
@click.option(
    "--base",
    metavar="REV",
    help="What the base was built from.  [default: what profdiff built it from, or the tag of its "
    "release]",
)
@click.option(
    "--new",
    metavar="REV",
    help="What the other kernel was built from.  [default: likewise]",
)
@click.option(
    "--ignore-revs-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file of commits to ignore, as for git blame.  [default: git's blame.ignoreRevsFile]",
)
@click.option(
    "--kernel",
    "label",
    metavar="LABEL",
    shell_complete=complete.labels,
    help="Blame the delta of this kernel.  [default: the last one]",
)
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    shell_complete=complete.points,
    help="Blame the delta at this point of the sweep; vCPUs=N is a parameter too.  [default: the "
    "point with the largest change]",
)
@CELL
@TOP
@PER_OP
@WIDTH
@ASCII
@partial(with_options, form_options(BLAME_FORMS))
def blame(
    session: Path | None,
    repo: Path | None,
    base: str | None,
    new: str | None,
    ignore_revs_file: Path | None,
    label: str | None,
    at: str | None,
    cell: str | None,
    top: int | None,
    per_op: bool | None,
    width: int | None,
    ascii_only: bool,
    **forms: str | None,
) -> None:
    """Show which commits the executed instructions of a delta in SESSION belong to, by the lines
    that they added, changed or removed. SESSION defaults to the newest session in this folder.

    The rows add up to the delta exactly. What no commit's lines explain has rows of its own, such
    as lines that both kernels have and one executes more often. blame builds nothing: a commit
    named here is a suspect, not a culprit.
    """
    from profdiff.api.blamed import of_findings
    from profdiff.evidence.findings import LazyFindings

    recording, at = find(session, cell, at, ["session"])
    (only,) = recording.sessions().values()
    found = LazyFindings.of(only, at)
    if per_op and found.ops is None:
        refuse_per_op()
    made = of_findings(found.findings, repo, (base, new), label, ignore_revs_file)
    asked = ReportOptions(Selection(top=top), per_op, width, ascii_only)
    subject = Subject(recording, lambda: Blamed(made, found.findings), asked)
    write_forms(BLAME_FORMS, targets(BLAME_FORMS, forms) or {"text": "-"}, subject)
