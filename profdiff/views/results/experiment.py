"""The experiment: settings, values of every boot, verdicts, and its tables: sweep, ladder, and
kernel by kernel."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from profdiff.base import guest_clock, units
from profdiff.collectors import registry
from profdiff.evidence import results, statistics
from profdiff.evidence.cell import Cell
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Estimate, Quality, Verdict
from profdiff.session.points import Setting
from profdiff.views.kernels import state as kernels_state
from profdiff.views.kernels.state import StateLine, StatePoint
from profdiff.views.record import Record, finite
from profdiff.views.results import notes as results_notes
from profdiff.views.results import result, time_split
from profdiff.views.results.result import Delta, Entry, Median, Ratio
from profdiff.views.results.time_split import TimeSplit

# Estimate, low and high, as fractions of the base; None for what is not a number.
Interval = Annotated[list[float | None], Meta(min_length=3, max_length=3)]
Number = Annotated[int, Meta(ge=0)]


class Change(Record, frozen=True):
    """A kernel's change relative to the base. ``states``: in how many it was seen; of several and
    exact counts, ``median`` is that of the result's ``state``, and of all states the lowest and the
    highest. ``tick_floor``: how much of a change of exact counts timer ticks can be, in the
    metric's unit, per op where values are; None where that is not known.
    ``iterated``: the change as a fraction with each iteration of repeated string instructions
    counted; None where that differs neither in sign nor relevantly, or is not known."""

    median: Interval
    mean: Interval
    mann_whitney: float | None
    welch: float | None
    smallest_p: float | None
    verdict: Verdict
    quality: Quality
    reason: str
    states: Annotated[int, Meta(ge=1)]
    tick_floor: float | None
    iterated: float | None


class KernelResult(Record, frozen=True):
    """``boots``: the values of every boot; ``planned`` boots, ``failed`` runs. ``states``: the
    value in each varied state, by its number."""

    label: str
    boots: list[list[float]]
    planned: Number
    failed: Number
    states: dict[str, float]
    change: Change | None

    @property
    def values(self) -> str:
        """Those of every boot, not rounded; equal ones once."""
        boots = [[f"{value:.10g}" for value in boot] for boot in self.boots]
        told = [boot[0] if len(boot) == 1 else f"[{' '.join(boot)}]" for boot in boots]
        once = len(set(told)) == 1
        text = " ".join(told[:1] if once else told) or "none"
        times = f" ({len(told)} times)" if once and len(told) > 1 else ""
        return f"{text}{times}{f'; {self.failed} failed' if self.failed else ''}"


class Result(Record, frozen=True):
    """One metric at one setting. ``state``: the one that changes are of, 0 for the plain one."""

    metric: str
    unit: str
    better: Literal["lower", "higher"]
    collector: str
    parameters: dict[str, str]
    cpus: int | None
    per_op: bool
    virtual_time: bool
    kernels: list[KernelResult]
    noise_floor: float | None
    state: Number


class Table(Record, frozen=True):
    """``title``: what the values are. ``header`` and ``rows``: cells; the first ``names`` columns
    name the row and stand left, the others are numbers."""

    title: str
    names: Annotated[int, Meta(ge=1)]
    header: list[str]
    rows: list[list[str]]


class Grid(Record, frozen=True):
    """A table whose cells know their values; None is an empty one. ``parts``: of each column behind
    the names, what it belongs to; columns of one part stay together."""

    title: str
    names: int
    header: list[str]
    parts: list[int]
    rows: list[list[Entry]]

    def without_exact(self, width: int) -> "Grid":
        """The same, where every verdict is exact, with that in the title and not in each row if the
        title has room for it in ``width`` columns."""
        title = result.all_exact(self.title)
        verdicts = [at for at, title in enumerate(self.header) if title == "verdict"]
        told = {str(row[at]) for row in self.rows for at in verdicts if row[at] is not None}
        if told != {str(Verdict.EXACT)} or units.width(title) > width:
            return self
        kept = [at for at in range(len(self.header)) if at not in verdicts]
        return msgspec.structs.replace(
            self,
            title=title,
            header=[self.header[at] for at in kept],
            parts=[self.parts[at - self.names] for at in kept if at >= self.names],
            rows=[[row[at] for at in kept] for row in self.rows],
        )

    def in_ratios(self) -> "Grid":
        """The same with changes as ratios."""
        header, rows = in_ratios(self.header, self.rows)
        return msgspec.structs.replace(self, header=header, rows=rows)

    @property
    def table(self) -> Table:
        """In texts."""
        return Table(title=self.title, names=self.names, header=self.header, rows=texts(self.rows))


def in_ratios(header: list[str], rows: list[list[Entry]]) -> tuple[list[str], list[list[Entry]]]:
    """A table's header and rows with changes as ratios."""
    told = ["ratio" if title == "change" else title for title in header]
    return told, [
        [Ratio(base=c.base, other=c.other) if isinstance(c, Delta) else c for c in row]
        for row in rows
    ]


