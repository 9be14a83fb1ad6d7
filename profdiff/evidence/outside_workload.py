"""What runs outside the workload: interrupts and threads of the kernel, and the tick floor: how
much timer ticks can add to an exact count, so that a smaller change may be chance. Which ticks fall
into a run depends on its phase; ``docs/exact-collector.md`` has what was measured."""

from collections.abc import Iterable, Sequence
from statistics import median_low

from msgspec.structs import replace

from profdiff.base import units
from profdiff.evidence.statistics import Estimate, Rule, Verdict
from profdiff.profile.comparison import Comparison
from profdiff.session.manifest import Run
from profdiff.session.points import Cells, Setting, cells


def beside(
    runs: Cells, setting: Setting, labels: Sequence[str], collector: str
) -> dict[str, int] | None:
    """By kernel, at a setting; of two lengths, in both; the (lower) median over boots. None
    where some run does not tell it from the workload's own context."""
    found = {}
    for label in labels:
        counted = []
        for point in setting.points:
            told = [
                run.instructions.beside
                for run in runs.get((label, collector, point), ())
                if run.failure is None and run.instructions is not None
            ]
            known = [one for one in told if one is not None]
            if not known or len(known) < len(told):
                return None
            counted.append(median_low(known))
        found[label] = sum(counted)
    return found


def of_comparison(comparison: Comparison) -> dict[str, int] | None:
    """By kernel of a comparison; None also where nothing was counted."""
    if all(run.instructions is None for run in comparison.runs):
        return None
    collector = comparison.runs[0].collector
    return beside(cells(comparison.manifest), comparison.setting, comparison.labels, collector)


# The most that one tick costs in the workload's own context, and that each of many costs.
ONE_TICK, _EACH = 7_000, 3_000
# The part of a value of a guest's clock that interrupts can be: interrupts took up to 3.4% of
# windows with 10 ticks and more.
GUEST_CLOCK = 0.05
# A tick with what it wakes, where interrupts are part of the count.
_WHOLE = 10_000


def tick_floor(runs: Sequence[Sequence[Run]]) -> int | None:
    """In instructions, of a kernel's runs at a point, or at each of two lengths of which one is
    subtracted; 0 where no tick came, None where no one knows.

    Runs of two lengths are the same up to where the shorter one ends, and so are their ticks.
    """
    ticks, every_known = [], True
    for some in runs:
        counted = [run.instructions for run in some if run.failure is None]
        known = [one for one in counted if one is not None]
        if not known or len(known) < len(counted):
            return None
        every_known &= all(one.beside is not None for one in known)
        found = [one.interrupts for one in known if one.interrupts is not None]
        if len(found) < len(known):
            return None
        ticks.append(median_low(found))
    if not any(ticks):
        return 0
    differ = ticks[0] if len(ticks) == 1 else abs(ticks[1] - ticks[0]) + 1
    return max(ONE_TICK, differ * _EACH) if every_known else max(1, differ) * _WHOLE


def larger(floors: Iterable[float | None]) -> float | None:
    """The tick floor of a difference of values that have these; None where one is not known."""
    every = list(floors)
    known = [one for one in every if one is not None]
    return max(known, default=0.0) if len(known) == len(every) else None


def within_ticks(base: float, other: float, floor: float | None, rule: Rule) -> Verdict | None:
    """What an exact change is that timer ticks can make: *unsure*, or *unchanged* where they cannot
    make it relevant either. None where it is more; equal counts are not change."""
    delta = abs(other - base)
    if not delta or floor is None or delta > floor:
        return None
    if base > 0 and delta + floor < rule.relevance * base:
        return Verdict.UNCHANGED
    return Verdict.UNSURE


def above_ticks(found: Estimate, floor: float | None, rule: Rule) -> Estimate:
    """The same with ``floor``, in the metric's unit, and ``within_ticks``. Several states have
    shown what ticks do."""
    base, other = found.medians
    if found.verdict is not Verdict.EXACT or found.states > 1 or base == other:
        return found
    found = replace(found, tick_floor=floor)
    verdict = within_ticks(base, other, floor, rule)
    if verdict is None or floor is None:
        return found
    reason = f"timer ticks alone can make a difference of {units.digits(floor)}"
    return replace(found, verdict=verdict, reason=reason if verdict is Verdict.UNSURE else "")
