"""What the report of a suite shows, made of what was gathered."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import relpath
from typing import Any

from profdiff.base import units
from profdiff.base.metric import Metric
from profdiff.evidence.cell_functions import CellFunction, FunctionSum
from profdiff.evidence.events import ChangedEvent
from profdiff.evidence.iterations import COUNTED
from profdiff.evidence.statistics import Verdict
from profdiff.evidence.suite import SuiteResults
from profdiff.evidence.suite_cells import CellChange, SuiteCell
from profdiff.profile.events import Event
from profdiff.session.manifest import Kernel
from profdiff.views import suite
from profdiff.views.kernels.facts import variant
from profdiff.views.record import side
from profdiff.views.results.recording import shown_command
from profdiff.views.suite import SuiteCellEvent, SuiteEvent

# By label of each kernel of which they are known.
Changed = Mapping[str, Sequence[ChangedEvent]]


def of_cell(changed: Changed, labels: Sequence[str]) -> dict[str, list[SuiteCellEvent]]:
    """Those of a cell; labels in the order of the kernels."""
    return {
        label: [of_kernel(found) for found in changed[label]]
        for label in labels
        if label in changed
    }


def over_cells(
    cells: Sequence[Changed], others: Sequence[str], known: Mapping[str, Event]
) -> list[SuiteEvent]:
    """Those of ``known`` that changed in some cell; ``others``: the kernels but the base."""
    more, fewer = ({label: _cells(cells, label, way) for label in others} for way in (True, False))
    found = [
        SuiteEvent(
            event=event.name,
            is_what=event.told,
            more={label: more[label][event.name] for label in others},
            fewer={label: fewer[label][event.name] for label in others},
        )
        for event in known.values()
        if any(by[label][event.name] for by in (more, fewer) for label in others)
    ]
    last = others[-1:]
    return sorted(found, key=lambda one: -sum(one.more[at] + one.fewer[at] for at in last))


def _cells(cells: Sequence[Changed], label: str, more: bool) -> Mapping[str, int]:
    """By event in how many cells a kernel has more of it, or fewer."""
    return Counter(
        found.event.name
        for one in cells
        for found in one.get(label, ())
        if (found.other > found.base) == more
    )


def of_kernel(found: ChangedEvent) -> SuiteCellEvent:
    """One of a cell on a kernel."""
    return SuiteCellEvent(
        event=found.event.name, base=found.base, value=found.other, states=found.states
    )


MOST_FUNCTIONS = 200
_NAMED = 3
VERDICTS: Mapping[Verdict, suite.Verdict] = {
    Verdict.EXACT: "exact",
    Verdict.CHANGED: "changed",
    Verdict.UNCHANGED: "unchanged",
    Verdict.UNSURE: "unsure",
    Verdict.DEPENDS: "depends on state",
}
# The options that say where a recording goes, and which of a suite's cells it is of.
_PLACE = ("--output", "-o")
_EXTENT = ("--only", "--tag", "--shard", "--cluster")


def kernel(one: Kernel) -> suite.SuiteKernel:
    """A kernel."""
    return suite.SuiteKernel(
        label=one.label,
        release=one.release,
        build_id=one.build_id,
        compiler=one.compiler,
        variant=variant(one),
    )


def cell(results: SuiteResults, one: SuiteCell, threshold: float) -> suite.SuiteCell:
    """A cell; labels in the order of the kernels."""
    labels = results.labels
    return suite.SuiteCell(
        name=one.name,
        workload=one.workload.name,
        part=one.part,
        point=dict(one.setting.parameters),
        cpus=one.setting.cpus,
        tags=list(one.workload.tags),
        op=one.workload.op,
        about=one.workload.about,
        session=relpath(one.folder, results.suite.folder),
        at=",".join(f"{name}={one.setting.value(name)}" for name in one.setting.varied),
        command=shlex.join(shown_command(one.argv)),
        values=_values(one, labels),
        per_op=one.per_op,
        changes=_changes(one, labels, threshold),
        missing={
            label: suite.SuiteMissing(
                kind=one.absent[label].kind,
                why=units.printable(one.absent[label].why),
                lacks=units.printable(one.absent[label].lacks),
            )
            if label in one.absent
            else suite.SuiteMissing(kind="not recorded", why="no run was recorded yet")
            for label in labels
            if label not in one.values
        },
        functions={
            label: [cell_function(found) for found in one.functions[label]]
            for label in labels
            if label in one.functions
        },
        seats={label: cell_function(one.seats[label]) for label in labels if label in one.seats},
        noise=one.noise,
        reproduce=reproduce(results.suite.command, one.name, alone=results.suite.alone),
        further=[
            suite.SuiteFurther(
                metric=other.metric.name,
                unit=unit(other.metric),
                values=_values(other, labels),
                changes=_changes(other, labels, threshold),
            )
            for other in one.further
            if other.metric
        ],
        events=of_cell(one.events, labels),
        items=of_cell(one.items, labels),
    )


def _values(one: SuiteCell, labels: Sequence[str]) -> dict[str, float | None]:
    return {label: one.values.get(label) for label in labels}


def _changes(
    one: SuiteCell, labels: Sequence[str], threshold: float
) -> dict[str, suite.SuiteChange]:
    return {
        label: _change(one.changes[label], threshold) for label in labels if label in one.changes
    }


def reproduce(command: Sequence[str], name: str, *, alone: bool = False) -> str:
    """The suite's command line for one cell alone, into a folder of its own. What stands behind
    ``--`` is the workload's. ``alone``: it is that of a session, which has no other cells."""
    end = command.index("--") if "--" in command else len(command)
    kept: list[str] = []
    words = iter(command[:end])
    dropped = _PLACE if alone else (*_PLACE, *_EXTENT)
    for word in words:
        option, equals, _ = word.partition("=")
        if word in dropped:
            next(words, None)  # its value
        elif not (option in dropped and equals) and not word.startswith("-o"):
            kept.append(word)
    folder = re.sub(r"[^A-Za-z0-9._+-]+", "-", name)
    only = [] if alone else ["--only", name]
    return shlex.join([*kept, *only, "-o", f"{folder}.profdiff", *command[end:]])


