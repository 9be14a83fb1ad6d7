"""What is shown of lines over a sweep, and of where kernels cost as much as the base."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor, inf, log10
from typing import Any

from profdiff.base import units
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics.line import Line
from profdiff.shapes.table import Cell, Note, Section, Table, by_group, of_row, tabulate
from profdiff.topics.fits.measure import LEAST, LIMIT, Even, Fits, Row, Sweep, told_points
from profdiff.topics.sentences import more_rows, told_kernels

_MAX_NAMED, _MAX_ROWS = 5, 20
# Of a slope in a sentence: its decimals, and from where on it has none.
_MAX_DECIMALS, _LARGE = 6, 1e6
_LEGEND = [
    Note(text="~: give or take what points are off the line.", sign="~"),
    Note(text="?: no line, or the sign is not certain.", sign="?"),
]


def where(findings: Findings) -> str:
    """At which values of the other parameters; "" for none."""
    return Sweep.of(findings).others


def section(findings: Findings) -> Section:
    """The lines of the sweep that the findings' setting is a part of. Raises InputError where there
    is none, or a file is damaged."""
    fits = Fits(findings)
    evens = list(fits.evens())
    return Section(
        name="fits",
        title=f"Cost over {fits.sweep.name}",
        sentences=[*_sentences(fits), *(_even(fits, one) for one in evens)],
        tables=[_lines(fits), *([_evens(fits, evens)] if evens else [])],
        notes=list(_notes(fits)),
    )


def _lines(fits: Fits) -> Table:
    """Functions whose differences are lines, or all where none changed."""
    shown = [row for row in fits.rows if row.part >= LEAST and not row.bent]
    shown = shown or [row for row in fits.rows if not row.part]
    shown = shown[:_MAX_ROWS]
    seen = set(map(id, shown))
    sweep = fits.sweep
    columns = [
        *_figure(fits, "slope", lambda row: row.slopes, spare=0),
        *_figure(fits, "fixed", lambda row: row.fixed, spare=0),
        of_row("off", "share", _off, title="off", spare=3),
        of_row("function", "name", lambda row: row.name),
    ]
    at = f", {sweep.others}" if sweep.others else ""
    return tabulate(
        columns,
        name="fits",
        title=f"instructions{' per op' if fits.per_op else ''}",
        remark=f" = fixed + slope × {sweep.name}: {sweep.span}{at}",
        kernels=fits.labels,
        ops=fits.ops,
        rows=shown,
        sums=fits.sums,
        hidden=[row for row in fits.rows if id(row) not in seen],
        by_kernel=False,
        grouped=True,
        limit="top",
        legend=_LEGEND,
        notes=more_rows(len(fits.rows) - len(shown)),
    )


def _figure(
    fits: Fits, name: str, of: Callable[[Row], Mapping[str, Difference | None]], *, spare: int
) -> list[Any]:
    """What a line has on each kernel, and how that differs."""

    def value(row: Row, label: str) -> Cell:
        line = row.lines[label]
        return float(getattr(line, name)) if line.off <= LIMIT else None

    def difference(row: Row, label: str) -> Difference | None:
        return of(row)[label]

    return by_group(fits.labels, name, value, difference, title=name, spare=spare)


def _off(row: Row) -> Cell:
    return None if row.off == inf else row.off


def _sentences(fits: Fits) -> Iterator[str]:
    """What each kernel costs more than the base, as a line."""
    base, whole, sweep = fits.labels[0], fits.sums[0], fits.sweep
    each = " per op" if fits.ops or fits.per_op else ""
    for kernel in told_kernels(fits.labels):
        label = fits.labels[kernel]
        line = whole.differences[label]
        more = f"what it executes more than {base}"
        if whole.slopes[label] is None:
            most = sweep.settings[line.worst].value(sweep.name)
            yield (
                f"{label}: {more} is not a line in {sweep.name} (the nearest one is off most at "
                f"{most})."
            )
        elif not any(line[:3]):
            yield f"{label} executes as many instructions{each} as {base} at {sweep.span}."
        elif not fits.is_sure(kernel):
            yield f"{label}: {more} is not certain at any of {sweep.span}."
        else:
            fixed, slope, word = line.fixed, line.slope, "more"
            if all(fixed + slope * x <= 0 for x in (sweep.values[0], sweep.values[-1])):
                fixed, slope, word = -fixed, -slope, "fewer"
            term = _term(fits, fixed, slope, exact=not line.residual)
            told = f"{term} {word} instructions{each} than {base}"
            yield f"{label} executes {told} at {sweep.span}{_off_by(fits, line)}."


def _off_by(fits: Fits, line: Line) -> str:
    """How well a line tells each point, rounded up with what digits leave out."""
    if not line.residual:
        return ""
    if line.off <= LIMIT:
        return f", to within {units.percent(ceil(line.off * 1000 + 0.1) / 1000, 'g')} at each"
    return f", give or take {_count(fits, line.residual)}"


def _term(fits: Fits, fixed: Fraction, slope: Fraction, *, exact: bool) -> str:
    """An ``exact`` slope with as many decimals as the largest point needs; else four digits."""
    sign = "-" if slope < 0 else "+"
    each = float(abs(slope)) / (fits.ops or 1)
    decimals = len(units.rounded(float(abs(fits.sweep.values[-1])))) + 1
    if not exact:
        decimals = 3 - floor(log10(each or 1))
    whole, _, part = f"{each:,.{min(max(decimals, 2), _MAX_DECIMALS)}f}".partition(".")
    told = f"{whole}.{part.rstrip('0'):0<2}" if each < _LARGE else units.rounded(each)
    return f"{_count(fits, fixed)} {sign} {told} × {fits.sweep.name}"


def _count(fits: Fits, value: Fraction) -> str:
    return units.count(float(value) / (fits.ops or 1), per_op=True)


def _even(fits: Fits, even: Even) -> str:
    base, name = fits.labels[0], fits.sweep.name
    last, first = (units.digits(float(end)) for end in (even.last, even.first))
    opposite = "less" if even.then == "more" else "more"
    if even.measured is None:
        at = first if first == last else f"{last} to {first}"
        told = f"{even.label} and {base} would cost the same at {name} {at}"
        return f"{told}, by the line alone: no point is there."
    start, end = (units.digits(float(end)) for end in even.measured)
    by_line = even.measured != (even.last, even.first)
    how = f", by the line between the points {start} and {end}" if by_line else ""
    told = f"{even.label} costs {opposite} than {base} up to {name} {last}"
    return f"{told}, and {even.then} from {first} on{how}."


def _evens(fits: Fits, evens: list[Even]) -> Table:
    """For programs: sentences say the same."""
    return tabulate(
        [
            of_row("kernel", "name", lambda one: one.label),
            of_row("last", "number", lambda one: float(one.last)),
            of_row("first", "number", lambda one: float(one.first)),
            of_row("then", "word", lambda one: one.then),
            of_row("extrapolated", "word", lambda one: "yes" if one.measured is None else "no"),
        ],
        name="fits-even",
        title=f"where kernels cost as much as the base, in {fits.sweep.name}",
        kernels=fits.labels,
        ops=None,
        rows=[],
        hidden=evens,
    )


def _notes(fits: Fits) -> Iterator[str]:
    name, most = fits.sweep.name, units.percent(LIMIT, "g")
    yield (
        f"off: how far the worst point is from the line, as a share of its count; with more than "
        f"{most}, there is no line."
    )
    if fits.sweep.is_ops:
        yield f"{name} is the number of ops: lines are of the whole window, a slope is of one op."
    if fits.sweep.left_out:
        yield f"Left out: {told_points(name, fits.sweep.left_out)}."
    bent = [row for row in fits.rows if row.part >= LEAST and row.bent]
    if bent:
        bent.sort(key=lambda row: -row.part)
        named = units.few([row.name for row in bent], _MAX_NAMED)
        yield f"Changed, but no line: {named}."
