"""What must be known of an experiment's values: how they came about and what they can tell; and the
answers of timed runs, a sentence each."""

from collections.abc import Iterator
from typing import Literal

from profdiff.collectors import registry
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, Verdict, smallest_p
from profdiff.session.points import Setting
from profdiff.views.record import Record
from profdiff.views.result import bounds, delta, judged, number, title

_ANSWERED = 2
_NAMED = 3


class Note(Record, frozen=True):
    """One line. ``kind``: how many ``boots``, on which ``machine``, what ``varied``; what *exact*
    means, by which ``rule`` a change is one, which ``p`` can be reached, a ``reason`` of a verdict,
    and what the noise ``floor`` is."""

    kind: Literal["boots", "machine", "varied", "counts", "rule", "p", "reason", "floor"]
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
    changes = [change for result in every for change in result.changes if change]
    statistical = [change for change in changes if change.verdict is not Verdict.EXACT]
    if len(statistical) < len(changes):
        text = "exact: counted, not sampled; one boot cannot show whether counts repeat"
        if results.repeated:
            text = "exact: counts that are equal in every boot; they need no statistics"
        yield Note(kind="counts", text=text)
    if statistical:
        yield from _statistics(results, statistical)
    if any(result.noise is not None for result in every):
        text = f"A/A: how much {results.labels[0]} differs from itself; a smaller change is noise"
        yield Note(kind="floor", text=text)


def _boots(results: Results) -> str:
    manifest = results.manifest
    counts = sorted({len(cell.boots) for result in results.every for cell in result.cells})
    boots = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
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
    relevance, least = f"{100 * rule.relevance:g} %", min(min(one.boots) for one in changes)
    yield Note(
        kind="rule",
        text=f"changed: Mann-Whitney p is at most {rule.alpha:g}, the {100 * rule.confidence:g} % "
        f"interval excludes 0, and the change is at least {relevance}; unchanged: the interval "
        f"lies within ±{relevance}; otherwise unsure (docs/statistics.md)",
    )
    smallest = smallest_p(least, least)
    some = f"{least} boot{'' if least == 1 else 's'}"
    text = f"with {some} against {least}, p cannot be below {smallest:.2g}"
    yield Note(kind="p", text=text)
    # Where so few boots are the reason, it has just been said.
    told = [one for one in changes if one.boots != (least, least) or smallest <= rule.alpha]
    for reason in list(dict.fromkeys(one.reason for one in told if one.reason))[:_NAMED]:
        yield Note(kind="reason", text=f"reason for unsure or not reliable: {reason}")


def answers(results: Results, setting: Setting) -> list[str]:
    """One sentence for each metric that timed runs measured and each kernel but the base."""
    timed = [one for one in results.at(setting) if not registry.collector(one.collector).profiles]
    # What the workload says of itself comes before the time of the whole command.
    timed.sort(key=lambda one: one.is_wall_time)
    return [
        _answer(results, result, label, change)
        for result in timed[:_ANSWERED]
        for label, change in zip(results.labels, result.changes, strict=True)
        if change is not None
    ]


def _answer(results: Results, result: Result, label: str, change: Estimate) -> str:
    base, other = map(number, change.medians)
    interval, at = bounds(change), result.setting.title
    sure = f", {100 * results.rule.confidence:g} % interval {interval}"
    return (
        f"{title(result)} is {other} on {label} and {base} on {results.labels[0]}"
        f"{f' at {at}' if at else ''}: {delta(change)}"
        f"{sure if interval and not interval.exact else ''} ({judged(change)}"
        f"{', instruction counts from an emulated clock' if result.virtual else ''})."
    )
