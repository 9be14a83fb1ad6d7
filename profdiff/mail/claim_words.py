"""The words in which a metric's change is said: what is executed, what takes time, what it has."""

from dataclasses import dataclass

from profdiff.base import units
from profdiff.evidence.measurements import Result, is_time
from profdiff.reports.evidence_rows import number


@dataclass(frozen=True)
class Words:
    """``work {verb} 5 % {more} {noun}``, ``work {verb} {same}: {lead} 21 instead of 20 {unit}``;
    ``tail``: what must be known of the unit."""

    verb: str
    noun: str
    more: str
    less: str
    same: str
    unit: str
    lead: str = ""
    tail: str = ""

    def amount(self, base: float, other: float) -> str:
        """By how much ``other`` is more or less than ``base``."""
        if base == other:
            return f"exactly {self.same}"
        word = self.more if other > base else self.less
        part = f"{100 * abs(other / base - 1):,.1f} % " if base > 0 else ""
        return f"{part}{word} {self.noun}"

    def values(self, base: float, other: float, *, per_op: bool = False) -> str:
        """Both values, and what they are."""
        behind = f"{self.unit} per op" if per_op else self.unit
        both = f"{number(other)} {behind} on both"
        differ = f"{number(other)} instead of {number(base)} {behind}"
        words = f"{self.lead} {both if base == other else differ}"
        return f"{words.strip()}{self.tail}"


def counted(noun: str, *, exact: bool = True) -> Words:
    """Of a profile: instructions are executed; cycles and nanoseconds are taken."""
    noun = units.printable(noun)
    verb = "executes" if exact else "takes"
    less = "less" if noun.endswith(")") else "fewer"
    return Words(verb, noun, "more", less, f"as many {noun}", noun)


def words_of(result: Result) -> Words:
    """Of a result. An emulated clock counts instructions: that is never called time."""
    if result.collector != "timed":
        return counted(result.metric.name, exact=result.collector == "exact")
    name, unit = units.printable(result.metric.name), units.printable(result.metric.unit)
    if is_time(result.metric) and result.virtual:
        noun = "instructions by an emulated clock"
        tail = ", 1 ns being one instruction"
        return Words("executes", noun, "more", "fewer", f"as many {noun}", unit, name, tail)
    if is_time(result.metric):
        return Words("takes", "time", "more", "less", "the same time", unit, name)
    noun = f"{name} by an emulated clock" if result.virtual else name
    return Words("has", noun, "higher", "lower", f"the same {noun}", unit)
