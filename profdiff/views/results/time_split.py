"""What of a change of time instructions explain, as a sentence and as a table."""

import math
from collections.abc import Sequence

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result, Results
from profdiff.evidence.time_split import Explained, explained, most_telling
from profdiff.session.points import Setting
from profdiff.views.record import Record
from profdiff.views.results.result import Delta, Entry

_PERCENT = 100


def product(time: float, instructions: float, cycles: float | None) -> str:
    """``+14.0% time = +1.0% instructions × +12.9% cycles per instruction × ...``: all as multiples
    of the base's; ``cycles``: None where they are not known."""
    factors = [f"{_factor(instructions)} instructions"]
    if cycles is None:
        factors.append(f"{_factor(time / instructions)} time per instruction")
    else:
        factors.append(f"{_factor(cycles / instructions)} cycles per instruction")
        factors.append(f"{_factor(time / cycles)} time per cycle")
    return f"{_factor(time)} time = {' × '.join(factors)}"


def share(of_instructions: float, low: float, high: float, doubt: str) -> str:
    """Which part of it instructions explain, with the interval if it is one; ``doubt``: why that is
    not certain, "" where it is."""
    if doubt:
        told = f"how much of it instructions explain is not certain: {doubt}"
    elif of_instructions < 0:
        told = "instructions explain none of it: they changed the other way"
    elif of_instructions > 1:
        told = "instructions explain more than all of it"
    else:
        told = f"instructions explain {part(of_instructions)} of it"
    ends = part(low), part(high)
    return f"{told} ({ends[0]} to {ends[1]})" if ends[0] != ends[1] else told


def part(share: float) -> str:
    """A part of the whole: ``8%``."""
    if not math.isfinite(share) or abs(share) >= 100:
        return "many times"
    return f"{_PERCENT * share:.0f}%"


def _factor(ratio: float) -> str:
    """A multiple in front of what changed: ``+14.0%``; from ten times on, or a tenth, as one."""
    if 0.1 < ratio < 10:
        return f"{_PERCENT * (ratio - 1):+.1f}%"
    return f"{ratio:,.0f} times the" if ratio >= 1 else f"1/{1 / ratio:,.0f} of the"


class Share(Record, frozen=True):
    """Which part of the change of time instructions are, with the interval of the boots; None where
    there is none. ``7% [5, 9]``."""

    part: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        told = part(self.part)
        if self.low is None or self.high is None:
            return told
        return f"{told} [{100 * self.low:.0f}, {100 * self.high:.0f}]"


class TimeSplit(Record, frozen=True):
    """A kernel's change of a time against the base: time = instructions × time per instruction, or
    instructions × cycles per instruction × time per cycle where the same runs counted cycles.
    ``time``, ``instructions`` and ``cycles`` as multiples of the base's; ``cycles``: None where
    they were not counted. ``share``: None where time did not change. ``reason``: why it is not
    certain how much the instructions explain; "" where it is. ``combined``: time and instructions
    are of different runs, ``where`` says of which."""

    label: str
    base: str
    metric: str
    collector: str
    instructions_collector: str
    parameters: dict[str, str]
    cpus: int | None
    time: float
    instructions: float
    cycles: float | None
    share: Share | None
    reason: str
    combined: bool
    where: str

    @property
    def less_than_half(self) -> bool:
        """Whether it is certain that instructions are less than half of the change."""
        return not self.reason and self.share is not None and self.share.part < 0.5

    @property
    def sentence(self) -> str:
        """All of it."""
        text = product(self.time, self.instructions, self.cycles)
        said = f"{self.label} against {self.base}, by {units.printable(self.metric)}: {text}"
        if self.share is None:
            return f"{said}."
        low, high = self.share.low or 0.0, self.share.high or 0.0
        told = share(self.share.part, low, high, self.reason)
        return f"{said}: {told}.{f' {self.where}' if self.where else ''}"


def splits(results: Results, setting: Setting) -> list[TimeSplit]:
    """All at a setting."""
    return [_record(results, one) for one in explained(results, setting)]


def said(results: Results, setting: Setting) -> list[TimeSplit]:
    """For each kernel the one to say first."""
    found = most_telling(explained(results, setting))
    return [_record(results, one) for one in found if one.split.share is not None]


def sentences(findings: Findings) -> list[str]:
    """One for each kernel whose time and instructions are known, at the setting."""
    return [one.sentence for one in said(findings.results, findings.setting)]


def _record(results: Results, one: Explained) -> TimeSplit:
    split = one.split
    known = one.split.share is not None and math.isfinite(one.share.estimate)
    low, high = one.share.low, one.share.high
    return TimeSplit(
        label=results.labels[one.kernel],
        base=results.labels[0],
        metric=one.time.metric.name,
        collector=one.time.collector,
        instructions_collector=one.instructions.collector,
        parameters=dict(one.time.setting.parameters),
        cpus=one.time.setting.cpus,
        time=split.time,
        instructions=split.instructions,
        cycles=one.cycles,
        share=Share(
            part=one.share.estimate,
            low=low if math.isfinite(low) else None,
            high=high if math.isfinite(high) else None,
        )
        if known
        else None,
        reason=one.reason,
        combined=one.combined,
        where=_where(one),
    )


def _where(one: Explained) -> str:
    """Where both come from, if not from the same runs."""
    if not one.combined:
        return ""
    told = [_told(one.instructions, "The instructions"), _told(one.time, "the time")]
    return f"{'; '.join(told)}."


def _told(one: Result, what: str) -> str:
    place = "emulated guests" if one.deterministic else "runs on a processor"
    how = registry.collector(one.collector).kind.words
    return f"{what} {'are' if what.endswith('s') else 'is'} of {place} ({one.collector}: {how})"


def rows(shown: Sequence[TimeSplit]) -> tuple[list[str], list[list[Entry]]]:
    """Header and rows of a table of splits: names, factors, and the share of instructions."""
    header = ["time of", "kernel", "time", "instructions", "time of each"]
    counted = any(one.cycles for one in shown)
    header += ["cycles of each"] if counted else []
    header += ["explained"]
    found: list[list[Entry]] = []
    for one in shown:
        factors = [one.time, one.instructions, one.time / one.instructions]
        entries: list[Entry] = [Delta(base=1.0, other=factor) for factor in factors]
        if counted:
            each = one.cycles and Delta(base=1.0, other=one.cycles / one.instructions)
            entries.append(each or None)
        doubt = ", unsure" if one.reason and one.share else ""
        share = f"{one.share}{doubt}" if one.share else None
        found.append([units.printable(one.metric), one.label, *entries, share])
    return header, found