def function(found: FunctionSum, others: Sequence[str]) -> suite.SuiteFunction:
    """A function over all cells; ``others``: the kernels but the base."""
    key = found.function
    return suite.SuiteFunction(
        name=key.name,
        object=key.object,
        side=side(key.in_kernel),
        up={label: found.up.get(label, 0) for label in others},
        down={label: found.down.get(label, 0) for label in others},
        points={label: found.points.get(label, 0.0) for label in others},
    )


def summary(results: SuiteResults, label: str, threshold: float) -> suite.SuiteSummary:
    """One kernel against the base."""
    metric = results.metric
    compared = [one.changes[label] for one in results.cells if label in one.changes]
    happened = [one.events[label] for one in results.cells if label in one.events]
    items = [one.items[label] for one in results.cells if label in one.items]
    relevant = [one for one in compared if one.relevant(threshold)]
    depend = sum(one.depends(threshold) for one in compared)
    iterated = sum(one.rests(threshold) is not None for one in compared)
    more = sum(is_worse(metric, one.delta) for one in relevant)
    kinds = [one.absent[label].kind for one in results.cells if label in one.absent]
    less = len(relevant) - more
    # Those whose own counts go the way of most cells.
    worse = more >= less
    up = worse == is_worse(metric, 1)
    names = results.functions.names(label, _NAMED, up=up) if relevant else []
    both = name_of(results, label), name_of(results, results.base)
    counts = more, less, depend, iterated, len(compared)
    told = [_sentence(metric, both, counts, threshold, names)]
    told += [_further(results, label, threshold, one) for one in _further_metrics(results)]
    return suite.SuiteSummary(
        kernel=label,
        compared=len(compared),
        more=more,
        less=less,
        depend=depend,
        other=len(compared) - len(relevant) - depend,
        not_there=kinds.count("not there"),
        failed=kinds.count("failed"),
        not_recorded=kinds.count("not recorded"),
        functions=names,
        sentence="; ".join(told),
        events=sum(map(bool, happened)),
        events_known=len(happened),
        iterated=iterated,
        items=sum(map(bool, items)),
        items_known=len(items),
    )


def _further_metrics(results: SuiteResults) -> list[Metric]:
    return list(
        dict.fromkeys(
            other.metric for one in results.cells for other in one.further if other.metric
        )
    )


def _further(results: SuiteResults, label: str, threshold: float, metric: Metric) -> str:
    """A clause on the changes by a metric beside the suite's."""
    changes = [
        other.changes[label]
        for one in results.cells
        for other in one.further
        if other.metric == metric and label in other.changes
    ]
    relevant = [change for change in changes if change.relevant(threshold)]
    more = sum(is_worse(metric, one.delta) for one in relevant)
    return said(metric, more, len(relevant) - more, len(changes), threshold)


