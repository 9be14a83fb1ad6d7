"""The answer in one sentence: how much more a kernel costs than the base, and where."""

import math
from collections import Counter
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base import guest_clock, units
from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.evidence.blame.renamed import other_names
from profdiff.evidence.results import Result, is_time
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions.marks import Deltas
from profdiff.views.profile import Seat, seats
from profdiff.views.record import Record, Side
from profdiff.views.results.result import number

# Functions that decide, and what part of their change one file or folder must have.
_DECIDE, _LEAST = 20, 0.5
# Folders that subjects leave out: ``sched/fair``, ``x86/mm/tlb``.
_UNSAID = ("arch", "kernel", "drivers", "fs")


def changed_files(comparison: Comparison, kernel: int) -> Counter[PurePosixPath]:
    """The source files of the kernel's functions that changed most in the direction of the whole,
    with their deltas. Headers tell nothing: their functions are everywhere."""
    totals = comparison.totals()
    deltas = comparison.deltas()[:, kernel] * (1 if totals[kernel] >= totals[0] else -1)
    files: Counter[PurePosixPath] = Counter()
    for row in np.argsort(-deltas, kind="stable")[:_DECIDE].tolist():
        function = comparison.functions[row]
        path = PurePosixPath(function.file)
        known = function.in_kernel and path.suffix in (".c", ".S", ".rs")
        # If the build was outside of its tree, the path says nothing.
        if deltas[row] > 0 and known and not path.is_absolute() and ".." not in path.parts:
            files[path] += int(deltas[row])
    return files


def subsystem(comparison: Comparison, kernel: int) -> str:
    """The path, without its ending, of the source file that changed most, or the folder where
    several of its files changed; "" where neither stands out, or files are not known."""
    files: Counter[PurePosixPath] = Counter()
    folders: Counter[PurePosixPath] = Counter()
    for path, delta in changed_files(comparison, kernel).items():
        files[path.with_suffix("")] += delta
        folders[path.parent] += delta
    for counted in (files, folders):
        for path, delta in counted.most_common(1):
            if delta > _LEAST * files.total() and path.parts:
                return _said_path(path, 1 if counted is folders else 2)
    return ""


def _said_path(path: PurePosixPath, least: int) -> str:
    """``least``: how much of the path must be left."""
    parts = path.parts
    if len(parts) > least and parts[0] in _UNSAID:
        parts = parts[1:]
    return units.printable("/".join(parts))


_NAMED, _LONGEST = 3, 60


class Largest(Record, frozen=True):
    """The functions with the largest deltas in the direction of the whole, and their ``part`` of
    it: above 1 where others go the other way. ``inlined``: with what is inlined into them, because
    inlined functions took the places of others."""

    functions: list[str]
    part: float
    inlined: bool = False

    @property
    def names(self) -> str:
        """The functions on one printable line."""
        named = (units.shorten(units.printable(name), _LONGEST) for name in self.functions)
        return units.listed(named)

    def told(self, whole: str) -> str:
        """In words, as a part of ``whole`` ("the increase")."""
        inlined = ", including functions inlined there" if self.inlined else ""
        if self.part > 1:
            kind, are = whole.removeprefix("the "), "is" if len(self.functions) == 1 else "are"
            plural = "" if are == "is" else "s"
            told = f"the largest {kind}{plural} {are} in {self.names}{inlined}"
            return f"{told}; other functions offset part of {'it' if are == 'is' else 'them'}"
        return f"{units.percent(self.part, '.0f')} of {whole} is in {self.names}{inlined}"


