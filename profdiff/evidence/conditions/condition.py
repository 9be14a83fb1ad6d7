"""Conditions on what changed: ``instructions:change_pte_range > +5%``.

A condition is ``METRIC[:WHAT] OPERATOR BOUND``. METRIC as reports name it, `cycles:u` too. WHAT:
``total`` (default), ``kernel``, ``user``, a function, or ``total:FUNCTION``, with what it calls.
A name with blanks, colons or any of ``<>=!``, and a function that is called like another WHAT,
stands in double quotes. OPERATOR: one of ``> >= < <=``. BOUND, with its sign: ``+2%`` of the base,
``+1000``, or ``+3.5/op``; or ``history``, which stands for one of each cell.

METRIC can be a table of a topic, too, and WHAT one of its rows: ``events:page-faults``,
``idle-times:clock``, ``idle-paths.times:schedule`` where the table has several counts. WHAT of
``loads`` and ``stores``, ``transfers`` and ``misses`` is TYPE, TYPE.FIELD, or a variable.

It can be a class of instructions (``locked:change_pte_range > +0``), or ``size``, of a function's
code in bytes; ``inlined:FUNCTION changed`` asks whether only one side inlines it.
``layout:TYPE.FIELD moved`` asks whether the field lies in another line of the cache, and
``lines:TYPE`` is how many lines the accessed fields lie in.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.base.errors import InputError
from profdiff.evidence.difference import Difference

Outcome = Literal["holds", "does not hold", "inconclusive"]
Unit = Literal["%", "/op", ""]

EXAMPLE = "'instructions:total > +2%'"
_LONGEST = 1000
SIDES = ("total", "kernel", "user")
_OPERATORS = (">=", "<=", ">", "<")
TOO_FEW = "too few runs to tell"
#: For conditions that have no bound: whether two sides differ at all, and whether a field lies
#: elsewhere.
CHANGED, MOVED = "changed", "moved"
WITHOUT_BOUND = (CHANGED, MOVED)
#: The bound that each cell's own history sets.
HISTORY = "history"
# A modifier of perf belongs to the metric: `cycles:u`.
_PLAIN = r'[^\s:<>=!"]+'
_NAMES = re.compile(
    rf'\s*(?P<metric>"[^"]+"|{_PLAIN}(?::[ukhGHI]{{1,6}}(?=\s*(?:[:<>=!]|\Z)))?)'
    rf'(?:\s*:\s*(?:(?P<inclusive>total)\s*:\s*)?(?P<what>"[^"]+"|{_PLAIN}))?\s*'
)
_BOUND = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(?P<unit>.*)"
)


class MeasuredChange(msgspec.Struct, frozen=True):
    """What was measured of one METRIC:WHAT on ``kernel`` against the base, ``at`` a point of the
    sweep ("" where there is one only).

    ``base`` and ``other``: per op for a bound per op, whole counts for a bound that is a plain
    number, either for one in percent. ``low`` and ``high``: the interval of the relative change,
    as fractions of the base; where counts are exact both (other - base) / base; NaN where there is
    none, as of a base of nothing. ``difference``: the interval of other - base, where it is known
    by itself. ``decided``: whether there was enough to tell anything, or else why not:
    ``undecided``.
    ``differs``: for a condition without a bound, whether base and other do; None if unknown.
    ``note``: what a reader must know of it. ``part``: ``arm64``, or a suite's cell, "" where
    there is one only; ``word``: what stands before it in a sentence.
    ``ops``: what whole counts are to be divided by to be shown, as reports show them; ``unit``: of
    what is measured, "" where nobody said it. ``of_row``: whether it is about a row of a table or a
    type, not a metric or a function; ``absent``: whether no kernel has that; ``one_run``: whether
    it is of one run of each kernel in the plain state, and nothing in it tells whether others are
    alike. ``each``: ``base`` and ``other`` with each iteration of repeated string instructions
    counted, where the change is another one then; None where it is not, or is known not to be.
    """

    kernel: str
    base: float
    other: float
    low: float
    high: float
    decided: bool = True
    note: str = ""
    at: str = ""
    difference: tuple[float, float] | None = None
    differs: bool | None = None
    undecided: str = TOO_FEW
    part: str = ""
    word: str = "on"
    ops: int | None = None
    unit: str = ""
    absent: bool = False
    of_row: bool = False
    one_run: bool = False
    each: tuple[float, float] | None = None

    @staticmethod
    def of_ends(
        kernel: str, base: float, other: float, ends: tuple[float, float], **more: Any
    ) -> "MeasuredChange":
        """``ends``: of other - base. ``more``: other members."""
        low, high = (end / base if base else math.nan for end in ends)
        return MeasuredChange(kernel, base, other, low, high, difference=ends, **more)

    @staticmethod
    def unknown(kernel: str, why: str, **more: Any) -> "MeasuredChange":
        """A change of which nothing is known."""
        nothing = (math.nan,) * 4
        return MeasuredChange(kernel, *nothing, decided=False, undecided=why, **more)

    @staticmethod
    def of_difference(
        kernel: str,
        condition: "Condition",
        counts: Sequence[int],
        difference: Difference,
        ops: Sequence[int] | int | None,
        **more: Any,
    ) -> "MeasuredChange":
        """What a row of a table has, in the unit of a condition. ``counts``: the base's, and the
        kernel's. ``ops``: their operations, of both, or of each; then the difference is per op.
        ``more``: other members; the change is undecided where that says why."""
        values, whole = (*counts, difference.low, difference.high), condition.unit != "/op"
        if isinstance(ops, Sequence):
            factor = ops[0] if whole else 1
            pairs = zip(values, (*ops, 1, 1), strict=True)
            base, other, low, high = (value / each * factor for value, each in pairs)
            ops = ops[0]
        else:
            by = 1 if whole else ops or 1
            base, other, low, high = (value / by for value in values)
        shown = (ops or None) if condition.unit == "%" else None
        more = {"decided": not more.get("undecided"), "ops": shown, "of_row": True, **more}
        return MeasuredChange.of_ends(kernel, base, other, (low, high), **more)

    @property
    def where(self) -> str:
        """Kernel, part and point."""
        on = f" {self.word} {self.part}" if self.part else ""
        return f"{self.kernel}{on}{f' at {self.at}' if self.at else ''}"


class Condition(msgspec.Struct, frozen=True):
    """``bound`` in ``unit``: a fraction of the base for ``%``; a change per op, or of the whole.
    ``function``: whether ``what`` is the name of a function or of data, or else total, kernel or
    user; ``inclusive``: with what the function calls. ``operator`` is one of ``WITHOUT_BOUND``
    where there is no bound. ``historic``: the bound is ``HISTORY``, a fraction of the base that is
    to be put in its place for each cell."""

    metric: str
    what: str
    function: bool
    operator: str
    bound: float
    unit: Unit
    inclusive: bool = False
    historic: bool = False

    @staticmethod
    def parse(text: str, *, historic: bool = False) -> "Condition":
        """The condition that ``text`` states. Raises InputError, and for the bound ``HISTORY`` too
        unless that is known (``historic``)."""
        if len(text) > _LONGEST:
            raise InputError(f"a condition has at most {_LONGEST} characters, this one {len(text)}")
        if not text.isprintable():
            raise InputError(f"condition {text!r} has a control character")
        if text.count('"') % 2:
            raise InputError(f"condition {text!r} has an unclosed double quote")
        names = _NAMES.match(text)
        if names is None:
            raise InputError(f"condition {text!r} has no metric: write it like {EXAMPLE}")
        rest = text[names.end() :].strip()
        if rest.startswith(":"):
            raise InputError(
                f"condition {text!r} has a colon in a name: write the name in double quotes"
            )
        operator = _operator(text, rest)
        written = rest[len(operator) :].strip()
        if written == HISTORY and not historic:
            raise InputError(
                f"condition {text!r}: only 'profdiff check --history ATLAS' knows the bound of "
                f"{HISTORY}: write a number"
            )
        historic = written == HISTORY
        bound, unit = _bound(text, operator, "0%" if historic else written)
        what = names["what"] or "total"
        if historic and (what != "total" or names["inclusive"]):
            raise InputError(
                f"condition {text!r}: only totals have a history: write METRIC {operator} {HISTORY}"
            )
        named = what.startswith('"') or names["inclusive"] is not None
        return Condition(
            metric=names["metric"].strip('"'),
            what=what.strip('"'),
            function=named or what not in SIDES,
            operator=operator,
            bound=bound,
            unit=unit,
            inclusive=names["inclusive"] is not None,
            historic=historic,
        )

    @property
    def subject(self) -> tuple[str, str, bool, bool]:
        """What it is about, for a comparison with other conditions."""
        return self.metric, self.what, self.function, self.inclusive

    @property
    def about(self) -> str:
        """``METRIC:WHAT``, as it can be parsed again."""
        modified = _NAMES.fullmatch(self.metric)
        plain = modified is not None and modified["metric"] == self.metric
        metric = self.metric if plain else f'"{self.metric}"'
        # `cycles:u` would be a metric.
        what = self.what
        if self.function and (
            what in SIDES or not re.fullmatch(_PLAIN, what) or re.fullmatch("[ukhGHI]{1,6}", what)
        ):
            what = f'"{what}"'
        return f"{metric}:{'total:' if self.inclusive else ''}{what}"

    def __str__(self) -> str:
        """The condition as it can be parsed again."""
        if self.operator in WITHOUT_BOUND:
            return f"{self.about} {self.operator}"
        if self.historic:
            return f"{self.about} {self.operator} {HISTORY}"
        bound = Decimal(repr(self.bound)).scaleb(2 if self.unit == "%" else 0).normalize()
        return f"{self.about} {self.operator} {bound:+f}{self.unit}"

    def judge(self, change: MeasuredChange) -> Outcome:
        """Whether the whole interval of the change satisfies the condition, or none of it. A change
        that rests on how repeated string instructions count must do so either way. Raises
        InputError for a historic one."""
        if self.historic:
            raise InputError(
                f"condition '{self}': write profdiff check --history ATLAS, which sets the bound"
            )
        found = self._judged(change)
        if change.each is None:
            return found
        base, other = change.each
        relative = (other - base) / base if base else math.nan
        each = replace(change, base=base, other=other, low=relative, high=relative, difference=None)
        return found if self._judged(each) == found else "inconclusive"

    def _judged(self, change: MeasuredChange) -> Outcome:
        if self.operator in WITHOUT_BOUND:
            if change.differs is None or not change.decided:
                return "inconclusive"
            return "holds" if change.differs else "does not hold"
        interval = self._interval(change) if change.decided else None
        if interval is None:
            return "inconclusive"
        low, high = interval
        first, second = (self._satisfied(end) for end in interval)
        if low > high or first != second:
            return "inconclusive"
        return "holds" if first else "does not hold"

    def _satisfied(self, value: float) -> bool:
        match self.operator:
            case ">":
                return value > self.bound
            case ">=":
                return value >= self.bound
            case "<":
                return value < self.bound
            case _:
                return value <= self.bound

    def _interval(self, change: MeasuredChange) -> tuple[float, float] | None:
        """The change's in the condition's unit; None where it is not known."""
        ends = (change.low, change.high)
        unknown = any(map(math.isnan, (change.base, change.other)))
        if unknown or change.base < 0:
            return None
        if any(map(math.isnan, ends)):
            # Only of a base of nothing is that no reason to doubt: what is new is +inf %.
            if change.base:
                return None
            new = math.copysign(math.inf, change.other) if change.other else 0.0
            ends = (new, new)
        if self.unit == "%":
            return ends
        if change.difference is not None:
            return change.difference
        if ends[0] == ends[1]:
            return (change.other - change.base,) * 2
        if change.base == 0:
            return None
        return ends[0] * change.base, ends[1] * change.base


Changes = Callable[[Condition], Iterator[MeasuredChange]]
"""Measures what a condition is about, on every kernel but the base. Raises AbsentError where no
kernel has the row that it names, InputError where that is not known."""


class Judgement(msgspec.Struct, frozen=True):
    """What a condition came to on one kernel. ``acknowledged``: why a change for which it holds is
    accepted, "" for others."""

    condition: Condition
    change: MeasuredChange
    outcome: Outcome
    acknowledged: str = ""


class Checked(NamedTuple):
    """What conditions came to, at the point ``at`` alone if there is one, and ``remarks`` on
    acknowledged changes that none of them met."""

    judgements: Sequence[Judgement]
    remarks: Sequence[str] = ()
    at: str | None = None


def exit_status(judgements: Iterable[Judgement]) -> int:
    """1 where a condition holds for a change that is not acknowledged, else 125 where one is
    inconclusive (`git bisect run` then skips), else 0."""
    outcomes = {one.outcome for one in judgements if not one.acknowledged}
    return 1 if "holds" in outcomes else 125 if "inconclusive" in outcomes else 0


def _operator(text: str, rest: str) -> str:
    if rest in WITHOUT_BOUND:
        return rest
    operator = next((one for one in _OPERATORS if rest.startswith(one)), None)
    if operator is None or re.match(r"[<>=!]", rest[len(operator) :]):
        raise InputError(_no_operator(text, rest))
    return operator


def _bound(text: str, operator: str, written: str) -> tuple[float, Unit]:
    """The bound and its unit."""
    if operator in WITHOUT_BOUND:
        return 0.0, ""
    match = _BOUND.fullmatch(written)
    if match is None:
        raise InputError(f"condition {text!r} has no bound: write it like {EXAMPLE}")
    number, unit = match["number"], match["unit"].replace(" ", "")
    value = Fraction(number)
    if value and number[0] not in "+-":
        raise InputError(
            f"the bound in condition {text!r} needs a sign: write +{written} for more than the "
            f"base, -{written} for less"
        )
    try:
        # As near as a change that is divided out once.
        bound = float(value / 100 if unit == "%" else value)
    except OverflowError:
        raise InputError(f"the bound in condition {text!r} is too large") from None
    match unit:
        case "%" | "/op" | "":
            return bound, unit
    raise InputError(
        f"the bound in condition {text!r} has the unit {unit!r}: use % (of the base), /op, or none"
    )


def _no_operator(text: str, rest: str) -> str:
    written = re.match(r"[<>=!~]+", rest)
    if written is None:
        return f"condition {text!r} has no comparison: write it like {EXAMPLE}"
    near = {"=>": ">=", "=<": "<=", ">>": ">", "<<": "<"}.get(written[0])
    meant = f"did you mean {near}?" if near else f"use one of {' '.join(_OPERATORS)}"
    return f"condition {text!r} has an unknown comparison {written[0]!r}: {meant}"
