"""What is shown of lines over a sweep, and of where kernels cost as much as the base."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import Any

from profdiff.base import units
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.shapes.table import Cell, Note, Section, Table, by_group, of_row, tabulate
from profdiff.topics.fits.measure import LIMIT, Even, Fits, Row, Sweep
from profdiff.topics.sentences import more_rows, told_kernels

_MAX_NAMED, _MAX_ROWS = 5, 20
# What changes by less of all that the base executes, only programs see.
_LEAST = 0.001
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
    shown = [row for row in fits.rows if row.part >= _LEAST and not row.bent]
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
        title="instructions",
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
    for kernel in told_kernels(fits.labels):
        label = fits.labels[kernel]
        line = whole.differences[label]
        if whole.slopes[label] is None:
            most = sweep.settings[line.worst].value(sweep.name)
            yield (
                f"{label}: what it executes more than {base} is not a line in {sweep.name} (the "
                f"nearest one is off most at {most})."
            )
            continue
        each = " per op" if fits.ops else ""
        off = f", give or take {_count(fits, line.residual)}" if line.residual else ""
        term = _term(fits, line.fixed, line.slope)
        yield f"{label} executes {term} more instructions{each} than {base} at {sweep.span}{off}."


def _term(fits: Fits, fixed: Fraction, slope: Fraction) -> str:
    sign = "-" if slope < 0 else "+"
    return f"{_count(fits, fixed)} {sign} {_count(fits, abs(slope))} × {fits.sweep.name}"


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
    if not fits.ops:
        yield "The points have different numbers of ops: counts are of the whole window."
    if fits.sweep.left_out:
        told = "; ".join(f"{value}: {why}" for value, why in fits.sweep.left_out.items())
        yield f"Left out, at {name} {told}."
    bent = [row for row in fits.rows if row.part >= _LEAST and row.bent]
    if bent:
        bent.sort(key=lambda row: -row.part)
        named = units.few([row.name for row in bent], _MAX_NAMED)
        yield f"Changed, but no line: {named}."
