"""The table of functions with columns for each architecture, or compiler, as text."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from profdiff.base import units
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.forms.columns import Block, Column
from profdiff.forms.columns import draw as drawn
from profdiff.forms.numbers import Numbers
from profdiff.views.parts.functions import JointFunctions
from profdiff.views.parts.verdicts import FunctionVerdict
from profdiff.views.record import Counts
from profdiff.views.results.result import ABSENT


class _Line(NamedTuple):
    """A function, or one of the lines below the rule. ``self_``: by part, None or nothing where it
    has no such line; ``verdicts``: by kernel, under which compilers it changed."""

    name: str
    self_: Mapping[str, Counts | None]
    verdicts: Mapping[str, FunctionVerdict] = {}


class Texts(NamedTuple):
    """The table's cells; the last column has the name. ``tail``: the rows below the rule."""

    title: str
    columns: list[Column]
    body: list[list[str]]
    tail: list[list[str]]


def draw(
    findings: PartsFindings,
    found: JointFunctions,
    width: int,
    *,
    per_op: bool | None = None,
    ratios: bool = False,
) -> list[Block]:
    """The table in blocks of at most ``width`` columns; none where there is no table."""
    made = texts(findings, found, per_op=per_op, ratios=ratios)
    if made is None:
        return []
    return drawn(made.title, made.columns, made.body, width, made.tail)


def texts(
    findings: PartsFindings,
    found: JointFunctions,
    *,
    per_op: bool | None = None,
    ratios: bool = False,
) -> Texts | None:
    """The table of the kernel of the largest change; None where no part has a second kernel."""
    label, base = shown_kernel(findings, found), findings.results.labels[0]
    if label is None:
        return None
    columns: list[Column] = []
    cells: list[Callable[[_Line], str]] = []
    for part, name in enumerate(findings.names):
        rest = found.rest.get(name)
        numbers = Numbers(rest.ops if rest and per_op is not False else None, ratios)
        shows = (
            ("delta", _delta(numbers)),
            (numbers.relative, numbers.change),
            ("share", _share(rest.totals if rest else {}, base, label)),
        )
        for spare, (title, show) in enumerate(shows):
            columns.append(Column(title, part=part, spare=spare, group=name))
            cells.append(_cell(name, base, label, show))
    if found.extents:
        columns.append(Column("changed under", spare=1))
        cells.append(lambda line: line.verdicts[label].told if label in line.verdicts else "")
    columns.append(Column("function", name=True))
    body, tail = (
        [[*(cell(line) for cell in cells), line.name] for line in lines]
        for lines in (_rows(found), _tail(found))
    )
    example = next(iter(found.rest.values()))
    title = Numbers(example.ops if per_op is not False else None).title
    at = f" at {findings.setting.title}" if findings.setting.title else ""
    sampled = "" if found.exact else ", sampled"
    return Texts(f"{found.metric}{sampled}{title}, {label} minus {base}{at}", columns, body, tail)


def shown_kernel(findings: PartsFindings, found: JointFunctions) -> str | None:
    """The kernel whose deltas are shown: that of the largest change, or else the last; None where
    there is none beside the base."""
    largest = findings.results.largest(findings.setting)
    known = [label for rest in found.rest.values() for label in rest.totals]
    if largest:
        label = findings.results.parts[largest.part].labels[largest.change.kernel]
        if label in known:
            return label
    others = [label for label in known if label != findings.results.labels[0]]
    return others[-1] if others else None


def _cell(
    name: str, base: str, label: str, show: Callable[[int, int], str]
) -> Callable[[_Line], str]:
    def cell(line: _Line) -> str:
        counts = line.self_.get(name)
        if counts is None or label not in counts:
            return ABSENT
        return show(counts[base], counts[label])

    return cell


def _delta(numbers: Numbers) -> Callable[[int, int], str]:
    return lambda base, other: numbers.delta(other - base)


def _share(totals: Counts, base: str, label: str) -> Callable[[int, int], str]:
    whole = totals[label] - totals[base] if label in totals else 0
    return lambda one, other: units.share(other - one, whole)


def _rows(found: JointFunctions) -> list[_Line]:
    return [_Line(row.title, row.self_by_part, row.verdicts) for row in found.rows]


def _tail(found: JointFunctions) -> list[_Line]:
    """What is not shown, what could not be resolved, and the sum: on each they add up."""
    lines = []
    if any(rest.hidden_functions for rest in found.rest.values()):
        hidden = {
            name: rest.hidden if rest.hidden_functions else None
            for name, rest in found.rest.items()
        }
        lines.append(_Line("functions not shown", hidden))
    for (reason, side), by_part in found.unresolved().items():
        lines.append(_Line(units.printable(f"unresolved: {reason} ({side})"), by_part))
    return [*lines, _Line("all", {name: rest.totals for name, rest in found.rest.items()})]
