"""What of a change of time instructions explain, as a sentence and as a table."""

import math
from collections.abc import Sequence

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result, Results
from profdiff.evidence.time.explained import Explained, explained, most_telling
from profdiff.session.points import Setting
from profdiff.views.record import Record
from profdiff.views.results.result import Entry, Part


class Share(Record, frozen=True):
    """Which part of the change of time instructions are, with the interval of the boots; None where
    there is none. ``7% [5, 9]``."""

    part: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        told = f"{100 * self.part:.0f}%"
        if self.low is None or self.high is None:
            return told
        return f"{told} [{100 * self.low:.0f}, {100 * self.high:.0f}]"


class TimeSplit(Record, frozen=True):
    """A kernel's change of a time against the base: time = instructions × time per instruction, or
    instructions × cycles per instruction × time per cycle where the same runs counted cycles. Each
    is how much more than the base, as a fraction of it. ``share``: None where time did not change.
    ``reason``: why it is not certain how much the instructions explain; "" where it is.
    ``combined``: time and instructions are of different runs."""

    label: str
    base: str
    metric: str
    collector: str
    instructions_collector: str
    parameters: dict[str, str]
    cpus: int | None
    time: Part
    instructions: Part
    per_instruction: Part
    cycles_per_instruction: Part | None
    time_per_cycle: Part | None
    share: Share | None
    reason: str
    combined: bool
    where: str

    @property
    def less_than_half(self) -> bool:
        """Whether it is certain that instructions are less than half of the change."""
        return not self.reason and self.share is not None and self.share.part < 0.5

    @property
    def product(self) -> str:
        """``+14.0% time = +1.0% instructions × +12.9% cycles per instruction``."""
        factors = [f"{self.instructions} instructions"]
        if self.cycles_per_instruction is None or self.time_per_cycle is None:
            factors.append(f"{self.per_instruction} time per instruction")
        else:
            factors.append(f"{self.cycles_per_instruction} cycles per instruction")
            factors.append(f"{self.time_per_cycle} time per cycle")
        return f"{self.time} time = {' × '.join(factors)}"

    @property
    def sentence(self) -> str:
        """All of it."""
        said = (
            f"{self.label} against {self.base}, by {units.printable(self.metric)}: {self.product}"
        )
        if self.share is None:
            return f"{said}."
        if self.reason:
            told = f"it is unsure how much of it are instructions: {self.reason}"
        elif 0 <= self.share.part <= 1:
            told = f"{100 * self.share.part:.0f}% of it are instructions{self._interval()}"
        elif self.share.part < 0:
            told = f"none of it is instructions, which changed the other way{self._interval()}"
        else:
            told = f"instructions are more than all of it{self._interval()}"
        return f"{said}: {told}.{f' {self.where}' if self.where else ''}"

    def _interval(self) -> str:
        if self.share is None or self.share.low is None or self.share.high is None:
            return ""
        low, high = (f"{100 * end:.0f}%" for end in (self.share.low, self.share.high))
        return f" ({low} to {high})" if low != high else ""


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
    split, cycles = one.split, one.cycles
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
        time=Part(part=split.time - 1),
        instructions=Part(part=split.instructions - 1),
        per_instruction=Part(part=split.per_instruction - 1),
        cycles_per_instruction=Part(part=cycles / split.instructions - 1) if cycles else None,
        time_per_cycle=Part(part=split.time / cycles - 1) if cycles else None,
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
    cycles = any(one.cycles_per_instruction for one in shown)
    header += ["cycles of each"] if cycles else []
    header += ["explained"]
    found: list[list[Entry]] = []
    for one in shown:
        factors: list[Entry] = [one.time, one.instructions, one.per_instruction]
        factors += [one.cycles_per_instruction] if cycles else []
        doubt = ", unsure" if one.reason and one.share else ""
        share = f"{one.share}{doubt}" if one.share else None
        found.append([units.printable(one.metric), one.label, *factors, share])
    return header, found
