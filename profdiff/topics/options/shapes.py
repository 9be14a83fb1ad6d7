"""What is shown of the costs of options. ``docs/how-to/option-cost.md`` explains it."""

import math
from collections.abc import Iterator

from profdiff.base import units
from profdiff.evidence.cell_functions import CellFunction
from profdiff.evidence.iterations import COUNTED
from profdiff.evidence.suite import SuiteResults
from profdiff.shapes.table import Section, of_row, tabulate
from profdiff.topics.options.measure import CellCost, Costs, OptionCost

_NAMED = 6


def section(results: SuiteResults) -> Section:
    """The options of a recording, and what each changes of each cell."""
    found = Costs.of(results)
    metric = results.metric
    iterated = of_row("iterated", "word", _iterated, title="each rep", spare=1)
    cells = tabulate(
        [
            of_row("option", "name", lambda row: row.option),
            of_row("cell", "name", lambda row: row.cell),
            of_row("base", "number", lambda row: row.base, spare=1),
            of_row("value", "number", lambda row: row.value, title="with it", spare=2),
            of_row("delta", "number", lambda row: row.change.delta, shows=["delta"]),
            of_row("change", "word", lambda row: units.change(row.base, row.value)),
            of_row("relative", "bound", _relative),
            *([iterated] if any(map(_iterated, found.cells)) else []),
            of_row("op", "name", lambda row: row.op, spare=3),
            of_row("verdict", "word", lambda row: str(row.change.verdict), spare=3),
            of_row("mostly", "name", lambda row: next(map(_name, row.functions), "")),
            of_row("own", "number", _own, title="by its own", shows=["delta"], spare=2),
            of_row(
                "then", "name", lambda row: ", ".join(map(_told_of, row.functions[1:])), spare=4
            ),
        ],
        found.cells,
        name="option-cells",
        title=f"{metric.name if metric else 'nothing measured'} per op, the largest change first",
        kernels=[results.base],
        ops=None,
        limit="top",
    )
    options = tabulate(
        [
            of_row("option", "name", lambda row: row.option),
            of_row("more", "number", lambda row: row.up),
            of_row("less", "number", lambda row: row.down),
            of_row("same", "number", lambda row: row.same),
            of_row("unsure", "number", lambda row: row.unsure),
            of_row("set besides", "detail", lambda row: list(row.more)),
            of_row("changes", "detail", lambda row: row.changes and list(row.changes)),
        ],
        found.options,
        name="options",
        title="cells that cost more or less with it",
        kernels=[results.base],
        ops=None,
    )
    told = [line for one in found.options for line in _told(one)]
    named = (
        "mostly, then: the functions that make most of a change by their own counts; "
        f"each rep: the change {COUNTED}"
    )
    return Section(
        name="options",
        title="Options",
        sentences=told,
        tables=[cells, options] if found.cells else [options],
        notes=[named] if found.cells else ["No cell changes with any option."],
    )


def _iterated(row: CellCost) -> str:
    """The change with each iteration of string instructions counted, where that says something
    else."""
    found = row.change.iterated
    return units.change(*found.each) if found and found.differ() else ""


def _relative(row: CellCost) -> float | None:
    relative = row.change.relative
    return relative if math.isfinite(relative) else None


def _name(one: CellFunction) -> str:
    return one.function.name or one.function.reason


def _own(row: CellCost) -> float | None:
    return next((one.delta for one in row.functions), None)


def _told_of(one: CellFunction) -> str:
    return f"{_name(one)} {units.delta(one.delta, per_op=True)}"


def _told(option: OptionCost) -> Iterator[str]:
    """What an option takes, and changes, of the config."""
    if option.hole:
        yield f"{option.option}: not built: {option.hole}"
    if option.more:
        yield f"{option.option} needs {units.few(option.more, _NAMED)}"
    if option.changes:
        yield f"{option.option} also changes {units.few(option.changes, _NAMED)}"
