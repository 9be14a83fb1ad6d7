"""What must be known of an experiment's values: how they came about and what they can tell."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Literal

from msgspec import Meta

from profdiff.base import units
from profdiff.evidence import lengths as evidence
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, smallest_p
from profdiff.views.record import Record
from profdiff.views.results.result import unit

Number = Annotated[int, Meta(ge=0)]

# A fixed part below nothing by more than this share says that ops do not cost the same.
_CURVED = 0.01


class Fixed(Record, frozen=True):
    """What of a kernel's whole command does not grow with operations, in units of the metric, and
    its ``share`` of the whole, 0 to 1. Below 0 if a longer run costs more for each operation."""

    label: str
    collector: str
    metric: str
    count: int
    share: float


class Growth(Record, frozen=True):
    """The memory of the workload, in KiB, where the longer run uses more."""

    label: str
    short_kib: Number
    long_kib: Number


class Length(Record, frozen=True):
    """A parameter's value in the shorter run and in the longer one."""

    parameter: str
    short: str
    long: str


class Lengths(Record, frozen=True):
    """``short_ops`` and ``long_ops``: operations in both runs; results are of the difference."""

    parameters: list[Length]
    short_ops: Number
    long_ops: Number
    fixed: list[Fixed]
    growth: list[Growth]

    @property
    def facts(self) -> list[str]:
        """What is excluded, a line for each metric."""
        found = []
        for _, members in groupby(self.fixed, key=lambda one: (one.collector, one.metric)):
            some = list(members)
            whole = " of the whole command"
            told = [
                f"{one.label} {one.count:,} ({100 * one.share:.1f}%{whole if not row else ''})"
                for row, one in enumerate(some)
            ]
            found.append(
                f"excluded: fixed {some[0].metric} (start-up, set-up, exit): {', '.join(told)}"
            )
        return found

    @property
    def cautions(self) -> list[str]:
        """Why the difference may not be the cost of operations."""
        return list(self._cautions())

    def _cautions(self) -> Iterator[str]:
        names = " and ".join(parameter.parameter for parameter in self.parameters)
        advice = "if it is not the number of operations, record with --difference none"
        if self.growth:
            told = ", ".join(
                f"{one.label} {one.short_kib:,} to {one.long_kib:,} KiB" for one in self.growth
            )
            yield (
                f"{names} changes more than the number of ops: the memory of the workload grows "
                f"with it ({told}); {advice}"
            )
        curved = list(dict.fromkeys(one.label for one in self.fixed if one.share < -_CURVED))
        if curved:
            yield (
                f"ops do not all cost the same ({', '.join(curved)}): later ones cost more, so "
                "counts per op are those of the longer run's second part"
            )


def lengths(found: evidence.Lengths | None) -> Lengths | None:
    """None where nothing is subtracted."""
    if found is None:
        return None
    return Lengths(
        parameters=[
            Length(parameter=name, short=short, long=long)
            for name, (short, long) in found.parameters.items()
        ],
        short_ops=found.ops[0],
        long_ops=found.ops[1],
        fixed=[
            Fixed(
                label=one.label,
                collector=one.collector,
                metric=one.metric.title,
                count=round(one.count),
                share=one.share,
            )
            for one in found.fixed
        ],
        growth=[
            Growth(label=one.label, short_kib=one.short_kib, long_kib=one.long_kib)
            for one in found.growth
        ],
    )


_NAMED = 3
# How many times the tick floor a change must be to leave no doubt; so many instructions do where it
# is not known.
_CLOSE, _FAR = 10, 100_000
_STATES = (
    "states: the same kernels and workload with other mappings, files, pids and so on; a change is "
    "exact if every state has it in one direction, between half and twice the median; values are "
    "those of the state that the sentence names, else of the plain one"
)


