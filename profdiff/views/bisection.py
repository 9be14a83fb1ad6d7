"""What a bisection found: the record of ``--json``, and its sentences."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.condition import Condition
from profdiff.session import bisection as kept
from profdiff.views.record import Record
from profdiff.views.result import number

_DIGITS = 12
# Of what is shown in whole percent.
_LEAST = 0.005
_NAMED = 4


class Revision(Record, frozen=True):
    """A commit; ``value``: what was measured of it."""

    commit: str
    subject: str
    value: float | None


class Step(Record, frozen=True):
    """A further culprit; ``explained``: its fraction of good to bad; ``candidates``: all that can
    be it, where commits before it cannot be measured."""

    culprit: Revision
    parent: Revision
    explained: float | None
    candidates: list[Revision]


class Bisection(Record, frozen=True):
    """As the manifest has it (``docs/session.md``); ``sentences`` say it."""

    good: Revision
    bad: Revision
    parent: Revision
    culprit: Revision
    condition: str
    what: str
    revert: str
    undone: float | None
    explained: float | None
    tested: int
    taken_over: int
    skipped: int
    candidates: list[Revision]
    others: list[Step]
    sentences: list[str]


def bisection(found: kept.Bisection | None) -> Bisection | None:
    """None of a session that is no bisection's."""
    if found is None:
        return None
    return Bisection(
        good=_revision(found.good),
        bad=_revision(found.bad),
        parent=_revision(found.parent),
        culprit=_revision(found.culprit),
        condition=found.condition,
        what=found.what,
        revert=found.revert,
        undone=found.undone,
        explained=found.explained,
        tested=found.tested,
        taken_over=found.taken_over,
        skipped=found.skipped,
        candidates=[_revision(one) for one in found.candidates],
        others=[
            Step(
                culprit=_revision(one.culprit),
                parent=_revision(one.parent),
                explained=one.explained,
                candidates=[_revision(each) for each in one.candidates],
            )
            for one in found.others
        ],
        sentences=sentences(found),
    )


def sentences(found: kept.Bisection) -> list[str]:
    """First the culprit, then what the revert shows, what else there is, and how it was found."""
    return [
        *_culprit(found),
        *_reverted(found),
        *_others(found),
        _how(found),
    ]


def cited(one: kept.Revision | Revision) -> str:
    """A commit as kernel mails cite it, and as Fixes: has it."""
    return f'{one.commit[:_DIGITS]} ("{units.printable(one.subject)}")'


def improves(found: kept.Bisection) -> bool:
    """Whether what was looked for is a change for the better."""
    before, after = found.parent.value, found.culprit.value
    if before is not None and after is not None and after < before:
        return True
    try:
        return Condition.parse(found.condition).operator in ("<", "<=")
    except InputError:  # of another profdiff
        return False


def fixes(found: kept.Bisection | None) -> str | None:
    """What ``Fixes:`` says, None where no single commit was found, or nothing is to be fixed: the
    revert does not help, or the commit made it better."""
    if found is None or found.candidates or found.revert == "not" or improves(found):
        return None
    return cited(found.culprit)


def introduced(found: kept.Bisection) -> str:
    """What ``#regzbot introduced:`` says: the culprit, or the range in which it is. Raises
    InputError where that introduced no regression."""
    culprit = found.culprit.commit[:_DIGITS]
    if found.revert == "not":
        raise InputError(
            f"--regzbot-introduced: to revert {culprit} does not undo the regression: give what "
            "introduced it with --regzbot 'introduced: COMMIT'"
        )
    if improves(found):
        raise InputError(
            f"--regzbot-introduced: {culprit} made it better: there is no regression to track"
        )
    return f"{found.parent.commit[:_DIGITS]}..{culprit}" if found.candidates else culprit


def _culprit(found: kept.Bisection) -> Sequence[str]:
    first = "first bad commit"
    if improves(found):
        first = f"first commit where {found.condition} holds"
    step = ""
    if found.parent.value is not None and found.culprit.value is not None:
        change = units.change(found.parent.value, found.culprit.value)
        step = f", {number(found.parent.value)} to {number(found.culprit.value)} ({change})"
    if found.candidates:
        return [f"The {first} is {_one_of(found.candidates)}; {found.what}{step}."]
    told = ""
    if found.explained is not None:
        told = f": {units.percent(found.explained, '.0f')} of the change from good to bad"
    return [f"The {first} is {cited(found.culprit)}, {found.what}{step}{told}."]


def _one_of(candidates: Sequence[kept.Revision]) -> str:
    """Several commits, the last of them in any case."""
    *some, last = map(cited, candidates)
    named = [*some[: _NAMED - 1], last]
    more = f", {len(some) + 1 - _NAMED} more" if len(some) >= _NAMED else ""
    return (
        f"one of {len(candidates)}, of which only the last can be measured: "
        f"{', '.join(named[:-1])}{more} and {last}"
    )


def _reverted(found: kept.Bisection) -> Sequence[str]:
    undone = ""
    if found.undone is not None:
        # Not -0%.
        part = 0 if abs(found.undone) < _LEAST else found.undone
        undone = f" {units.percent(part, '.0f')} of it"
    match found.revert:
        case "partly" if found.undone is not None and found.undone > 1:
            return [f"Partly confirmed: to revert it on top of bad undoes more,{undone}."]
        case "confirmed":
            return [f"Confirmed: to revert it on top of bad undoes{undone or ' it'}."]
        case "partly":
            return [f"Partly confirmed: to revert it on top of bad undoes only{undone}."]
        case "not":
            return [f"Not confirmed: to revert it on top of bad undoes{undone or ' nothing'}."]
        case "does not apply":
            return ["Not confirmed: the commit does not revert cleanly on top of bad."]
        case "does not build":
            return ["Not confirmed: with the commit reverted, bad does not build."]
    return []


def _others(found: kept.Bisection) -> Sequence[str]:
    told = []
    for one in found.others:
        share = ""
        if one.explained is not None:
            share = f", {units.percent(one.explained, '.0f')} of the change"
        which = _one_of(one.candidates) if one.candidates else cited(one.culprit)
        told.append(f"A further step is {which}{share}.")
    if found.all_above is not None:
        above = units.percent(found.all_above, "g")
        told.append(
            f"No other step above {above} was found between {found.good.commit[:_DIGITS]} and "
            f"{found.bad.commit[:_DIGITS]}; steps that cancel each other are not seen."
        )
    elif found.explained is not None and found.explained < 0.9:
        told.append("It is not all of the change: bisect --all finds the other steps.")
    return told


def _how(found: kept.Bisection) -> str:
    counts = [f"{found.tested} revision{'' if found.tested == 1 else 's'} measured"]
    if found.taken_over:
        counts.append(f"{found.taken_over} not booted, as their executed code is that of another")
    if found.skipped:
        counts.append(f"{found.skipped} skipped, as they do not build or run, or do not tell")
    ends = f"good {found.good.commit[:_DIGITS]}, bad {found.bad.commit[:_DIGITS]}"
    return f"Bisected with {ends}, bad where {found.condition}: {', '.join(counts)}."


def _revision(one: kept.Revision) -> Revision:
    return Revision(commit=one.commit, subject=one.subject, value=one.value)
