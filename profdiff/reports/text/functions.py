"""The tables of functions as text: exact counts, and samples."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.evidence.beside import of_comparison
from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.views.profile import functions, marks
from profdiff.views.profile.functions import FunctionTable, Rows
from profdiff.views.record import Counts, Side

BESIDE = "outside the workload"
# What is suggested where a table has no room for its columns.
_WIDTHS = (80, 100, 120, 140, 160, 200)
_SIGNS = {text: sign for sign, text in marks.LEGEND.items()}


class _Line(NamedTuple):
    """A function, or one of the lines below the rule. ``work``: instructions beside cycles;
    ``outside``: it is not part of the sum."""

    name: str
    self_: Counts
    total: Counts
    samples: Counts | None = None
    work: Counts | None = None
    marks: str = ""
    verdict: str = ""
    outside: bool = False


_Cell = tuple[Column, Callable[[_Line], str]]


def exact(comparison: Comparison, rows: Rows, numbers: Numbers, width: int) -> list[Block]:
    """As many tables as are needed to show all kernels."""
    table, verdicts = functions.table(comparison, rows), functions.verdicts(comparison, rows.shown)
    labels = comparison.labels
    base, *others = labels
    cells: list[_Cell] = [(Column(base), lambda line: numbers.count(line.self_[base]))]
    for part, label in enumerate(others):
        several = part if len(others) > 1 else None
        cells.append((Column(label, part=several), _of(label, numbers.count)))
        if len(others) > 1:
            cells.append(
                (Column(numbers.relative, part=several, spare=1), _change(base, label, numbers))
            )
    if len(others) == 1:
        (other,) = others
        whole = table.totals[other] - table.totals[base]
        cells += [(Column("verdict"), lambda line: line.verdict)] if verdicts else []
        cells += [
            (Column("delta"), _delta(base, other, numbers.delta)),
            (Column(numbers.relative, spare=1), _change(base, other, numbers)),
            (Column("share", spare=2), _part(base, other, whole)),
            (Column("total delta", spare=3), _total(base, other, numbers.delta)),
        ]
    title = f"{comparison.metric.title}{numbers.title}{one_boot(comparison)}"
    tail, told = _tail(table), ran_beside(comparison, rows.side)
    tail += [_Line(BESIDE, told, told, outside=True)] if told else []
    return _drawn(title, cells, _lines(table, verdicts=verdicts), tail, width)


def one_boot(comparison: Comparison) -> str:
    """What a title says where boots differ, and one stands for each kernel."""
    if not comparison.scattered:
        return ""
    return "; of each kernel, the boot with the median total stands for all"


def sampled(
    comparison: Comparison, rows: Rows, beside: Comparison | None, numbers: Numbers, width: int
) -> list[Block]:
    """Shares, deltas, and sample counts; ``beside``: instructions, set beside cycles."""
    table = functions.table(comparison, rows, beside)
    work = functions.table(beside, rows) if beside else None
    labels, totals = comparison.labels, table.totals
    base, *others = labels
    alone = not others
    cells: list[_Cell] = [(Column(base), _of(base, numbers.count))] if alone else []
    cells.append((Column("share" if alone else base), _share(base, totals[base])))
    part_of = {label: part if len(others) > 1 else None for part, label in enumerate(others)}
    cells += [(Column(one, part=part_of[one]), _share(one, totals[one])) for one in others]
    for label, part in part_of.items():
        change = _change(base, label, numbers)
        if part is not None:
            cells.append((Column(f"{numbers.relative} {label}", part=part, spare=2), change))
            column = Column(f"instr. {label}", part=part, spare=2)
            cells += [(column, _worked(change))] if work else []
            continue
        delta = _delta(base, label, numbers.delta)
        cells += [(Column("delta", spare=1), delta), (Column(numbers.relative), change)]
        if work:
            cells.append((Column("instr. delta", spare=5), _worked(delta)))
            cells.append((Column("instr.", spare=2), _worked(change)))
    if work:
        for label in labels:
            column = Column(f"CPI {label}", part=part_of.get(label), spare=4)
            cells.append((column, _per_instruction(label)))
    cells.append((Column("samples", spare=3), _samples))
    cells += [] if alone else [(Column(""), lambda line: line.marks)]
    what = f"share of each kernel's total{', with instructions' if work else ''}"
    title = f"{comparison.metric.title}, sampled{numbers.title}: {what}"
    lines = _lines(table, work)
    blocks = _drawn(title, cells, lines, _tail(table, work), width)
    shown = {sign for line in lines for sign in line.marks}
    legend = [f"{sign} {text}" for sign, text in marks.LEGEND.items() if sign in shown]
    blocks[-1].tail.extend(["; ".join(legend)] if legend else [])
    return blocks


def _drawn(
    title: str, cells: list[_Cell], lines: list[_Line], tail: list[_Line], width: int
) -> list[Block]:
    columns = [*(column for column, _ in cells), Column("function", name=True)]
    body, sums = (
        [[*(cell(line) for _, cell in cells), line.name] for line in some] for some in (lines, tail)
    )
    blocks = draw(title, columns, body, width, sums)
    if left_out := blocks[-1].left_out:
        wider = (one for one in _WIDTHS if one > width)
        enough = (one for one in wider if not draw("", columns, body, one, sums)[-1].left_out)
        named = units.listed(map(units.printable, dict.fromkeys(left_out)))
        told = f"no room for {named}: --width {next(enough, _WIDTHS[-1])}"
        blocks[-1].tail.extend(units.wrap(told, width))
    return blocks


def _lines(
    table: FunctionTable, work: FunctionTable | None = None, verdicts: Sequence[str] | None = None
) -> list[_Line]:
    lines = []
    for number, row in enumerate(table.rows):
        found = {_SIGNS[text] for text in row.marks.values()}
        # With several kernels, too few samples matter only where all have too few.
        signs = "".join(sorted(found - {marks.FEW} or found))
        beside = work.rows[number].self if work else None
        verdict = verdicts[number] if verdicts else ""
        lines.append(_Line(row.title, row.self, row.total, row.samples, beside, signs, verdict))
    return lines


def _tail(table: FunctionTable, work: FunctionTable | None = None) -> list[_Line]:
    """Functions that are not shown, what could not be resolved, and the sum: they add up."""
    tail = []
    if hidden := table.hidden:
        name = f"{units.counted(hidden.functions, 'function')} not shown"
        beside = work.hidden.self if work and work.hidden else None
        tail.append(_Line(name, hidden.self, hidden.self, hidden.samples, beside))
    known = {(one.reason, one.side): one.self for one in work.unresolved} if work else {}
    for one in table.unresolved:
        beside = known.get((one.reason, one.side), dict.fromkeys(one.self, 0)) if work else None
        name = units.printable(f"unresolved: {one.reason} ({one.side})")
        tail.append(_Line(name, one.self, one.self, None, beside))
    return [*tail, _Line("all", table.totals, table.totals, None, work.totals if work else None)]


def ran_beside(comparison: Comparison, side: Side | None) -> Counts | None:
    """What ran outside the workload, in user space nothing; None, too, where nobody knows."""
    told = of_comparison(comparison) if side != "user" else None
    return told if told and any(told.values()) else None


def _of(label: str, show: Callable[[int], str]) -> Callable[[_Line], str]:
    return lambda line: show(line.self_[label])


def _share(label: str, whole: int) -> Callable[[_Line], str]:
    return lambda line: units.share(line.self_[label], whole)


def _change(base: str, other: str, numbers: Numbers) -> Callable[[_Line], str]:
    return lambda line: numbers.change(line.self_[base], line.self_[other])


def _delta(base: str, other: str, show: Callable[[int], str]) -> Callable[[_Line], str]:
    return lambda line: show(line.self_[other] - line.self_[base])


def _part(base: str, other: str, whole: int) -> Callable[[_Line], str]:
    share = _delta(base, other, lambda one: units.share(one, whole))
    return lambda line: "" if line.outside else share(line)


def _total(base: str, other: str, show: Callable[[int], str]) -> Callable[[_Line], str]:
    """Counts with what is called. The shorter of two lengths can have executed more below a
    function: then the difference is not a total of it."""

    def cell(line: _Line) -> str:
        if any(line.total[label] < line.self_[label] for label in (base, other)):
            return "-"
        return show(line.total[other] - line.total[base])

    return cell


def _worked(cell: Callable[[_Line], str]) -> Callable[[_Line], str]:
    """The same of the instructions beside."""
    return lambda line: "" if line.work is None else cell(line._replace(self_=line.work))


def _per_instruction(label: str) -> Callable[[_Line], str]:
    def cell(line: _Line) -> str:
        below = line.work and line.work[label]
        return f"{line.self_[label] / below:.2f}" if below else "-"

    return cell


def _samples(line: _Line) -> str:
    return "" if line.samples is None else "/".join(map(str, line.samples.values()))