class Answer(Record, frozen=True):
    """One metric on one kernel and on the base, of ``side`` or of both. ``verb``: as its
    kind says it. ``at``: the point of the sweep, "" for the only one. ``largest``: None where
    nothing changed that way. ``seat``: None where none was found. ``exact``: whether the counts
    are. ``iterated``: what is said of the change where repeated string instructions decide it, ""
    where they do not."""

    label: str
    base: str
    metric: str
    verb: str
    side: Side | None
    base_count: int
    count: int
    largest: Largest | None
    at: str = ""
    ops: int | None = None
    seat: Seat | None = None
    exact: bool = False
    iterated: str = ""

    @property
    def delta(self) -> int:
        """How much more than the base."""
        return self.count - self.base_count

    @property
    def ratio(self) -> float | None:
        """How many times the base; None where that is nothing."""
        return self.count / self.base_count if self.base_count else None

    @property
    def sentence(self) -> str:
        """All of it in words."""
        side = {"kernel": " in the kernel", "user": " in user space", None: ""}[self.side]
        at = f" at {self.at}" if self.at else ""
        but = f", but {self.iterated}" if self.iterated else ""
        if self.delta == 0:
            told = f"exactly as many {self.metric}{side} as {self.base}{at}{but}"
        elif self.ratio is None:
            told = f"{self.count:,} {self.metric}{side}{at}; {self.base} {self.verb} none{but}"
        else:
            told = (
                f"{self.ratio:.3f} times the {self.metric} of {self.base}{side} in this "
                f"workload{at}: {self.delta:+,} ({units.change(self.base_count, self.count)}{but})"
                f"{f', {self._amount(self.delta)}' if self.ops else ''}"
            )
        return f"{self.label} {self.verb} {told}{f'; {self.where}' if self.where else ''}."

    def _amount(self, delta: int) -> str:
        """As tables show it."""
        if self.ops:
            return f"{units.delta(delta / self.ops, per_op=True)} per op"
        return units.delta(delta)

    @property
    def where(self) -> str:
        """``80% of the increase is in f and g``: the seat, or where that says no more the functions
        with the largest deltas; "" where nothing changed."""
        whole = "the increase" if self.delta > 0 else "the decrease"
        if self.seat and not (self.seat.alone and self.largest and self.largest.part <= 1):
            return self.seat.told(whole, self._amount(self.seat.delta) if self.exact else "")
        return self.largest.told(whole) if self.largest else ""


def answers(comparison: Comparison, side: Side | None = None) -> list[Answer]:
    """For each kernel but the base."""
    totals, metric = comparison.totals(side).tolist(), comparison.metric
    base, *others = comparison.labels
    return [
        Answer(
            label=label,
            base=base,
            metric=metric.title,
            verb=metric.kind.verb,
            side=side,
            base_count=totals[0],
            count=totals[index],
            largest=_largest(comparison, index, side),
            at=units.printable(comparison.setting.title),
            ops=comparison.ops,
            seat=found,
            exact=comparison.metric.exact,
        )
        for (index, label), found in zip(enumerate(others, 1), seats(comparison, side), strict=True)
    ]


def _largest(comparison: Comparison, index: int, side: Side | None) -> Largest | None:
    totals = comparison.totals(side)
    delta = int(totals[index] - totals[0])
    deltas = comparison.deltas()[:, index]
    found = _most(comparison, deltas, index, delta, side)
    if found and found.part > 1:
        net = _with_inlined(comparison, index) - _with_inlined(comparison, 0)
        of_net = _most(comparison, net, index, delta, side)
        if of_net and of_net.part < found.part:
            return replace(of_net, inlined=True)
    return found


def _most(
    comparison: Comparison,
    deltas: NDArray[np.int64],
    kernel: int,
    whole: int,
    side: Side | None,
) -> Largest | None:
    """By int64[F], the deltas of functions on a kernel, by number."""
    rows, deltas = comparison.rows(side), deltas.copy()
    for new, old in other_names(comparison, kernel).items():
        deltas[[new, old]] = deltas[new] + deltas[old], 0
    along = deltas[rows] * (1 if whole > 0 else -1)
    if comparison.samples is not None:
        # What a few samples more or less make, no headline names.
        along = np.where(Deltas.of(comparison, rows).believed[:, kernel - 1], along, 0)
    most = [i for i in np.argsort(-along, kind="stable")[:_NAMED] if along[i] > 0]
    if not whole or not most:
        return None
    # If many offset each other, one says more than three.
    kept = most[:1] if along[most[0]] >= abs(whole) else most
    return Largest(
        functions=[comparison.functions[rows[i]].name for i in kept],
        part=sum(int(along[i]) for i in kept) / abs(whole),
    )


