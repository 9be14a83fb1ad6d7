"""The table of calls as text: how often functions are called, and what one call costs."""

from profdiff.base import units
from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.views.profile import functions
from profdiff.views.profile.calls import calls
from profdiff.views.profile.functions import Rows

_LEGENDS = {
    "total": "total: includes callees",
    "no call": "no call: {} of inlined copies, which self and total leave out",
}


def render(comparison: Comparison, rows: Rows, numbers: Numbers, width: int) -> list[Block]:
    """The shown functions that some kernel calls; nothing if there are none. Calls of different
    functions do not add up to anything, so there is no tail. For each function calls times *self*
    and *no call* together are its counts in the function table."""
    counted = calls(comparison, rows.shown) or []
    named = zip(functions.functions(comparison, rows.shown), counted, strict=False)
    shown = [(function.title, one) for function, one in named if any(one.calls.values())]
    if not shown:
        return []
    labels, inlined = comparison.labels, any(any(one.no_call.values()) for _, one in shown)
    titles = {"calls": 0, "self": 0, "total": 2, "no call": 1}
    if not inlined:
        del titles["no call"]
    columns = [
        Column(f"{title} {label}", part=part, spare=spare)
        for title, spare in titles.items()
        for part, label in enumerate(labels)
    ]
    body = [
        [
            *map(numbers.count, one.calls.values()),
            *(_each(one.self[label], one.calls[label]) for label in labels),
            *(_each(one.total[label], one.calls[label]) for label in labels),
            *(map(numbers.count, one.no_call.values()) if inlined else ()),
            name,
        ]
        for name, one in shown
    ]
    title = f"calls{numbers.title} and {comparison.metric.title} per call"
    blocks = draw(title, [*columns, Column("function", name=True)], body, width)
    seen = {column for block in blocks for column in block.shown}
    counted_in = f"{comparison.metric.title}{' per op' if numbers.ops else ''}"
    told = [
        legend.format(counted_in)
        for title, legend in _LEGENDS.items()
        if any(f"{title} {label}" in seen for label in labels)
    ]
    blocks[-1].tail.extend(units.wrap("; ".join(told), width) if told else [])
    return blocks


def _each(value: int | None, calls: int) -> str:
    if value is None or not calls:
        return "-"
    return units.count(value / calls, per_op=True)
