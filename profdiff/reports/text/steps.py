"""The functions of each step of a ladder as text."""

from profdiff.base import units
from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions.shapes import one_boot
from profdiff.views.profile.steps import Step, StepFunction, steps
from profdiff.views.record import Side

TOP = 5


def render(
    comparison: Comparison,
    side: Side | None,
    numbers: Numbers,
    width: int,
    top: int | None = TOP,
) -> list[Block]:
    """A step's whole, then its functions; nothing for two kernels. Each delta is to the kernel
    before."""
    found = steps(comparison, TOP if top is None else min(top, TOP), side)
    if not found:
        return []
    columns = [
        Column("kernel", name=True),
        Column("before", spare=2),
        Column("after", spare=1),
        Column("delta"),
        Column(numbers.relative),
        Column("function", name=True),
    ]
    rows = [row for step in found for row in _rows(step, numbers)]
    title = f"{comparison.metric.title}{numbers.title}: each kernel against the one before"
    return draw(f"{title}{one_boot(comparison)}", columns, rows, width)


def in_short(comparison: Comparison, ops: int | None, width: int, at: str = "") -> list[Block]:
    """A line for each kernel of a ladder with exact counts: how much more or less than the one
    before it executes, and the function that changed most; nothing for two kernels. ``at``: the
    point, as a title has it."""
    numbers = Numbers(ops)
    rows = []
    for one in steps(comparison, 1):
        most = [(numbers.delta(own.delta), own.title) for own in one.functions] or [("", "none")]
        if one.notes:
            most = [("", "; ".join(one.notes))]
        change = numbers.change(one.before, one.after)
        rows.append([one.kernel, numbers.delta(one.delta), change, *most[0]])
    columns = [Column("kernel", name=True), Column("delta"), Column("change", spare=1)]
    columns += [Column("most"), Column("function", name=True)]
    what = f"{comparison.metric.name}{' per op' if ops else ''}"
    title = f"Each kernel against the one before{at} ({what}):"
    return draw(title, columns, rows, width) if rows else []


def _rows(step: Step, numbers: Numbers) -> list[list[str]]:
    rows = [[step.kernel, *_numbers(step, numbers), f"all, from {step.previous}"]]
    rows += [[*[""] * 5, note] for note in step.notes]
    rows += [["", *_numbers(one, numbers), one.title] for one in step.functions]
    if step.others:
        name = units.counted(step.others, "more function")
        rows.append(["", "", "", numbers.delta(step.rest), "", name])
    elif step.rest:
        rows.append(["", "", "", numbers.delta(step.rest), "", "unresolved"])
    return rows


def _numbers(one: Step | StepFunction, numbers: Numbers) -> list[str]:
    return [
        numbers.count(one.before),
        numbers.count(one.after),
        numbers.delta(one.delta),
        numbers.change(one.before, one.after),
    ]