class Note(Record, frozen=True):
    """One line. ``kind``: which changes rest on how ``iterations`` count; where timer ``ticks``
    may be much of a change; how many ``boots``, on
    which ``machine``, what ``varied``; what runs ``remark``, which values are ``scaled``; that
    times are of the ``whole`` command where counts are not; what *exact* means, and what ``states``
    are, by which ``rule`` a change is one, which ``p`` can be reached, a ``reason`` of a verdict,
    and what the noise ``floor`` is."""

    kind: Literal[
        "iterations",
        "ticks",
        "boots",
        "machine",
        "varied",
        "remark",
        "scaled",
        "whole",
        "counts",
        "states",
        "rule",
        "p",
        "reason",
        "floor",
    ]
    text: str


def notes(results: Results) -> list[Note]:
    """The notes on all results."""
    return list(_notes(results))


def _notes(results: Results) -> Iterator[Note]:
    manifest, every = results.manifest, results.every
    yield from iterations(results)
    yield Note(kind="boots", text=_boots(results))
    if any(run.boot for run in manifest.runs):
        text = "runs on a machine without a reboot between them count as one boot"
        yield Note(kind="machine", text=text)
    if manifest.order.vary:
        text = "each repetition had its own random numbers, user addresses and settling time"
        yield Note(kind="varied", text=text)
    yield from _remarks(results)
    for name in {one.metric.name: None for one in every if one.is_wall_time and one.of_whole}:
        text = f"{name} has all of the command, start-up too: timed runs have one length"
        yield Note(kind="whole", text=text)
    yield from _ticks(results)
    changes = [change for result in every for change in result.changes if change]
    statistical = [change for change in changes if not change.counted]
    if len(statistical) < len(changes):
        text = "exact: counted, not sampled, of the workload's own context in one boot"
        if results.repeated:
            text = "exact: counts that are equal in every boot; they need no statistics"
        yield Note(kind="counts", text=text)
        if results.varied:
            yield Note(kind="states", text=_STATES)
    if statistical:
        yield from _statistics(results, statistical)
    if any(result.noise is not None for result in every):
        text = f"A/A: how much {results.labels[0]} differs from itself; a smaller change is noise"
        yield Note(kind="floor", text=text)


def iterations(results: Results) -> Iterator[Note]:
    """Which changes differ in sign or relevantly where each iteration counts."""
    several = len(results.kernels) > 2
    told = [
        f"{iterated.change}{f' on {label}' if several else ''}{_at([one])}"
        for one in results.every
        for label, change in zip(results.labels, one.changes, strict=True)
        if change and (iterated := Iterated.of(change))
    ]
    if told:
        more = len(told) - _NAMED
        listed = "; ".join([*told[:_NAMED], *([f"{more:,} more"] if more > 0 else [])])
        text = f"rep instructions count once; with each iteration counted, changes are: {listed}"
        yield Note(kind="iterations", text=text)


def _remarks(results: Results) -> Iterator[Note]:
    """What runs remark, with the kernels of which it is not of all; and which values are scaled."""
    finished = [run for run in results.manifest.runs if run.failure is None]
    told: dict[tuple[str, str], list[str]] = {}
    parts: dict[str, list[float]] = {}
    for run in finished:
        for text in run.remarks:
            told.setdefault((run.collector, text), []).append(run.kernel)
        for one in run.measured:
            # Others say in their remarks what part it was.
            if one.is_total and one.counted_part < 1:
                parts.setdefault(one.name, []).append(one.counted_part)
    for (collector, text), labels in told.items():
        measured = {run.kernel for run in finished if run.collector == collector}
        some = list(dict.fromkeys(labels))
        of = f" ({units.listed(some)})" if len(some) < len(measured) else ""
        yield Note(kind="remark", text=units.printable(f"{collector}: {text}{of}"))
    for name, found in parts.items():
        least, most = (f"{100 * end:.0f}%" for end in (min(found), max(found)))
        span = least if least == most else f"{least} to {most}"
        yield Note(
            kind="scaled",
            text=f"{units.printable(name)} was counted for {span} of the time, and is scaled: "
            "there are more events than counters",
        )


