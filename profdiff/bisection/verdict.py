"""Whether a revision is bad: a condition of ``profdiff check`` against the good one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.bisection.git_bisect import Mark
from profdiff.checks.judging import judge
from profdiff.checks.names import LINES, SIZE
from profdiff.evidence.conditions.condition import (
    WITHOUT_BOUND,
    Condition,
    Judgement,
    Outcome,
)
from profdiff.evidence.findings import Findings, choose
from profdiff.session import manifest as m
from profdiff.session.bisection import of_ops
from profdiff.session.points import settings
from profdiff.session.session import Session

_MARKS: dict[Outcome, Mark] = {"holds": "bad", "does not hold": "good", "inconclusive": "skip"}


@dataclass(frozen=True)
class Verdict:
    """``number``: what was measured, in the unit of the condition; None where it is none.
    ``reason``: why ``mark`` is skip."""

    mark: Mark
    number: float | None
    reason: str = ""


@dataclass(frozen=True)
class Judge:
    """``good`` and ``bad``: labels, measured in ``session``."""

    session: Session
    good: str
    bad: str
    condition: Condition

    @staticmethod
    def of(session: Session, good: str, bad: str, condition: Condition | None) -> "Judge":
        """By ``condition``, or by the middle between good and bad. Raises InputError where that
        does not tell them apart."""
        if condition is None:
            total = Condition(INSTRUCTIONS.name, "total", False, ">", 0, "")
            change = _judged(session, [good, bad], total, bad).change
            if change.base == change.other:
                raise InputError(
                    f"good and bad execute the same number of instructions, {change.base:,.0f}: "
                    "there is nothing to look for; to search for one function, add --when "
                    "'instructions:FUNCTION > +5%'"
                )
            middle = (change.other - change.base) / 2
            if middle < 0:
                raise InputError(
                    f"good executes more instructions than bad, {change.base:,.0f} and "
                    f"{change.other:,.0f}: to find what made it faster, add --when "
                    f"'instructions < {middle:.0f}'"
                )
            condition = Condition(INSTRUCTIONS.name, "total", False, ">", middle, "")
        made = Judge(session, good, bad, condition)
        verdict = made.verdict(bad)
        if verdict.mark != "bad":
            base = made.number(good)
            told = ""
            if base is not None and verdict.number is not None:
                ends = units.digits(base), units.digits(verdict.number)
                told = f" (good {ends[0]}, bad {ends[1]})"
            raise InputError(
                f"{condition} does not tell good from bad: for bad it "
                f"{verdict.reason or 'does not hold'}{told}"
            )
        return made

    @property
    def what(self) -> str:
        """Which number the condition is about."""
        one = self.condition
        return f"{one.metric}:{'total:' if one.inclusive else ''}{one.what}"

    def lengths(self) -> tuple[int | None, int | None]:
        """How many operations the numbers cover, None where that is unknown or they cover one;
        and the operations of the longer run, where a shorter one is subtracted."""
        setting = settings(self.session.manifest)[0]
        of_code = self.condition.metric in (SIZE, LINES)
        if self.condition.unit == "/op" or of_code or setting.ops is None:
            return None, None
        longer = self.session.manifest.points[setting.point].ops
        return setting.ops, None if setting.short is None else longer

    def ends(self) -> str:
        """What was measured of good and bad, in one line; "" where that is not a number."""
        numbers = self.number(self.good), self.number(self.bad)
        if numbers[0] is None or numbers[1] is None or self.condition.operator in WITHOUT_BOUND:
            return ""
        told = " ".join(filter(None, (self.what, of_ops(*self.lengths()))))
        return f"good has {units.digits(numbers[0])}, bad {units.digits(numbers[1])}: {told}"

    def verdict(self, label: str) -> Verdict:
        """The verdict on a kernel with a result. Raises InputError, SessionError."""
        if label == self.good:
            return Verdict("good", self.number(label))
        judged = self._judged(label)
        if self._lacks(label, judged):
            reason = f"does not execute {self.condition.what}, as good and bad do"
            return Verdict("skip", None, reason)
        mark = _MARKS[judged.outcome]
        reason = f"is inconclusive: {judged.change.undecided}" if mark == "skip" else ""
        return Verdict(mark, _number(judged.change.other), reason)

    def _lacks(self, label: str, judged: Judgement) -> bool:
        """Whether a kernel has nothing of the function that good and bad execute: it has another
        name there, or does not exist, and 0 would not be what that costs."""
        one = self.condition
        if not one.function or one.operator in WITHOUT_BOUND or judged.change.of_row:
            return False
        if label == self.bad or judged.change.other:
            return False
        executed = replace(one, metric=INSTRUCTIONS.name, operator=">", bound=0.0, unit="")
        ends, own = (self._judged(each, executed).change for each in (self.bad, label))
        return bool(ends.base and ends.other and not own.other)

    def number(self, label: str) -> float | None:
        """What was measured of a kernel."""
        change = self._judged(self.bad if label == self.good else label).change
        return _number(change.base if label == self.good else change.other)

    def _judged(self, label: str, condition: Condition | None = None) -> Judgement:
        # With bad, so that what only that executes is known.
        labels = dict.fromkeys([self.good, self.bad, label])
        return _judged(self.session, list(labels), condition or self.condition, label)


def only(session: Session, labels: Sequence[str]) -> Session:
    """A session as if it had no kernels but ``labels``."""
    manifest = session.manifest
    few = m.replace(
        manifest,
        kernels=[session.kernel(label) for label in labels],
        runs=[run for run in manifest.runs if run.kernel in labels],
    )
    return Session(session.folder, few)


def _judged(session: Session, labels: list[str], condition: Condition, label: str) -> Judgement:
    """Judge a session as if it had only ``labels``."""
    view = only(session, labels)
    found = Findings.unread(view, choose(view.manifest, None))
    (judged,) = judge({"": [found]}, [condition], [label])
    return judged


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
