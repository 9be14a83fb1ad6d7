"""The data of a suite's report, put together."""

from profdiff import __version__
from profdiff.base import guest_clock, units
from profdiff.base.metric import TRANSFERRED, Metric
from profdiff.evidence.kept_events import item_events
from profdiff.evidence.suite import SuiteResults
from profdiff.profile.events import by_name
from profdiff.session.states import RELEVANT
from profdiff.session.suite import Suite
from profdiff.views import suite_making
from profdiff.views.suite import SCHEMA, SuiteDamage, SuiteDocument

_NAMED = 8


def build(suite: Suite, threshold: float = RELEVANT) -> SuiteDocument:
    """The report of a suite's folder. Raises what ``SuiteResults.gather`` does."""
    return of_results(SuiteResults.gather(suite), threshold)


def of_results(results: SuiteResults, threshold: float = RELEVANT) -> SuiteDocument:
    """The report of what was gathered. ``threshold``: a fraction, from which a change is
    relevant."""
    others = results.labels[1:]
    metric = results.metric
    summaries = [suite_making.summary(results, label, threshold) for label in others]
    most = results.functions.largest(others[-1], suite_making.MOST_FUNCTIONS) if others else []
    return SuiteDocument(
        schema=SCHEMA,
        name=results.suite.name,
        created=results.created,
        profdiff=__version__,
        metric=metric.name if metric else "",
        unit=suite_making.unit(metric),
        better=metric.better if metric else "lower",
        banner=banner(metric),
        sentence=summaries[-1].sentence if summaries else "there is no second kernel to compare",
        threshold=threshold,
        restored=results.restored.copy().pop() if len(results.restored) == 1 else None,
        noise=suite_making.noise(results),
        summaries=summaries,
        kernels=[suite_making.kernel(one) for one in results.kernels.values()],
        cells=[suite_making.cell(results, cell, threshold) for cell in results.cells],
        functions=[suite_making.function(one, others) for one in most],
        damaged=[SuiteDamage(name, units.printable(why)) for name, why in results.damaged.items()],
        events=suite_making.over_cells([cell.events for cell in results.cells], others, by_name()),
        items=suite_making.over_cells(
            [cell.items for cell in results.cells], others, item_events()
        ),
        remarks=[*_remarks(results), *_beside(results), *_short(results, threshold)],
    )


def banner(metric: Metric | None) -> str:
    """What values are not, in one line; "" where they are times."""
    if metric is None:
        return ""
    if metric.exact or guest_clock.is_instructions(metric):
        return "Instructions, not time."
    return "Transfers of cache lines, not time." if metric.kind is TRANSFERRED else ""


def _remarks(results: SuiteResults) -> list[str]:
    told = [f"{name} is damaged, and left out: {why}" for name, why in results.damaged.items()]
    told += results.problems
    if shards := results.suite.shards:
        what = "shard" if len(shards) == 1 else "shards"
        told.append(
            f"only {what} {units.listed(shard.replace('/', ' of ') for shard in shards)}: the "
            "other runs are elsewhere (profdiff merge puts shards together)"
        )
    if lacking := results.lacking:
        count = f"{len(lacking):,} workload{' is' if len(lacking) == 1 else 's are'}"
        told.append(f"{count} not recorded yet: {units.few(lacking, _NAMED)}")
    if len(results.restored) > 1:
        told.append(
            "some workloads ran in restored machines and others in booted ones: their counts "
            "differ by what a boot leaves behind"
        )
    told += [
        f"{label}: not built: {one.hole}" for label, one in results.kernels.items() if one.hole
    ]
    return [units.printable(one) for one in told]


def _short(results: SuiteResults, threshold: float) -> list[str]:
    """In how many cells timer ticks can be much of a relevant change, or nobody knows."""
    changes = [
        [one for one in cell.changes.values() if one.relevant(threshold)] for cell in results.cells
    ]
    near = sum(any(one.near_ticks for one in some) for some in changes)
    unknown = sum(any(one.ticks_unknown for one in some) for some in changes)
    told = []
    if near:
        what = "cell that changed differs" if near == 1 else "cells that changed differ"
        told.append(
            f"{near:,} {what} by less than ten times what timer ticks alone can make: record more "
            "ops"
        )
    if unknown:
        cells = f"{units.counted(unknown, 'cell')} that changed"
        told.append(f"how many timer ticks came is not known of {cells}: a kernel has no kallsyms")
    return told


def _beside(results: SuiteResults) -> list[str]:
    """How many instructions the cells' counts leave out."""
    told = [cell.beside for cell in results.cells if cell.beside is not None]
    sums = {label: sum(one.get(label, 0) for one in told) for label in results.labels}
    if not any(sums.values()):
        return []
    counted = ", ".join(f"{label} {count:,}" for label, count in sums.items())
    return [
        f"outside the workloads, in interrupts and threads of the kernel, not included: {counted} "
        f"instructions in all ({len(told):,} of {len(results.cells):,} cells)"
    ]