def _with_inlined(comparison: Comparison, kernel: int) -> NDArray[np.int64]:
    """int64[F]: self counts of functions with what the kernel's compiler inlined into them."""
    stacks, inlined = comparison.stacks, comparison.inlined[:, kernel]
    into = np.arange(len(stacks))
    while (above := inlined[into] & (stacks.parent[into] >= 0)).any():
        into = np.where(above, stacks.parent[into], into)
    found = np.zeros(len(comparison.functions) + len(comparison.unnamed), np.int64)
    np.add.at(found, stacks.function[into], comparison.counts[:, kernel])
    return found[: len(comparison.functions)]


class Words(NamedTuple):
    """``work {verb} 5% {more} {noun}``, ``work {verb} {same}: {lead} 21 instead of 20 {unit}``."""

    verb: str
    noun: str
    same: str
    unit: str
    more: str = "more"
    less: str = "fewer"
    lead: str = ""

    def amount(self, base: float, other: float) -> str:
        """By how much ``other`` is more or less than ``base``."""
        if base == other:
            return f"exactly {self.same}"
        word = self.more if other > base else self.less
        part = f"{units.percent(abs(other / base - 1), ',.1f')} " if base > 0 else ""
        return f"{part}{word} {self.noun}"

    def range(self, low: float, high: float) -> str:
        """``5.4% to 18.4% more instructions``, of two changes as fractions."""
        if math.isnan(low) or low == high == 0:
            return f"{self.more} or {self.less} {self.noun}"
        told = [units.percent(abs(end), ",.1f") for end in (low, high)]
        if low < 0 < high:
            return f"{told[0]} {self.less} to {told[1]} {self.more} {self.noun}"
        word = self.more if high > 0 else self.less
        between = dict.fromkeys(told if high > 0 else reversed(told))
        return f"{' to '.join(between)} {word} {self.noun}"

    def values(self, base: float, other: float, *, per_op: bool = False) -> str:
        """Both values, and what they are."""
        unit = guest_clock.per_op(self.unit) if per_op else self.unit
        both = f"{number(other)} {unit} on both"
        differ = f"{number(other)} instead of {number(base)} {unit}"
        words = f"{self.lead} {both if base == other else differ}"
        return words.strip()


def counted_words(metric: Metric) -> Words:
    """The words for a profile: instructions are executed; cycles and nanoseconds are taken."""
    noun, unit, verb = units.printable(metric.name), units.printable(metric.unit), metric.kind.verb
    if unit in ("", noun):
        return Words(verb, noun, f"as many {noun}", noun)
    return Words(verb, noun, f"as much {noun}", unit, less="less")


def result_words(result: Result) -> Words:
    """The words for a result. An emulated clock counts instructions: never called time."""
    if registry.collector(result.collector).profiles:
        return counted_words(result.metric)
    name, unit = units.printable(result.metric.name), units.printable(result.metric.unit)
    if guest_clock.is_instructions(result.metric):
        noun = "instructions on an emulated clock"
        return Words("executes", noun, f"as many {noun}", unit, lead=name)
    if is_time(result.metric):
        return Words("takes", "time", "the same time", unit, less="less", lead=name)
    noun = name
    if result.virtual:
        noun = f"{name} on an emulated clock"
    elif result.deterministic:
        noun = f"{name} in an emulated guest"
    return Words("has", noun, f"the same {noun}", unit, "higher", "lower")
