"""Conditions judged on a session, on parts or on a suite."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from profdiff.base.errors import InputError, UndecidedError, told

if TYPE_CHECKING:
    from profdiff.checks.judging import Found
    from profdiff.evidence.conditions.condition import Condition, Judgement
    from profdiff.session.held import PartKind
    from profdiff.session.opened import Opened
    from profdiff.session.parts import Parts
    from profdiff.session.session import Session


def judged(
    recording: "Opened",
    conditions: "Sequence[Condition]",
    labels: Sequence[str],
    at: str | None = None,
) -> "list[Judgement]":
    """Every condition on the kernels ``labels``, or on all but the base: at one setting, or at all.
    Raises InputError for what cannot be asked, UndecidedError where the recording cannot tell."""
    from profdiff.checks.judging import judge
    from profdiff.checks.suite import judge_suite
    from profdiff.session.suite import Suite

    if isinstance(recording, Suite):
        with undecided_unless(InputError):
            return judge_suite(recording, conditions, labels)
    found, kind = _found(recording, at)
    with undecided_unless(InputError):
        return judge(found, conditions, labels, kind)


def _found(recording: "Session | Parts", at: str | None) -> "tuple[Found, PartKind]":
    """What was found at each point, by part, and what parts differ by. Raises InputError for a
    point that the session does not have, UndecidedError."""
    from profdiff.evidence.findings import Findings
    from profdiff.evidence.parts import PartsResults
    from profdiff.profile import session_facts
    from profdiff.session.state import compare_states

    with undecided_unless():
        sessions, kind = _sessions(recording)
        joint = PartsResults.gather(sessions, kind)
    chosen = [joint.choose(at)] if at else joint.settings
    found = {}
    with undecided_unless():
        for name, one in sessions.items():
            settings = [setting.parts[name] for setting in chosen if name in setting.parts]
            if not settings:
                raise UndecidedError(f"{name} does not have this point: finish the recording")
            results, facts = joint.parts[name], session_facts.read(one)
            state = compare_states(one, results.runs)
            found[name] = [Findings.unread(one, own, results, facts, state) for own in settings]
    return found, kind


def _sessions(recording: "Session | Parts") -> "tuple[dict[str, Session], PartKind]":
    """By part, "" where there is one only, and what parts differ by. Raises SessionError,
    UndecidedError."""
    from profdiff.session.held import ARCHITECTURE
    from profdiff.session.session import Session

    sessions = recording.sessions()
    if isinstance(recording, Session):
        return sessions, ARCHITECTURE
    for name in recording.names:
        if name not in sessions:
            raise UndecidedError(f"{name} has not been recorded yet: finish the recording")
    return sessions, recording.kind


@contextlib.contextmanager
def undecided_unless(*passed: type[Exception]) -> Iterator[None]:
    """What goes wrong in the block says nothing of the kernels, and ends with 125, unless it is one
    of ``passed``."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, GeneratorExit, *passed)):
            raise
        raise UndecidedError(told(error)) from error