def texts(rows: list[list[Entry]]) -> list[list[str]]:
    """A table's rows as they are shown."""
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


class Experiment(Record, frozen=True):
    """``setting``: the one that is looked at, "" for the only one. ``results`` and ``time_splits``
    are of all."""

    setting: str
    results: list[Result]
    tables: list[Table]
    time_splits: list[TimeSplit]
    notes: list[str]
    state: list[str]
    state_lines: list[StateLine]
    state_points: list[StatePoint]
    state_differs: bool


def experiment(findings: Findings) -> Experiment:
    """The experiment in ``profdiff.report/2``. What is not a number (the change to nothing) is
    null."""
    told, lines = findings.results, kernels_state.lines(findings.state)
    tables = [grid.table for grid in grids(told, findings.setting)]
    return Experiment(
        setting=findings.setting.title,
        results=[shown(told, one) for one in told.every],
        tables=tables,
        time_splits=[one for at in told.settings for one in time_split.splits(told, at)],
        notes=[note.text for note in results_notes.notes(told)] if tables else [],
        state=[line.text for line in lines],
        state_lines=lines,
        state_points=kernels_state.points(findings.state),
        state_differs=any(line.kind == "differs" for line in lines),
    )


def shown(told: Results, one: results.Result) -> Result:
    """A result as a record."""
    columns = zip(told.labels, one.cells, one.changes, strict=True)
    return Result(
        metric=one.metric.name,
        unit=one.metric.unit,
        better=one.metric.better,
        collector=one.collector,
        parameters=dict(one.setting.parameters),
        cpus=one.setting.cpus,
        per_op=one.per_op,
        virtual_time=one.virtual,
        kernels=[
            KernelResult(
                label=label,
                boots=cell.boots,
                planned=cell.planned,
                failed=cell.failed,
                states={str(state): value for state, value in cell.states.items()},
                change=changed(change) if change else None,
            )
            for label, cell, change in columns
        ],
        noise_floor=finite(one.noise),
        state=one.state,
    )


def changed(change: Estimate) -> Change:
    """A change as a record."""
    iterated = Iterated.of(change)
    return Change(
        median=_interval(change.median),
        mean=_interval(change.mean),
        mann_whitney=finite(change.mann_whitney),
        welch=finite(change.welch),
        smallest_p=finite(change.smallest_p),
        verdict=change.verdict,
        quality=change.quality,
        reason=change.reason,
        states=change.states,
        tick_floor=change.tick_floor,
        iterated=finite(iterated.each.relative) if iterated else None,
    )


def _interval(one: statistics.Interval) -> list[float | None]:
    return [finite(value) for value in (one.estimate, one.low, one.high)]


def is_shown(told: Results) -> bool:
    """Whether there is more than the exact counts of two kernels in one state, equal in every boot,
    which the functions' table has as its last row."""
    every = told.every
    return bool(every) and (
        told.scattered
        or told.varied
        or len(every) > 1
        or len(told.kernels) > 2
        or not registry.collector(every[0].collector).profiles
    )


def grids(told: Results, setting: Setting) -> list[Grid]:
    """All tables, ``setting`` being the one that is looked at; none where the functions' table
    says it all."""
    if not is_shown(told):
        return []
    here = told.at(setting)
    groups = [told.of(*metric) for metric in told.metrics()]
    if not told.swept:
        sources = dict.fromkeys(map(result.source, here))
        groups = [[one for one in here if result.source(one) == source] for source in sources]
    # Those of functions are many, and say no more than the first table.
    whole = [one for one in here if not one.metric.kind.of_parts]
    steps = [kernel_by_kernel(told, one) for one in whole] if len(told.kernels) > 2 else []
    states = [state_by_state(told, one) for one in whole if any(cell.states for cell in one.cells)]
    matrices = [_matrix(told, some) for some in groups if some]
    return [*matrices, *_time_splits(told, setting), *steps, *states]


def _time_splits(told: Results, setting: Setting) -> list[Grid]:
    """What of each change of time instructions explain; none where that is not known."""
    if not (found := time_split.splits(told, setting)):
        return []
    header, rows = time_split.rows(found)
    at = f" ({setting.title})" if setting.title else ""
    title = f"time = instructions × time of each{at}; explained: by instructions"
    return [Grid(title=title, names=2, header=header, parts=[0] * (len(header) - 2), rows=rows)]


