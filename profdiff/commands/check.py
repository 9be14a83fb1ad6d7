"""``profdiff check``: does a session show what must not be? For scripts, CI, and git bisect run."""

from functools import partial
from pathlib import Path

import click

from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.terminal import say
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import form_options, targets, with_options, write_forms
from profdiff.commands.recording import CELL, SESSION, find, works_on
from profdiff.reports.command_forms import CHECK_FORMS
from profdiff.reports.form import Subject


@command()
@SESSION
@click.option(
    "--fail-if",
    "texts",
    multiple=True,
    required=True,
    metavar="CONDITION",
    shell_complete=complete.conditions,
    help="Fail if METRIC[:total|kernel|user|FUNCTION|total:FUNCTION] OPERATOR BOUND holds, for "
    "example 'instructions > +2%', 'instructions:change_pte_range > +3/op' or, with all that the "
    "function calls, 'instructions:total:do_mprotect_pkey > +5%'. With exact counts, METRIC can be "
    "an item of the inventory ('locked:change_pte_range > +0'); 'size:FUNCTION > +10%' and "
    "'inlined:FUNCTION changed' guard a function's code; 'loads:TYPE.FIELD > +0', "
    "'stores:TYPE > +2%', 'layout:TYPE.FIELD moved' and 'lines:TYPE > +0' guard what data "
    "kernels access, and where that lies; 'transfers:TYPE.FIELD > +0' and 'misses > +2%' guard "
    "cache lines that change hands between vCPUs; 'TABLE:ROW > +0' guards any row of a table "
    "that 'profdiff report topics' lists. --history sets the bound of 'METRIC > history'. Can be "
    "repeated.",
)
@click.option(
    "--acknowledge",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Pass changes that are within the bounds of an entry of this TOML file: [[known]] with "
    "change, bounds and reason, and perhaps cell, at, kernel and until.",
)
@click.option(
    "--history",
    metavar="ATLAS",
    type=click.Path(path_type=Path),
    help="Bound 'METRIC > history' by how far each cell moved from release to release in this "
    "folder of profdiff atlas, or its index.json.",
)
@click.option(
    "--kernel",
    "labels",
    multiple=True,
    metavar="LABEL",
    shell_complete=complete.labels,
    help="Check only this kernel. Can be repeated.",
)
@works_on(
    "--at",
    held=("session", "parts"),
    metavar="NAME=VALUE,...",
    shell_complete=complete.points,
    help="Check only this point of the sweep.  [default: all points]",
)
@CELL
@partial(with_options, form_options(CHECK_FORMS))
def check(
    session: Path | None,
    texts: tuple[str, ...],
    labels: tuple[str, ...],
    at: str | None,
    cell: str | None,
    acknowledge: Path | None,
    history: Path | None,
    **forms: str | None,
) -> int:
    """Check conditions on the changes in SESSION relative to the base. SESSION defaults to the
    newest session in this folder. With several architectures or compilers, check judges each one
    separately; for a suite, it judges each cell, and a cell that a kernel lacks is not a change.

    Exit status: 0, no condition holds, or only for acknowledged changes; 1, a condition
    holds; 125, inconclusive, or the session cannot be read (git bisect run skips the commit); 2,
    usage error.
    """
    from profdiff.api.judged import CheckRequest, checked, undecided_unless

    with undecided_unless(ProfdiffError):
        from profdiff.evidence.conditions.condition import exit_status
        from profdiff.views.rows import judgements

        request = CheckRequest.of(texts, acknowledge, history)
        with undecided_unless(InputError):
            recording, at = find(session, cell, at)
        found = checked(recording, request, labels, at)
        say(judgements.told(found, suite=recording.held == "suite").removesuffix("\n"))
        write_forms(CHECK_FORMS, targets(CHECK_FORMS, forms), Subject(recording, lambda: found))
        return exit_status(found.judgements)
