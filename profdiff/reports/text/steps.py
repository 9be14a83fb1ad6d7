"""The functions of each step of a ladder as text."""

from profdiff.base import units
from profdiff.evidence.same_code import same_code
from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.reports.text.functions import one_boot
from profdiff.session.session import Session
from profdiff.views.profile.steps import Step, StepFunction, steps
from profdiff.views.record import Side

TOP = 5
# What changes more than a part of the whole has changed code: it is not compared.
_SMALL = 0.01


def render(
    comparison: Comparison,
    side: Side | None,
    numbers: Numbers,
    width: int,
    top: int | None = TOP,
    session: Session | None = None,
) -> list[Block]:
    """A step's whole, then its functions; nothing for two kernels. Each delta is to the kernel
    before. With a ``session``, small steps say where no executed code differs."""
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
    small = [one for one in found if abs(one.delta) <= _SMALL * one.before]
    same = same_code(session, ((one.previous, one.kernel) for one in small)) if session else ()
    rows = [row for one in found for row in _rows(one, numbers, same=one.kernel in same)]
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
        doubt = _doubt(one)
        most = [("", doubt)] if doubt else most
        change = numbers.change(one.before, one.after)
        rows.append([one.kernel, numbers.delta(one.delta), change, *most[0]])
    columns = [Column("kernel", name=True), Column("delta"), Column("change", spare=1)]
    columns += [Column("most"), Column("function", name=True)]
    what = f"{comparison.metric.name}{' per op' if ops else ''}"
    title = f"Each kernel against the one before{at} ({what}):"
    return draw(title, columns, rows, width) if rows else []


def _doubt(step: Step) -> str:
    """Why it may be no step of the kernel; "" where nothing says so."""
    if step.depends:
        return "depends on state"
    return "unsure: it may be chance" if step.unsure else ""


def _rows(step: Step, numbers: Numbers, *, same: bool) -> list[list[str]]:
    rows = [[step.kernel, *_numbers(step, numbers), f"all, from {step.previous}"]]
    doubt = _doubt(step)
    rows += [[*[""] * 5, doubt]] if doubt else []
    if same:
        rows.append([*[""] * 5, "same code in all executed functions"])
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
