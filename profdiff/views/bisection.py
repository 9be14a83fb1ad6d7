"""What a bisection found: the record of ``--json``, and its sentences."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.session import bisection as kept
from profdiff.views.record import Record

_DIGITS = 12
# The precision of what is shown in whole percent.
_LEAST = 0.005
# A part of the change from good to bad: a step that is nearly as large explains it.
_ALL = 0.1
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
    skipped: int
    candidates: list[Revision]
    others: list[Step]
    reverted: Revision | None
    ops: int | None
    longer: int | None
    sentences: list[str]


def bisection(found: kept.Bisection | None) -> Bisection | None:
    """None for a session that is not a bisection's."""
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
        skipped=found.skipped,
        candidates=[_revision(candidate) for candidate in found.candidates],
        others=[
            Step(
                culprit=_revision(other.culprit),
                parent=_revision(other.parent),
                explained=other.explained,
                candidates=[_revision(each) for each in other.candidates],
            )
            for other in found.others
        ],
        reverted=_revision(found.reverted) if found.reverted else None,
        ops=found.ops,
        longer=found.longer,
        sentences=sentences(found),
    )


def sentences(found: kept.Bisection) -> list[str]:
    """First the culprit, then what it is of the whole change, what the revert shows, what else
    there is, and how it was found."""
    return [
        _culprit(found),
        *_explained(found),
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
        from profdiff.evidence.conditions.condition import Condition

        return Condition.parse(found.condition).operator in ("<", "<=")
    except InputError:  # of another profdiff
        return False


def fixes(found: kept.Bisection | None) -> str | None:
    """What ``Fixes:`` says, None where no single commit was found, or nothing is to be fixed: the
    revert does not help, or the commit made it better. Among several candidates, it is the one that
    the revert confirms."""
    if found is None or found.revert == "not" or improves(found):
        return None
    if found.candidates:
        return cited(found.reverted) if found.reverted and found.revert == "confirmed" else None
    return cited(found.culprit)


def introduced(found: kept.Bisection) -> str:
    """What ``#regzbot introduced:`` says: the culprit, or the range in which it is. Raises
    InputError where that introduced no regression."""
    culprit = found.culprit.commit[:_DIGITS]
    if found.revert == "not":
        raise InputError(
            f"--regzbot-introduced: reverting {culprit} does not undo the regression: give what "
            "introduced it with --regzbot 'introduced: COMMIT'"
        )
    if improves(found):
        raise InputError(
            f"--regzbot-introduced: {culprit} made it better: there is no regression to track"
        )
    if not found.candidates:
        return culprit
    if found.reverted and found.revert == "confirmed":
        return found.reverted.commit[:_DIGITS]
    return f"{found.parent.commit[:_DIGITS]}..{culprit}"


def _culprit(found: kept.Bisection) -> str:
    first = "first bad commit"
    if improves(found):
        first = f"first commit where {found.condition} holds"
    step = ""
    if found.parent.value is not None and found.culprit.value is not None:
        change = units.change(found.parent.value, found.culprit.value)
        both = f"{units.digits(found.parent.value)} to {units.digits(found.culprit.value)}"
        step = f", {both} ({change})"
        if found.ops:
            size = _size(found, found.culprit.value - found.parent.value)
            step = f", {both} {found.whole}: {size} ({change})"
    if found.candidates:
        return f"The {first} is {_one_of(found.candidates)}; {found.what}{step}."
    return f"The {first} is {cited(found.culprit)}, {found.what}{step}."


def _size(found: kept.Bisection, value: float) -> str:
    """A difference with its sign, per op where ops are known."""
    if found.ops:
        return f"{units.delta(value / found.ops, per_op=True)} per op"
    return f"{'-' if value < 0 else '+'}{units.digits(abs(value))}"


def _explained(found: kept.Bisection) -> Sequence[str]:
    """What the step is of the change from good to bad, and what others do beside it."""
    values = [one.value for one in (found.good, found.bad, found.parent, found.culprit)]
    good, bad, parent, culprit = (value or 0 for value in values)
    if found.explained is None or None in values:
        return []
    rest = (bad - good) - (culprit - parent)
    whole = f"{_size(found, bad - good)} ({units.digits(good)} to {units.digits(bad)})"
    if abs(found.explained - 1) < _LEAST:
        return ["This step is the whole change from good to bad."]
    said = []
    if 0 < found.explained < 1:
        said.append(f"this step is {units.percent(found.explained, '.0f')} of it")
    does = "add" if rest > 0 else "take away"
    said.append(f"other commits {does} {_size(found, abs(rest)).removeprefix('+')}")
    return [f"From good to bad, the change is {whole}: {', '.join(said)}."]


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
    undone = "the change"
    if found.undone is not None:
        # Not -0%.
        part = 0 if abs(found.undone) < _LEAST else found.undone
        undone = f"{units.percent(part, '.0f')} of the change"
        undone = "the whole change" if abs(part - 1) < _LEAST else undone
    one = cited(found.reverted) if found.reverted else "it"
    reverting = f"reverting {one} on bad undoes"
    commit = "none of them reverts" if found.candidates else "the commit does not revert"
    reverted = "one of them" if found.candidates else "the commit"
    match found.revert:
        case "partly" if found.undone is not None and found.undone > 1:
            return [f"Partly confirmed: {reverting} more than the change: {undone}."]
        case "confirmed":
            return [f"Confirmed: {reverting} {undone}."]
        case "partly":
            return [f"Partly confirmed: {reverting} only {undone}."]
        case "not":
            undone = "nothing" if found.undone is None else undone
            return [f"Not confirmed: {reverting} {undone}."]
        case "does not apply":
            return [f"Not confirmed: {commit} cleanly on bad."]
        case "does not build":
            return [f"Not confirmed: with {reverted} reverted, bad does not build."]
    return []


def _others(found: kept.Bisection) -> Sequence[str]:
    told = []
    for other in found.others:
        share = ""
        if other.explained is not None and 0 <= other.explained < 1 + _LEAST:
            share = f", {units.percent(other.explained, '.0f')} of the change"
        elif other.culprit.value is not None and other.parent.value is not None:
            share = f", {_size(found, other.culprit.value - other.parent.value)}"
        which = _one_of(other.candidates) if other.candidates else cited(other.culprit)
        told.append(f"A further step is {which}{share}.")
    if found.all_above is not None:
        above = units.percent(found.all_above, "g")
        told.append(
            f"No other step above {above} was found between {found.good.commit[:_DIGITS]} and "
            f"{found.bad.commit[:_DIGITS]}; steps that cancel each other are not seen."
        )
    elif found.explained is not None and abs(found.explained - 1) > _ALL:
        told.append("This step is not the whole change: bisect --all finds the others.")
    return told


def _how(found: kept.Bisection) -> str:
    counts = [f"{units.counted(found.tested, 'revision')} measured"]
    if found.skipped:
        counts.append(f"{found.skipped} skipped (not built, not run, or undecided)")
    ends = f"good {found.good.commit[:_DIGITS]} and bad {found.bad.commit[:_DIGITS]}"
    return f"Bisected between {ends}; bad means {found.condition}. {', '.join(counts)}."


def _revision(one: kept.Revision) -> Revision:
    return Revision(commit=one.commit, subject=one.subject, value=one.value)
