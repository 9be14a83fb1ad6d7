"""The experiment: settings, values of every boot, verdicts, and its tables: sweep, ladder, and
kernel by kernel."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from profdiff.evidence import results, statistics
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Estimate, Quality, Verdict
from profdiff.session import origin
from profdiff.session.points import Setting
from profdiff.views import notes, state
from profdiff.views.record import Record
from profdiff.views.result import (
    Bounds,
    Delta,
    Floor,
    Judged,
    Spread,
    Value,
    bounds,
    delta,
    floor,
    judged,
    source,
    title,
)

# Estimate, low and high, as fractions of the base; None for what is not a number.
Interval = Annotated[list[float | None], Meta(min_length=3, max_length=3)]
Number = Annotated[int, Meta(ge=0)]
Cell = str | Value | Spread | Delta | Bounds | Judged | Floor | None


class Change(Record, frozen=True):
    """A kernel's change relative to the base."""

    median: Interval
    mean: Interval
    mann_whitney: float | None
    welch: float | None
    smallest_p: float | None
    verdict: Verdict
    quality: Quality
    reason: str


class KernelResult(Record, frozen=True):
    """``boots``: the values of every boot; ``planned`` boots, ``failed`` runs."""

    label: str
    boots: list[list[float]]
    planned: Number
    failed: Number
    change: Change | None


class Result(Record, frozen=True):
    """One metric at one setting."""

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


class Table(Record, frozen=True):
    """``title``: what the values are. ``header`` and ``rows``: cells; the first ``names`` columns
    name the row and stand left, the others are numbers."""

    title: str
    names: Annotated[int, Meta(ge=1)]
    header: list[str]
    rows: list[list[str]]


class Grid(Record, frozen=True):
    """A table whose cells know their values; None is an empty one."""

    title: str
    names: int
    header: list[str]
    rows: list[list[Cell]]

    @property
    def table(self) -> Table:
        """In texts."""
        rows = [["" if cell is None else str(cell) for cell in row] for row in self.rows]
        return Table(title=self.title, names=self.names, header=self.header, rows=rows)


class Experiment(Record, frozen=True):
    """``setting``: the one that is looked at, "" for the only one. ``results`` are of all."""

    setting: str
    results: list[Result]
    tables: list[Table]
    notes: list[str]
    state: list[str]
    state_differs: bool


def experiment(findings: Findings) -> Experiment:
    """Of ``profdiff.report/1``. What is not a number (the change to nothing) is null."""
    told, lines = findings.results, state.lines(findings.state)
    shown = grids(told, findings.setting)
    return Experiment(
        setting=findings.setting.title,
        results=[_result(told, one) for one in told.every],
        tables=[grid.table for grid in shown],
        notes=[note.text for note in notes.notes(told)] if shown else [],
        state=[line.text for line in lines],
        state_differs=bool(findings.state.differences),
    )


def _result(told: Results, result: results.Result) -> Result:
    return Result(
        metric=result.metric.name,
        unit=result.metric.unit,
        better=result.metric.better,
        collector=result.collector,
        parameters=dict(result.setting.parameters),
        cpus=result.setting.cpus,
        per_op=result.per_op,
        virtual_time=result.virtual,
        kernels=[
            KernelResult(
                label=label,
                boots=cell.boots,
                planned=cell.planned,
                failed=cell.failed,
                change=_change(change) if change else None,
            )
            for label, cell, change in zip(told.labels, result.cells, result.changes, strict=True)
        ],
        noise_floor=None if result.noise is None else _number(result.noise.floor),
    )


def _change(change: Estimate) -> Change:
    return Change(
        median=_interval(change.median),
        mean=_interval(change.mean),
        mann_whitney=_number(change.mann_whitney),
        welch=_number(change.welch),
        smallest_p=_number(change.smallest_p),
        verdict=change.verdict,
        quality=change.quality,
        reason=change.reason,
    )


def _interval(one: statistics.Interval) -> list[float | None]:
    return [_number(value) for value in (one.estimate, one.low, one.high)]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def is_shown(told: Results) -> bool:
    """Whether there is more than the exact counts of two kernels, equal in every boot, which the
    functions' table has as its last row."""
    every = told.every
    return bool(every) and (
        told.scattered
        or len(every) > 1
        or len(told.kernels) > 2
        or not origin.kind(every[0].collector).profiles
    )


def grids(told: Results, setting: Setting) -> list[Grid]:
    """All tables, ``setting`` being the one that is looked at; none where the functions' table
    says it all."""
    if not is_shown(told):
        return []
    found: list[Grid] = []
    if told.swept:
        found += [_matrix(told, told.of(*metric)) for metric in told.metrics()]
    else:
        by_source: dict[str, list[results.Result]] = {}
        for result in told.at(setting):
            by_source.setdefault(source(result), []).append(result)
        found += [_matrix(told, some) for some in by_source.values()]
    if len(told.kernels) > 2:
        found += [_steps(told, result) for result in told.at(setting)]
    return found


def _matrix(told: Results, some: Sequence[results.Result]) -> Grid:
    """Rows of settings or metrics against kernels: the sweep and the ladder."""
    noisy = any(result.noise for result in some)
    names = list(told.swept) or ["metric"]
    header = [*names, told.labels[0]]
    for label in told.labels[1:]:
        header += [label, "change", "verdict"]
    rows = []
    for result in some:
        row: list[Cell] = [result.setting.value(name) for name in told.swept] or [title(result)]
        row.append(Value.of(result.cells[0]))
        for cell, change in zip(result.cells[1:], result.changes[1:], strict=True):
            row += [Value.of(cell), delta(change), judged(change)]
        rows.append([*row, floor(result)] if noisy else row)
    return Grid(
        title=f"{title(some[0])} ({source(some[0])})" if told.swept else source(some[0]),
        names=len(names),
        header=[*header, "A/A"] if noisy else header,
        rows=rows,
    )


def _steps(told: Results, result: results.Result) -> Grid:
    """Kernel by kernel: relative to the base, and to the one before."""
    columns = zip(told.labels, result.cells, result.changes, result.steps, strict=True)
    rows: list[list[Cell]] = []
    for label, cell, change, step in columns:
        value = Value.of(cell)
        row: list[Cell] = [label, Value(median=value.median), value.spread, delta(change)]
        rows.append([*row, bounds(change), judged(change), delta(step), judged(step)])
    at = f" ({result.setting.title})" if result.setting.title else ""
    header = "kernel, median, spread, to base, interval, verdict, to previous, verdict"
    return Grid(
        title=f"{title(result)} ({source(result)}), kernel by kernel{at}",
        names=1,
        header=header.split(", "),
        rows=rows,
    )
