"""What must be known of an experiment's values: how they came about and what they can tell."""

from collections.abc import Iterator
from typing import Literal

from profdiff.base import units
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.beside import TICK, beside, tick
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Estimate, Verdict, smallest_p
from profdiff.views.record import Record

_NAMED = 3
_STATES = (
    "states: the same kernels and workload with other mappings, files, pids and so on; a change is "
    "exact if every state has it in one direction, between half and twice the median; values are "
    "those of the plain state"
)


class Note(Record, frozen=True):
    """One line. ``kind``: where timer ``ticks`` may be much of a change; how many ``boots``, on
    which ``machine``, what ``varied``; that times are of the ``whole`` command where counts are
    not; what *exact* means, and what ``states`` are, by which ``rule`` a change is one, which ``p``
    can be reached, a ``reason`` of a verdict, and what the noise ``floor`` is."""

    kind: Literal[
        "ticks",
        "boots",
        "machine",
        "varied",
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
    """Of all results."""
    return list(_notes(results))


def _notes(results: Results) -> Iterator[Note]:
    manifest, every = results.manifest, results.every
    yield Note(kind="boots", text=_boots(results))
    if any(run.boot for run in manifest.runs):
        text = "runs on a machine without a reboot between them count as one boot"
        yield Note(kind="machine", text=text)
    if manifest.order.vary:
        text = "each repetition had its own random numbers, user addresses and settling time"
        yield Note(kind="varied", text=text)
    for name in {one.metric.name: None for one in every if one.is_wall_time and one.of_whole}:
        text = f"{name} has all of the command, start-up too: timed runs have one length"
        yield Note(kind="whole", text=text)
    for ticks, short in _short(results).items():
        more = f", and {len(short) - _NAMED:,} more points" if len(short) > _NAMED else ""
        where = f" at {'; '.join(short[:_NAMED])}{more}" if short[0] else ""
        yield Note(
            kind="ticks", text=f"kernels differ{where} by fewer than {falls_in(ticks)} there"
        )
    changes = [change for result in every for change in result.changes if change]
    counted = (Verdict.EXACT, Verdict.DEPENDS)
    statistical = [change for change in changes if change.verdict not in counted]
    if len(statistical) < len(changes):
        text = "exact: counted, not sampled; one boot cannot show whether counts repeat"
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


def falls_in(ticks: int) -> str:
    """Why a difference below ten ticks is doubtful, and what to do."""
    what = f"{10 * ticks:,} instructions: a timer tick"
    if ticks == TICK:
        return f"{what}, some {ticks:,}, falls into a run or not; record more ops"
    return (
        f"{what} falls into a run or not, and with it up to {ticks:,} outside of interrupts; "
        "record more ops"
    )


def _short(results: Results) -> dict[int, list[str]]:
    """The settings at which one tick more would be much of an exact change, by what it is."""
    found: dict[int, list[str]] = {}
    for one in results.every:
        if one.metric.name != INSTRUCTIONS.name:
            continue
        told = beside(results.runs, one.setting, results.labels, one.collector)
        deltas = [
            abs(change.medians[1] - change.medians[0]) * (one.ops or 1)
            for change in one.changes
            if change and change.verdict is Verdict.EXACT
        ]
        if any(0 < delta < 10 * tick(told) for delta in deltas):
            found.setdefault(tick(told), []).append(one.setting.title)
    return found


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
    drawn = (
        f", in rounds of all kernels, each round in a random order (seed {manifest.order.seed}); "
        "the boot is the unit of replication"
    )
    return (
        f"{boots} boot{'' if boots == '1' else 's'} of each kernel"
        f"{' at each point' if results.swept else ''}{inside}"
        f"{drawn if results.repeated else ''}; {failed} failed run{'' if failed == 1 else 's'}"
    )


def _statistics(results: Results, changes: list[Estimate]) -> Iterator[Note]:
    rule = results.rule
    relevance, least = units.percent(rule.relevance, "g"), min(min(one.boots) for one in changes)
    yield Note(
        kind="rule",
        text=f"changed: Mann-Whitney p is at most {rule.alpha:g}, the "
        f"{units.percent(rule.confidence, 'g')} interval excludes 0, and the change is at least "
        f"{relevance}; unchanged: the interval lies within ±{relevance}; "
        "otherwise unsure",
    )
    smallest = smallest_p(least, least)
    some = f"{least} boot{'' if least == 1 else 's'}"
    text = f"with {some} against {least}, p cannot be below {smallest:.2g}"
    yield Note(kind="p", text=text)
    # Where so few boots are the reason, it has just been said.
    told = [one for one in changes if one.boots != (least, least) or smallest <= rule.alpha]
    for reason in list(dict.fromkeys(one.reason for one in told if one.reason))[:_NAMED]:
        yield Note(kind="reason", text=f"reason for unsure or not reliable: {reason}")
