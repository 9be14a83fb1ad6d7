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
from profdiff.commands.output import form_options, targets, with_options, write_forms
from profdiff.commands.recording import CELL, SESSION, find, works_on
from profdiff.reports.checks.forms import FORMS
from profdiff.reports.form import Subject

if TYPE_CHECKING:
    from profdiff.evidence.conditions.judging import Found
    from profdiff.session.kinds import PartKind
    from profdiff.session.parts import Parts
    from profdiff.session.session import Session


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
    "function calls, 'instructions:total:do_mprotect_pkey > +5%'. With exact counts, METRIC can be "
    "a class of instructions ('locked:change_pte_range > +0'); 'size:FUNCTION > +10%' and "
    "'inlined:FUNCTION changed' guard a function's code; 'loads:TYPE.FIELD > +0', "
    "'stores:TYPE > +2%', 'layout:TYPE.FIELD moved' and 'lines:TYPE > +0' guard what data "
    "kernels access, and where that lies; 'transfers:TYPE.FIELD > +0' and 'misses > +2%' guard "
    "cache lines that change hands between vCPUs. Can be repeated.",
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
    help="Check only this point of the sweep.  [default: all points]",
)
@CELL
@partial(with_options, form_options(FORMS))
def check(
    session: Path | None,
    texts: tuple[str, ...],
    labels: tuple[str, ...],
    at: str | None,
    cell: str | None,
    **forms: str | None,
) -> int:
    """Check conditions on the changes in SESSION relative to the base. SESSION defaults to the
    newest session in this folder. With several architectures or compilers, check judges each one
    separately; for a suite, it judges each cell, and a cell that a kernel lacks is not a change.

    Exit status: 0, no condition holds; 1, a condition holds; 125, inconclusive, or the session
    cannot be read (git bisect run skips the commit); 2, usage error.
    """
    with _undecided_unless(ProfdiffError):
        from profdiff.evidence.conditions.condition import Condition, exit_status
        from profdiff.evidence.conditions.judging import judge
        from profdiff.evidence.suite.judging import judge_suite
        from profdiff.reports.checks import judgements
        from profdiff.session.suite import Suite

        conditions = [Condition.parse(text) for text in texts]
        with _undecided_unless(InputError):
            recording, at = find(session, cell, at)
            whole = isinstance(recording, Suite)
            if isinstance(recording, Suite):
                judged = judge_suite(recording, conditions, labels)
        if not isinstance(recording, Suite):
            found, kind = _found(recording, at)
            judged = judge(found, conditions, labels, kind)
        for one in judged:
            if whole and one.outcome == "does not hold":
                continue
            say(f"{judgements.VERDICTS[one.outcome]}: {one.condition}")
            say(f"  {judgements.sentence(one)}")
        if whole:
            passed = sum(one.outcome == "does not hold" for one in judged)
            say(f"{passed:,} of {len(judged):,} pass")
        write_forms(FORMS, targets(FORMS, forms), Subject(recording, lambda: judged))
        return exit_status(judged)


def _found(recording: "Session | Parts", at: str | None) -> "tuple[Found, PartKind]":
    """What was found at each point, by part, and what parts differ by. Raises InputError for a
    point that the session does not have, UndecidedError."""
    from profdiff.evidence.findings import Findings
    from profdiff.evidence.parts.results import PartsResults
    from profdiff.profile import session_facts
    from profdiff.session.state import compare_states

    with _undecided_unless():
        sessions, kind = _sessions(recording)
        joint = PartsResults.gather(sessions, kind)
    chosen = [joint.choose(at)] if at else joint.settings
    found = {}
    with _undecided_unless():
        for name, one in sessions.items():
            settings = [setting.parts[name] for setting in chosen if name in setting.parts]
            if not settings:
                raise UndecidedError(f"{name} does not have this point: finish the recording")
            results, facts = joint.parts[name], session_facts.read(one)
            state = compare_states(one, results.runs)
            found[name] = [Findings.of(one, own, results, facts, state) for own in settings]
    return found, kind


def _sessions(recording: "Session | Parts") -> "tuple[dict[str, Session], PartKind]":
    """By part, "" where there is one only, and what parts differ by. Raises SessionError,
    UndecidedError."""
    from profdiff.session.kinds import ARCHITECTURE
    from profdiff.session.session import Session

    sessions = recording.sessions()
    if isinstance(recording, Session):
        return sessions, ARCHITECTURE
    for name in recording.names:
        if name not in sessions:
            raise UndecidedError(f"{name} was not recorded yet: finish the recording")
    return sessions, recording.kind


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
