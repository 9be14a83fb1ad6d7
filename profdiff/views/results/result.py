"""One result as tables and sentences show it, and in how many states its change was seen."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal

from profdiff.base import guest_clock, units
from profdiff.base.metric import TIMED
from profdiff.evidence.cell import Cell
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Quality, Verdict
from profdiff.views.record import Record

# What stands for what a part does not have.
ABSENT = "\N{EM DASH}"


Kind = Literal[
    "how",
    "detail",
    "beside",
    "caution",
    "repetition",
    "recording",
    "inlines",
    "failure",
    "advice",
]


class Remark(Record, frozen=True):
    """One printable line. ``kind``: ``how`` the numbers came about; a ``detail`` of that, which a
    mail leaves out; what ran ``beside`` the workload; ``caution``, what the numbers are not;
    ``repetition``, whether runs agree; what was found in a ``recording``; whether ``inlines`` are
    visible; a ``failure``; and ``advice`` to who recorded, not to who reads a mail."""

    kind: Kind
    text: str


class Spread(Record, frozen=True):
    """Over boots, as a fraction of their mean, or between A/A runs; None where it is not known."""

    part: float | None

    def __str__(self) -> str:
        if not self.part:
            return "" if self.part is None else "0"
        return f"±{units.percent(self.part)}"


class Median(Record, frozen=True):
    """The median over boots, None without a boot: ``27.50``, ``27.50 ±1.2%``."""

    value: float | None
    spread: Spread = Spread(part=None)

    @staticmethod
    def of(cell: Cell) -> "Median":
        """With its spread."""
        return Median(value=cell.value, spread=Spread(part=cell.spread))

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        return number(self.value) + (f" {self.spread}" if self.spread.part else "")


class Pair(Record, frozen=True):
    """The medians of the base and of another kernel: ``203.00 -> 270.00``."""

    base: Median
    other: Median

    def __str__(self) -> str:
        return f"{self.base} -> {self.other}"


class Delta(Record, frozen=True):
    """The change of the median: in percent, from ten times on as how many times."""

    base: float
    other: float

    def __str__(self) -> str:
        base, other = self.base, self.other
        if base == other:
            return units.percent(0, "g")
        if base <= 0:
            return "-" if base else "new"
        if other / base >= 10:
            return f"{units.rounded(other / base)} times"
        return units.percent(other / base - 1, "+.1f")


class Ratio(Delta, frozen=True):
    """The same as how many times the base."""

    def __str__(self) -> str:
        return units.ratio(self.base, self.other)


class Difference(Record, frozen=True):
    """How much the median differs: ``+12.50``."""

    base: float
    other: float

    def __str__(self) -> str:
        found = self.other - self.base
        return f"{'+' if found > 0 else ''}{number(found)}"


class Bounds(Record, frozen=True):
    """The confidence interval of a change, as fractions of the base."""

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether there is no doubt."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.exact:
            return str(Verdict.EXACT)
        return f"[{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


class Judged(Record, frozen=True):
    """The verdict, with its quality where that is not *reliable*."""

    verdict: Verdict
    quality: Quality

    def __str__(self) -> str:
        counted = self.verdict in (Verdict.EXACT, Verdict.DEPENDS)
        plain = self.quality == "reliable" or counted
        return str(self.verdict) if plain else f"{self.verdict} ({self.quality})"


class Seen(Record, frozen=True):
    """In how many ``states`` a change was seen, with the lowest and the highest one of exact
    counts."""

    states: int
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.states:,}"
        return f"{units.changes(self.low, self.high)} in {self.states:,}"


Entry = str | Median | Pair | Spread | Delta | Difference | Bounds | Judged | Seen | None


def delta(change: Estimate | None) -> Delta | None:
    """None where there is nothing to compare."""
    return Delta(base=change.medians[0], other=change.medians[1]) if change else None


def difference(change: Estimate | None) -> Difference | None:
    """As ``delta``."""
    return Difference(base=change.medians[0], other=change.medians[1]) if change else None


def bounds(change: Estimate | None) -> Bounds | None:
    """None where so few boots have none."""
    if change is None or math.isnan(change.median.low):
        return None
    return Bounds(low=change.median.low, high=change.median.high)


def judged(change: Estimate | None) -> Judged | None:
    """None where there is nothing to compare."""
    return Judged(verdict=change.verdict, quality=change.quality) if change else None


def varied(every: Iterable[Result]) -> bool:
    """Whether some change was seen in several states."""
    return any(change.states > 1 for one in every for change in one.changes if change)


def seen(change: Estimate | None) -> Seen | None:
    """None where there is nothing to compare, or one state."""
    if change is None or change.states == 1:
        return None
    # Where boots scatter, the interval is that of their statistics.
    span = spans_states(change)
    return Seen(
        states=change.states,
        low=change.median.low if span else None,
        high=change.median.high if span else None,
    )


def spans_states(change: Estimate) -> bool:
    """Whether the interval of a change goes from its lowest to its highest state."""
    seen = change.states > 1 and change.verdict in (Verdict.EXACT, Verdict.DEPENDS)
    return seen and not math.isnan(change.median.low)


def floor(result: Result) -> Spread | None:
    """How much A/A runs differ; None where there are none, or too few."""
    if result.noise is None or math.isnan(result.noise):
        return None
    return Spread(part=result.noise)


def state(result: Result) -> str:
    """The state that its values are of."""
    return f"state {result.state}" if result.state else "the plain state"


def title(result: Result) -> str:
    """A metric with its unit: ``nsec_per_call, ns/call``, ``whole-command, instructions per op
    (guest clock)``."""
    name, plain = result.metric.name, result.metric.unit
    if plain in ("", name):
        return guest_clock.per_op(name) if result.per_op else name
    return f"{name}, {unit(result)}"


def unit(result: Result) -> str:
    """The unit of its values, per op where they are per op."""
    plain = result.metric.unit
    return guest_clock.per_op(plain) if result.per_op else plain


def heading(result: Result) -> str:
    """``title``, and where the values come from."""
    return f"{guest_clock.unsaid(title(result))} ({source(result)})"


def all_exact(title: str) -> str:
    """The title of a table whose verdicts are all exact, which has no column for them."""
    return title if "exact" in title else f"{title}; every change is exact"


def source(result: Result) -> str:
    """Where values come from: ``sampled``."""
    if result.virtual:
        return "guest clock, which counts instructions"
    if result.deterministic and result.metric.kind == TIMED:
        return "of timed runs in an emulated guest"
    return result.metric.kind.words


def number(value: float) -> str:
    """A value as tables show it: at most five significant digits after a point."""
    size = abs(value)
    if size >= 10_000 or value == int(value):
        return units.rounded(value)
    return f"{value:,.2f}" if size >= 1 else f"{value:.5g}"


MORE = 4
"""So many varied states are suggested."""
ALONE = "a change that was seen in one state"


def sentences(findings: Findings, *, depending: bool) -> list[str]:
    """One for each change at the setting that was seen in several states, or in one of them: those
    that depend on state, which a reader must know before all else, or the others."""
    return [
        f"{label}: {_named(findings, one)}{told(findings, label, change)}."
        for one, label, change in _changes(findings)
        if (change.states > 1 or change.alone) and (change.verdict is Verdict.DEPENDS) is depending
    ]


def where(findings: Findings, label: str) -> str:
    """``, in state 3``: which state figures of functions and data are of, where that is a question:
    a kernel's change of counts depends on it, or another's does."""
    for one, other, change in _changes(findings):
        if other == label and (change.verdict is Verdict.DEPENDS or one.state):
            return f", in {state(one)}"
    return ""


def told(findings: Findings, label: str, change: Estimate) -> str:
    """``the change depends on state: -64.3% to +225.4% in 5 states, which differ most in f``."""
    if change.alone:
        return "the change was seen in one state"
    span = units.changes(change.median.low, change.median.high) if spans_states(change) else ""
    if change.verdict is not Verdict.DEPENDS:
        return f"the change was seen in {change.states:,} states{f': {span}' if span else ''}"
    most = findings.differ.get(label)
    differ = f", which differ most in {units.printable(most.name)}" if most else ""
    said = f": {span} in {change.states:,} states" if span else f" ({change.states:,} were seen)"
    return f"the change depends on state{said}{differ}"


def doubt(change: Estimate) -> str:
    """The end of a sentence about a change that is *unsure*; "" of others."""
    if change.verdict is not Verdict.UNSURE:
        return ""
    if max(change.boots) < 2 and not change.counted:
        return "; one run of each cannot rule out noise"
    return f"; unsure: {change.reason}"


def remarks(findings: Findings) -> list[Remark]:
    """What to do where a change of exact counts was seen in the plain state alone, for who
    recorded."""
    if not any(change.alone for _, _, change in _changes(findings)):
        return []
    more = f"--vary-state {MORE}"
    if findings.manifest.options.get("boot"):
        more = f"--vary-boots --repeat {MORE}"
    text = (
        f"{ALONE} may be an accident of that: record with {more} to see whether it depends on state"
    )
    return [Remark(kind="advice", text=text)]


def _changes(findings: Findings) -> Iterator[tuple[Result, str, Estimate]]:
    """The changes of counts, at the setting that is looked at."""
    results = findings.results
    for one in results.at(findings.setting):
        for label, change in zip(results.labels, one.changes, strict=True):
            if one.deterministic and change is not None:
                yield one, label, change


def _named(findings: Findings, one: Result) -> str:
    """The metric, where there are several."""
    several = len({found.metric.name for found, _, _ in _changes(findings)}) > 1
    return f"{units.printable(one.metric.name)}: " if several else ""
