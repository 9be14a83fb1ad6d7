"""What is shown of functions: the tables of exact counts and of samples, those of a mail and of
calls, and all functions for programs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from profdiff.base import units
from profdiff.evidence.blame.renamed import other_names
from profdiff.evidence.outside_workload import of_comparison
from profdiff.profile.comparison import Comparison, Side
from profdiff.shapes.table import (
    Cell,
    Cells,
    Kind,
    Note,
    Shows,
    Table,
    by_figure,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.functions import marks, measure
from profdiff.topics.functions.measure import Calls, Counts, Line, Rows

OUTSIDE = "outside the workload"


def exact(comparison: Comparison, rows: Rows) -> Table:
    """Exact counts, and what makes up the change of a second kernel."""
    base, *others = comparison.labels
    lines = measure.lines(comparison, rows)
    columns = [_count(base)]
    names = other_names(comparison, 1) if len(others) == 1 else {}
    for other in others:
        columns.append(_count(other))
        columns += [_differs(base, other, "change", spare=1)] if len(others) > 1 else []
    if len(others) == 1:
        whole = lines[-1].self[other] - lines[-1].self[base]

        def share(line: Line, _: str) -> Cell:
            outside = line.what == "outside"
            return "" if outside else _part(line.self[other] - line.self[base], whole)

        def total(line: Line, _: str) -> Cell:
            """The shorter of two lengths can have executed more below a function: then the
            difference is not a total of it."""
            is_total = all(line.total[label] >= line.self[label] for label in (base, other))
            return line.total[other] - line.total[base] if is_total else "-"

        if verdicts := measure.verdicts(comparison, rows.shown):
            of = {(number,): one for number, one in zip(rows.shown.tolist(), verdicts, strict=True)}
            columns.append(of_row("verdict", "word", lambda line: of.get(tuple(line.numbers), "")))
        columns += [
            _differs(base, other, "delta"),
            _differs(base, other, "change", spare=1),
            of_kernel(other, "share", "share", share, title="share", spare=2),
            _differs(base, other, "delta", "total delta", 3, cell=total),
            *_renamed(comparison, 1, names),
        ]
    outside = ran_outside(comparison, rows.side)
    tail = [Line(what="outside", title=OUTSIDE, self=outside, total=outside)] if outside else []
    remark = one_boot(comparison)
    about: dict[str, Any] = {"title": comparison.metric.title, "kernels": comparison.labels}
    about["remark"] = remark
    about["legend"] = _renames(comparison, names, rows.shown.tolist())
    return _table(columns, [*lines, *tail], ops=comparison.ops, **about)


def _renames(comparison: Comparison, names: Mapping[int, int], shown: Sequence[int]) -> list[Note]:
    """Which of the functions ``shown`` have another name on the base."""
    functions, known = comparison.functions, set(shown)
    pairs = [
        f"{functions[old].name} to {functions[new].name}"
        for new, old in names.items()
        if not known.isdisjoint((old, new))
    ]
    why = "same file, same callers, similar cost"
    told = f"renamed, as far as can be told: {units.few(pairs, 5)} ({why})"
    return [Note(text=told)] if pairs else []


def _renamed(comparison: Comparison, kernel: int, names: Mapping[int, int]) -> list[Cells]:
    """A column with the other name of functions that a kernel and the base call otherwise;
    ``names``: the base's by the kernel's."""
    known = {**names, **{old: new for new, old in names.items()}}

    def other(line: Line, _: str) -> Cell:
        number = known.get(line.numbers[0]) if line.what == "function" else None
        return None if number is None else comparison.functions[number].name

    return [of_kernel(comparison.labels[kernel], "renamed", "bound", other)] if known else []


def one_boot(comparison: Comparison) -> str:
    """What a title says where boots differ, and one stands for each kernel."""
    if not comparison.scattered:
        return ""
    return "; of each kernel, the boot with the median total stands for all"


def ran_outside(comparison: Comparison, side: Side | None) -> Counts | None:
    """What ran outside the workload, in user space nothing; None, too, where nobody knows."""
    counted = of_comparison(comparison) if side != "user" else None
    return counted if counted and any(counted.values()) else None


def sampled(comparison: Comparison, rows: Rows, beside: Comparison | None) -> Table:
    """Shares, deltas, and sample counts; ``beside``: instructions, set beside cycles."""
    base, *others = labels = comparison.labels
    lines = measure.lines(comparison, rows, beside)
    columns = [_count(label, "detail" if others else "count") for label in labels]
    columns += [_share(label, lines[-1], label if others else "share") for label in labels]
    for other in others:
        if len(others) > 1:
            columns.append(_differs(base, other, "change", f"change {other}", 2))
            columns += (
                [_differs(base, other, "change", f"instr. {other}", 2, "work")] if beside else []
            )
            continue
        columns += [_differs(base, other, "delta", spare=1), _differs(base, other, "change")]
        if beside:
            columns.append(_differs(base, other, "delta", "instr. delta", 5, "work"))
            columns.append(_differs(base, other, "change", "instr.", 2, "work"))
    if beside:
        columns += [_count(label, "detail", "work") for label in labels]
        columns += [
            of_kernel(label, "CPI", "word", _per_instruction, title=f"CPI {label}", spare=4)
            for label in labels
        ]
    columns.append(of_row("samples", "word", _samples, spare=3))
    columns += [of_row("marks", "word", lambda line: line.marks, title="")] if others else []
    signs = {sign for line in lines for sign in line.marks}
    legend = [Note(text=f"{sign} {text}") for sign, text in marks.LEGEND.items() if sign in signs]
    about = {"title": f"{comparison.metric.title}, sampled", "kernels": labels, "legend": legend}
    remark = f": share of each kernel's total{', with instructions' if beside else ''}"
    return _table(columns, lines, ops=comparison.ops, remark=remark, **about)


def changed(comparison: Comparison, kernel: int, top: int) -> Table:
    """The functions that changed most on a kernel, at most ``top``, and what makes up the rest, for
    a mail: without rows where none did."""
    pair = base, other = comparison.labels[0], comparison.labels[kernel]
    deltas = np.abs(comparison.deltas()[:, kernel])
    order, most = np.argsort(-deltas, kind="stable"), min(top, int(np.count_nonzero(deltas)))
    rest = order[most:][comparison.self_[order[most:]][:, [0, kernel]].any(axis=1)]
    *lines, whole = measure.lines(comparison, Rows(order[:most], rest, None))
    sums = {"hidden": units.counted(len(rest), "other function"), "unresolved": "unresolved"}
    for what, title in sums.items():
        own = [line.self for line in lines if line.what == what]
        lines = [line for line in lines if line.what != what]
        counts = {label: sum(one[label] for one in own) for label in pair}
        if what == "hidden" or any(counts.values()):
            lines.append(Line(what="hidden", title=title, self=counts, total=counts))
    exact = comparison.metric.exact
    columns = [_count(label, "count" if exact else "detail") for label in pair]
    columns += [] if exact else [_share(label, whole, label) for label in pair]
    columns += [_differs(base, other, "delta", spare=1), _differs(base, other, "change", spare=2)]
    names = other_names(comparison, kernel)
    columns += _renamed(comparison, kernel, names)
    about: dict[str, Any] = {
        "kernels": [*pair],
        "legend": _renames(comparison, names, order[:most].tolist()),
    }
    return _table(columns, [*lines, whole], title="", ops=comparison.ops, **about)


def side_by_side(
    lines: Sequence[Line],
    parts: Mapping[str, tuple[str, str]],
    absent: str,
    details: Sequence[Cells],
    **about: Any,
) -> Table:
    """The table of several parts, by name the labels of two kernels of each; ``absent``: what
    stands for a line that a part does not have."""
    columns = []
    for name, (base, other) in parts.items():
        whole = lines[-1].self
        delta = whole[other] - whole[base] if other in whole else 0

        def share(line: Line, label: str, base: str = base, delta: int = delta) -> Cell:
            known = label in line.self
            return _part(line.self[label] - line.self[base], delta) if known else absent

        columns += [
            of_kernel(other, "self", "detail", lambda line, k: line.self.get(k), title=name),
            _differs(base, other, "delta", absent=absent),
            _differs(base, other, "change", spare=1, absent=absent),
            of_kernel(other, "share", "share", share, title="share", spare=2, of="self"),
        ]
    kernels = [other for _, other in parts.values()]
    return _table([*columns, *details], lines, kernels=kernels, grouped=True, **about)


def every(
    metric: str,
    groups: Sequence[Sequence[str]],
    lines: Sequence[Line],
    figures: Mapping[str, Callable[[Line, str], Cell]],
    details: Sequence[Cells] = (),
) -> Table:
    """All functions of a metric for programs. ``groups``: the labels of kernels that are compared,
    the base first. ``figures``: what is counted besides. The step of a kernel of
    the only group is to the one before it; that of the first behind the base is its delta."""
    labels = [label for group in groups for label in group]
    shown: dict[str, Callable[[Line, str], Cell]] = {
        "self": lambda line, label: line.self.get(label),
        # Totals overlap: their sum would count what is inlined more than once.
        "total": lambda line, label: None if line.what == "hidden" else line.total.get(label),
        **figures,
    }
    counts = [
        of_kernel(label, name, "count", cell, title=name)
        for name, cell in shown.items()
        for label in labels
    ]
    pairs = [("delta", group[0], label) for group in groups for label in group[1:]]
    if len(groups) == 1:
        pairs += [("step", *pair) for pair in pairwise(groups[0][1:])]
    names = ("name", "object", "file", "side")
    columns = [
        of_row("metric", "name", lambda _: metric),
        *(of_row(name, "name", attrgetter(name)) for name in names),
        *counts,
        *(_differs(before, label, "delta", name) for name, before, label in pairs),
        *details,
    ]
    return tabulate(columns, name="functions", title=metric, kernels=labels, ops=None, rows=lines)


def times_called(comparison: Comparison) -> Callable[[Line, str], int | None]:
    """How often a function was called on a kernel; None where that was not counted."""
    labels, end = comparison.labels, len(comparison.functions) + len(comparison.unnamed)
    if comparison.calls is None:
        return lambda line, label: None
    counts = comparison.stacks.self_by_function(comparison.calls, end)

    def times(line: Line, label: str) -> int | None:
        own = line.what == "function"
        return int(counts[line.numbers[0], labels.index(label)]) if own else None

    return times


def call_table(comparison: Comparison, rows: Rows, ops: int | None) -> Table | None:
    """The shown functions that some kernel calls, per op of ``ops``; None if there are none. Calls
    of different functions do not add up to anything, so there is no sum. For each function calls
    times *self* and *no call* together are its counts in the function table."""
    counted, labels = measure.calls(comparison, rows.shown) or [], comparison.labels
    named = zip(measure.functions(comparison, rows.shown), counted, strict=False)
    shown = [(one, function.title) for function, one in named if any(one.calls.values())]
    if not shown:
        return None

    def count(name: str, counts: Callable[[Calls], Counts], spare: int) -> list[Cells]:
        return by_figure(labels, name, lambda row, k: counts(row[0])[k], title=name, spare=spare)

    def each(name: str, spare: int) -> list[Cells]:
        def cell(row: tuple[Calls, str], label: str) -> str:
            value, times = getattr(row[0], name)[label], row[0].calls[label]
            return "-" if value is None or not times else units.count(value / times, per_op=True)

        return [of_kernel(one, name, "word", cell, title=name, spare=spare) for one in labels]

    columns = [*count("calls", lambda one: one.calls, 0), *each("self", 0), *each("total", 2)]
    if any(any(one.no_call.values()) for one, _ in shown):
        columns += count("no call", lambda one: one.no_call, 1)
    of = f"{comparison.metric.title}{' per op' if ops else ''}"
    copies = f"no call: {of} of inlined copies, which self and total leave out"
    return tabulate(
        [*columns, of_row("function", "name", lambda row: row[1])],
        name="calls",
        title="calls",
        remark=f" and {comparison.metric.title} per call",
        kernels=labels,
        ops=ops,
        rows=shown,
        by_kernel=False,
        legend=[Note("total: includes callees", "total"), Note(copies, "no call")],
    )


def _table(columns: Sequence[Cells], lines: Sequence[Line], **about: Any) -> Table:
    return tabulate(
        [*columns, of_row("function", "name", lambda line: line.title)],
        name="functions",
        **about,
        rows=[line for line in lines if line.what == "function"],
        sums=[line for line in lines if line.what != "function"],
    )


def _count(label: str, kind: Kind = "count", figure: str = "self") -> Cells:
    return of_kernel(label, figure, kind, lambda line, kernel: getattr(line, figure)[kernel])


def _share(label: str, whole: Line, title: str) -> Cells:
    def share(line: Line, kernel: str) -> float | None:
        return _part(line.self[kernel], whole.self[kernel])

    return of_kernel(label, "share", "share", share, title=title)


def _part(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _differs(
    base: str,
    label: str,
    shows: Shows,
    title: str = "",
    spare: int = 0,
    figure: str = "self",
    cell: Callable[[Line, str], Cell] | None = None,
    absent: str | None = None,
) -> Cells:
    """How much more a kernel has, or what ``cell`` says; ``absent``: without such a line."""

    def delta(line: Line, kernel: str) -> Cell:
        counts = getattr(line, figure)
        return counts[kernel] - counts[base] if kernel in counts else absent

    more: Any = {"title": title or shows, "shows": [shows], "spare": spare, "of": figure}
    return of_kernel(label, f"{figure} {title or shows}", "delta", cell or delta, **more)


def _per_instruction(line: Line, kernel: str) -> str:
    return f"{line.self[kernel] / work:.2f}" if (work := line.work and line.work[kernel]) else "-"


def _samples(line: Line) -> str:
    return "" if line.samples is None else "/".join(map(str, line.samples.values()))