def said(metric: Metric | None, more: int, less: int, compared: int, threshold: float) -> str:
    """In how many cells of those that can be ``compared`` there is relevantly more, or less."""
    least = units.percent(threshold, "g")
    cells = "cell" if compared == 1 else "cells"
    if metric is not None and metric.kind.per_op:
        what = metric.name.replace("-", " ")
        verb = "has" if more == 1 else "have"
        return (
            f"{more:,} of {compared:,} {cells} {verb} at least {least} more {what}, {less:,} fewer"
        )
    verb, up, down = (
        ("cost" if more != 1 else "costs", "more", "less")
        if metric is None or metric.better == "lower"
        else ("are" if more != 1 else "is", "lower", "higher")
    )
    return (
        f"{more:,} of {compared:,} {cells} {verb} at least {least} {up}, "
        f"{less:,} at least {least} {down}"
    )


def noise(results: SuiteResults) -> suite.SuiteNoise | None:
    """A/A; None where the base has no twin in any cell."""
    twins = [one.twin for one in results.cells if one.twin is not None]
    if not twins:
        return None
    differ, unsure = twins.count("differs"), twins.count("unsure")
    verb = "differs" if differ == 1 else "differ"
    what = "cell" if len(twins) == 1 else "cells"
    said = f"A/A: {differ:,} of {len(twins):,} {what} {verb}"
    return suite.SuiteNoise(
        cells=len(twins),
        differ=differ,
        unsure=unsure,
        sentence=f"{said}, {unsure:,} unsure" if unsure else said,
    )


def name_of(results: SuiteResults, label: str) -> str:
    """What a sentence calls a kernel: its release, if that tells it from all others."""
    own = results.kernels[label].release
    return units.printable(own if own and results.releases[own] == 1 else label)


def unit(metric: Metric | None) -> str:
    """The unit of values, where *per op* is said apart from it."""
    return metric.unit.removesuffix(" per op") if metric else ""


def is_worse(metric: Metric | None, delta: float) -> bool:
    """Whether a change is one for the worse."""
    return delta < 0 if metric and metric.better == "higher" else delta > 0


def _change(one: CellChange, threshold: float) -> suite.SuiteChange:
    iterated = one.rests(threshold)
    each = iterated.each.relative if iterated else math.nan
    return suite.SuiteChange(
        relative=None if math.isnan(one.relative) else one.relative,
        delta=one.delta,
        verdict=VERDICTS[one.verdict],
        relevant=one.relevant(threshold),
        **seen(one),
        depends=one.depends(threshold),
        differs=units.printable(one.differ.name) if one.differ else "",
        iterated=None if math.isnan(each) else each,
    )


def seen(one: CellChange) -> dict[str, Any]:
    """In how many states a change was seen, and the lowest and the highest of several."""
    several = one.states > 1 and not math.isnan(one.low)
    low, high = (one.low, one.high) if several else (None, None)
    return {"states": one.states, "low": low, "high": high}


def cell_function(one: CellFunction) -> suite.SuiteCellFunction:
    """A function's part of a delta."""
    key = one.function
    return suite.SuiteCellFunction(
        name=key.name,
        object=key.object,
        side=side(key.in_kernel),
        delta=one.delta,
        share=one.share,
    )


def _sentence(
    metric: Metric | None,
    kernels: tuple[str, str],
    counts: tuple[int, int, int, int, int],
    threshold: float,
    names: Sequence[str],
) -> str:
    """``kernels``: the other one and the base; ``counts``: of cells that cost more and less, that
    depend on state, and that rest on how iterations count, of how many."""
    other, base = kernels
    more, less, depend, iterated, compared = counts
    if not compared:
        return f"{other} against {base}: no cell can be compared"
    text = f"{other} against {base}: {said(metric, more, less, compared, threshold)}"
    if depend:
        text += f"; {depend:,} {'depends' if depend == 1 else 'depend'} on state"
    if iterated:
        cells = "cell changes" if iterated == 1 else "cells change"
        text += f"; {iterated:,} {cells} otherwise {COUNTED}"
    if not names:
        return text
    told = ", ".join(units.printable(name) for name in names)
    what = "functions that make" if len(names) > 1 else "function that makes"
    return f"{text}; the {what} most of it over all cells: {told}"