def _ticks(results: Results) -> Iterator[Note]:
    """Where timer ticks can be a tenth of an exact change, or more; and where no one knows how many
    came."""
    close, unknown = list[tuple[Result, float]](), list[Result]()
    for one in results.every:
        changes = [change for change in one.changes if change and change.counted]
        floors = [
            change.tick_floor
            for change in changes
            if change.tick_floor
            and abs(change.medians[1] - change.medians[0]) < _CLOSE * change.tick_floor
        ]
        if floors:
            close.append((one, max(filter(None, floors))))
        elif any(
            change.tick_floor is None
            and abs(change.medians[1] - change.medians[0]) * (one.ops or 1) < _FAR
            for change in changes
        ):
            unknown.append(one)
    if close:
        most = max(close, key=lambda one: one[1])
        yield Note(
            kind="ticks",
            text=f"timer ticks alone can make a difference of {units.digits(most[1])} "
            f"{unit(most[0])}{_at([one for one, _ in close])}: a smaller change may be chance, and "
            "more ops lower this",
        )
    if unknown:
        text = f"how many timer ticks came is not known{_at(unknown)}: a kernel has no kallsyms"
        yield Note(kind="ticks", text=text)


def _at(some: Sequence[Result]) -> str:
    """`` at size_kib 4; size_kib 8, and 3 more points``; "" of the only one."""
    titles = list(dict.fromkeys(one.setting.title for one in some))
    if not titles[0]:
        return ""
    beyond = len(titles) - _NAMED
    more = f", and {units.counted(beyond, 'more point')}" if beyond > 0 else ""
    return f" at {'; '.join(titles[:_NAMED])}{more}"


def _boots(results: Results) -> str:
    manifest = results.manifest
    counts = sorted({len(cell.boots) for result in results.every for cell in result.cells})
    boots = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    if manifest.workload.kind == "imported":
        if boots == "1":
            return "1 recording of each kernel, taken for one boot, the unit of replication"
        return f"{boots} recordings of each kernel, each taken for a boot, the unit of replication"
    inside = f", {manifest.boot_runs} executions in each" if manifest.boot_runs > 1 else ""
    failed = sum(run.failure is not None for run in manifest.runs)
    rounds = "of each recording's kernels" if manifest.recordings else "of all kernels"
    drawn = (
        f", in rounds {rounds}, each round in a random order (seed {manifest.order.seed}); "
        "the boot is the unit of replication"
    )
    return (
        f"{boots} boot{'' if boots == '1' else 's'} of each kernel"
        f"{' at each point' if results.swept else ''}{inside}"
        f"{drawn if results.repeated else ''}; {units.counted(failed, 'failed run')}"
    )


def _statistics(results: Results, changes: list[Estimate]) -> Iterator[Note]:
    rule = results.rule
    relevance, least = (
        units.percent(rule.relevance, "g"),
        min(min(change.boots) for change in changes),
    )
    yield Note(
        kind="rule",
        text=f"changed: Mann-Whitney p is at most {rule.alpha:g}, the "
        f"{units.percent(rule.confidence, 'g')} interval excludes 0, and the change is at least "
        f"{relevance}; unchanged: the interval lies within ±{relevance}; "
        "otherwise unsure",
    )
    smallest = smallest_p(least, least)
    if least > 1:
        some = units.counted(least, "boot")
        text = f"with {some} against {least}, p cannot be below {smallest:.2g}"
        yield Note(kind="p", text=text)
    # Where so few boots are the reason, it has just been said.
    told = [
        change for change in changes if change.boots != (least, least) or smallest <= rule.alpha
    ]
    for reason in list(dict.fromkeys(one.reason for one in told if one.reason))[:_NAMED]:
        yield Note(kind="reason", text=f"reason for unsure or not reliable: {reason}")