def _matrix(told: Results, some: Sequence[results.Result]) -> Grid:
    """Rows of settings or metrics against kernels: the sweep and the ladder."""
    noisy = any(one.noise is not None for one in some)
    names = list(told.swept) or ["metric"]
    states = ["states"] if result.varied(some) else []
    header, parts = [*names, told.labels[0]], [0]
    for part, label in enumerate(told.labels[1:], 1):
        header += [label, "change", "verdict", *states]
        parts += [part] * (3 + len(states))
    rows = []
    for one in some:
        row: list[Entry] = [one.setting.value(name) for name in told.swept]
        # The table's title has the clock.
        row = row or [guest_clock.unsaid(result.title(one))]
        row.append(Median.of(one.cells[0]))
        for cell, change in zip(one.cells[1:], one.changes[1:], strict=True):
            row += [Median.of(cell), result.delta(change), result.judged(change)]
            row += [result.seen(change)] if states else []
        rows.append([*row, result.floor(one)] if noisy else row)
    return Grid(
        title=result.heading(some[0]) if told.swept else result.source(some[0]),
        names=len(names),
        header=[*header, "A/A"] if noisy else header,
        parts=[*parts, len(told.labels)] if noisy else parts,
        rows=rows,
    )


def state_by_state(told: Results, one: results.Result) -> Grid:
    """What each kernel has in each state, and how it changes there."""
    states = sorted({state for cell in one.cells for state in cell.states})
    header, parts = ["state", told.labels[0]], [0]
    for part, label in enumerate(told.labels[1:], 1):
        header += [label, "change"]
        parts += [part, part]
    plain = [cell.plain for cell in one.cells]
    rows: list[list[Entry]] = []
    for number in [0, *states]:
        values = [cell.states.get(number) for cell in one.cells] if number else plain
        row: list[Entry] = [str(number or "plain"), Median(value=values[0])]
        for value in values[1:]:
            known = value is not None and values[0] is not None
            row.append(Median(value=value))
            row.append(Delta(base=values[0] or 0.0, other=value or 0.0) if known else None)
        rows.append(row)
    at = f" ({one.setting.title})" if one.setting.title else ""
    return Grid(
        title=f"{result.title(one)}, state by state{at}",
        names=1,
        header=header,
        parts=parts,
        rows=rows,
    )


def kernel_by_kernel(told: Results, one: results.Result) -> Grid:
    """Kernel by kernel: relative to the base, and to the one before; what could not be built has a
    row, too."""
    columns = zip(one.cells, one.changes, one.steps, strict=True)
    measured = dict(zip(told.labels, columns, strict=True))
    changes = [change for _, *both in measured.values() for change in both if change]
    header = "kernel, median, spread, to base, interval, verdict, to previous, verdict"
    parts, row_of = [0, 0, 1, 1, 1, 2, 2], _row
    sure = all(one.verdict is Verdict.EXACT for one in changes)
    if sure:
        header = "kernel, count, to base, delta, to previous, delta"
        parts, row_of = [0, 1, 1, 2, 2], _exact_row
    elif all(one.counted for one in changes if one.verdict is not Verdict.EXACT):
        header = "kernel, count, to base, delta, verdict, to previous, delta, verdict"
        parts, row_of = [0, 1, 1, 1, 2, 2, 2], _counted_row
    rows: list[list[Entry]] = []
    for kernel in told.manifest.kernels:
        if kernel.label in measured:
            rows.append([kernel.label, *row_of(*measured[kernel.label])])
        elif kernel.hole:
            rows.append([kernel.label, "not built", *[None] * (len(parts) - 1)])
    at = f" ({one.setting.title})" if one.setting.title else ""
    return Grid(
        title=f"{result.title(one)}, kernel by kernel{at}",
        names=1,
        header=header.split(", "),
        parts=parts,
        rows=rows,
    )


def _row(cell: Cell, change: Estimate | None, step: Estimate | None) -> list[Entry]:
    value = Median.of(cell)
    row = [Median(value=value.value), value.spread, result.delta(change), result.bounds(change)]
    return [*row, result.judged(change), result.delta(step), result.judged(step)]


def _counted_row(cell: Cell, change: Estimate | None, step: Estimate | None) -> list[Entry]:
    """A row of counts that are equal in every boot, some made doubtful by ticks or states."""
    both = (
        entry
        for one in (change, step)
        for entry in (result.delta(one), result.difference(one), result.judged(one))
    )
    return [Median.of(cell), *both]


def _exact_row(cell: Cell, change: Estimate | None, step: Estimate | None) -> list[Entry]:
    """A row of counts that are equal in every boot, without a spread or a verdict."""
    both = (
        entry for one in (change, step) for entry in (result.delta(one), result.difference(one))
    )
    return [Median.of(cell), *both]
