"""``profdiff check``: does a session show what must not be? For scripts, CI, and git bisect run."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base.errors import InputError, ProfdiffError, UndecidedError, told
from profdiff.base.terminal import say
from profdiff.commands import complete
from profdiff.commands.newest import newest
from profdiff.commands.output import SESSION, form_options, targets, with_options, write_forms
from profdiff.reports.forms import CHECK_FORMS

if TYPE_CHECKING:
    from profdiff.evidence.condition import Condition, Judgement
    from profdiff.evidence.findings import Findings


@click.command()
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
    "function calls, 'instructions:total:do_mprotect_pkey > +5%'. Of exact counts, METRIC can be a "
    "class of instructions ('locked:change_pte_range > +0'); 'size:FUNCTION > +10%' and "
    "'inlined:FUNCTION changed' guard a function's code. Can be repeated.",
)
@click.option(
    "--kernel",
    "labels",
    multiple=True,
    metavar="LABEL",
    shell_complete=complete.labels,
    help="Check only this kernel. Can be repeated.",
)
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    help="Check only this point of the sweep.  [default: all points]",
)
@partial(with_options, form_options(CHECK_FORMS))
def check(
    session: Path | None,
    texts: tuple[str, ...],
    labels: tuple[str, ...],
    at: str | None,
    **forms: str | None,
) -> int:
    """Check conditions on the changes in SESSION relative to the base. SESSION defaults to the
    newest session in this folder.

    Exit status: 0, no condition holds; 1, a condition holds; 125, inconclusive, or the session
    cannot be read (git bisect run skips the commit); 2, usage error.
    """
    with _undecided_unless(ProfdiffError):
        from profdiff.evidence.condition import Condition, exit_status
        from profdiff.evidence.findings import Findings, choose
        from profdiff.evidence.results import Results
        from profdiff.profile import session_facts
        from profdiff.reports import judgements
        from profdiff.session import points
        from profdiff.session.folder import Session
        from profdiff.session.state import compare_states

        conditions = [Condition.parse(text) for text in texts]
        with _undecided_unless():
            opened = Session.open(session or newest(Path()))
        chosen = [choose(opened.manifest, at)] if at else points.settings(opened.manifest)
        with _undecided_unless():
            results, facts = Results.gather(opened.manifest), session_facts.read(opened)
            state = compare_states(opened, results.runs)
            found = [Findings.of(opened, setting, results, facts, state) for setting in chosen]
        judged = _judge(found, conditions, labels)
        for one in judged:
            say(f"{judgements.VERDICTS[one.outcome]}: {one.condition}")
            say(f"  {judgements.sentence(one)}")
        write_forms(CHECK_FORMS, targets(CHECK_FORMS, forms), judged)
        return exit_status(judged)


@contextlib.contextmanager
def _undecided_unless(*passed: type[Exception]) -> Iterator[None]:
    """What goes wrong in the block says nothing of the kernels, and ends with 125, unless it is one
    of ``passed``."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, GeneratorExit, *passed)):
            raise
        raise UndecidedError(told(error)) from error


def _judge(
    found: "list[Findings]", conditions: "list[Condition]", labels: tuple[str, ...]
) -> "list[Judgement]":
    """Raises InputError for names that nothing has."""
    from profdiff.evidence import measured_change
    from profdiff.evidence.code_change import CodeChanges
    from profdiff.evidence.condition import Judgement
    from profdiff.evidence.condition_names import CODE, check_names

    metrics = measured_change.metric_names(found)
    functions = {name for one in found for name in measured_change.function_names(one)}
    known = [kernel.label for kernel in found[0].results.kernels][1:]
    for label in labels:
        if label not in known:
            raise InputError(f"--kernel {label}: the session compares {', '.join(known)}")
    judged = []
    by_setting = [CodeChanges(one) for one in found]
    for condition in conditions:
        code = condition.metric in CODE and condition.metric not in metrics
        names = {name for one in by_setting for name in one.names()} if code else set()
        check_names(condition, metrics, functions, names)
        changes = (
            change
            for one, of_code in zip(found, by_setting, strict=True)
            for change in (
                of_code.changes(condition) if code else measured_change.changes(one, condition)
            )
        )
        mine = [
            Judgement(condition, change, condition.judge(change))
            for change in changes
            if not labels or change.kernel in labels
        ]
        if not mine:
            raise InputError(
                f"{condition}: not measured on "
                f"{', '.join(labels or known) or 'any kernel but the base'}"
            )
        judged += mine
    return judged
