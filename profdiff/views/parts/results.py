"""Results of several architectures, or compilers, side by side, and the whole document,
``profdiff.joint-report/2``. ``profdiff/joint-report.schema.json`` is made of its records;
``docs/report-data.md`` explains it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from profdiff.base import guest_clock
from profdiff.evidence.parts import PartsMetric, PartsResults, PartsSetting
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.session.held import KindName
from profdiff.views.document import Document
from profdiff.views.parts.functions import JointFunctions
from profdiff.views.record import Record, schema_of
from profdiff.views.results import result
from profdiff.views.results.experiment import Change, changed, in_ratios, texts
from profdiff.views.results.result import ABSENT, Entry, Median, Pair


class PartChange(Record, frozen=True):
    """The change in one part: the medians over boots, per op where the result is, and the change.
    ``noise_floor``: how much the base differs from itself there."""

    base: float | None
    other: float | None
    change: Change | None
    noise_floor: float | None


class JointChange(Record, frozen=True):
    """One metric at one setting on one kernel against the base. ``parts``: by name, null
    where it was not measured."""

    metric: str
    unit: str
    better: Literal["lower", "higher"]
    collector: str
    per_op: bool
    parameters: dict[str, str]
    cpus: int | None
    kernel: str
    parts: dict[str, PartChange | None]


class JointTable(Record, frozen=True):
    """Cells as texts. ``groups``: of each column, the part that it is of; "" for the first
    ``names`` columns, which name the row."""

    title: str
    names: Annotated[int, Meta(ge=1)]
    header: list[str]
    groups: list[str]
    rows: list[list[str]]


class PartsGrid(Record, frozen=True):
    """A joint table whose cells know their values. ``needed``: how badly a reader needs each
    column, 0 most."""

    title: str
    names: int
    header: list[str]
    groups: list[str]
    needed: list[int]
    rows: list[list[Entry]]

    def in_ratios(self) -> "PartsGrid":
        """The same with changes as ratios."""
        header, rows = in_ratios(self.header, self.rows)
        return msgspec.structs.replace(self, header=header, rows=rows)

    @property
    def table(self) -> JointTable:
        """In texts."""
        return JointTable(
            title=self.title,
            names=self.names,
            header=self.header,
            groups=self.groups,
            rows=texts(self.rows),
        )


def changes(joint: PartsResults, names: Sequence[str]) -> list[JointChange]:
    """Every metric at every setting on every kernel but the base; ``names``: the parts."""
    return [
        JointChange(
            metric=metric.metric.name,
            unit=metric.metric.unit,
            better=metric.metric.better,
            collector=metric.collector,
            per_op=metric.per_op,
            parameters=dict(setting.one.parameters),
            cpus=setting.one.cpus,
            kernel=label,
            parts={name: _part(joint, name, by_part.get(name), label) for name in names},
        )
        for metric in joint.metrics()
        for setting, by_part in joint.of_metric(metric)
        for label in joint.labels[1:]
    ]


def _part(joint: PartsResults, name: str, one: Result | None, label: str) -> PartChange | None:
    if one is None:
        return None
    pair, change = _on(joint.parts[name], one, label)
    floor = result.floor(one)
    return PartChange(
        base=pair.base.value,
        other=pair.other.value,
        change=changed(change) if change else None,
        noise_floor=floor.part if floor else None,
    )


def _on(results: Results, one: Result, label: str) -> tuple[Pair, Estimate | None]:
    """The values of the base and of a kernel, and the change."""
    known = label in results.labels
    other = Median.of(one.cells[results.labels.index(label)]) if known else Median(value=None)
    return Pair(base=Median.of(one.cells[0]), other=other), results.change(one, label)


def grids(joint: PartsResults, setting: PartsSetting, names: Sequence[str]) -> list[PartsGrid]:
    """A sweep has a table for each metric, with a row for each setting; without one, metrics are
    the rows. With several kernels beside the base, each row is of one."""
    if joint.swept:
        metrics = joint.metrics()
        return [_grid(joint, [one], joint.of_metric(one), names) for one in metrics]
    by_source: dict[str, list[PartsMetric]] = {}
    for metric in joint.metrics():
        ((_, by_part),) = joint.of_metric(metric)
        source = result.source(next(iter(by_part.values())))
        by_source.setdefault(source, []).append(metric)
    return [
        _grid(joint, some, [row for one in some for row in joint.of_metric(one)], names)
        for some in by_source.values()
    ]


def _grid(
    joint: PartsResults,
    metrics: Sequence[PartsMetric],
    found: Sequence[tuple[PartsSetting, dict[str, Result]]],
    names: Sequence[str],
) -> PartsGrid:
    every = [one for _, by_part in found for one in by_part.values()]
    base, *others = joint.labels
    several = len(others) > 1
    header = [*(joint.swept or ["metric"]), *(["kernel"] if several else [])]
    told = [change for one in every for change in one.changes if change]
    certain = all(change.verdict is Verdict.EXACT for change in told)
    noisy = any(one.noise is not None for one in every)
    states = result.varied(every)
    columns, needed = ["value"], [1]
    if others:
        wanted = {"values": 1, "change": 0, "verdict": 2 if certain else 0}
        wanted |= {"states": 3} if states else {}
        wanted |= {"A/A": 3} if noisy else {}
        columns, needed = [*wanted], [*wanted.values()]
    rows: list[list[Entry]] = []
    for setting, by_part in found:
        first = next(iter(by_part.values()))
        row_name = [setting.value(name) for name in joint.swept]
        row_name = row_name or [guest_clock.unsaid(result.title(first))]
        for label in others or [base]:
            row: list[Entry] = [*row_name, *([label] if several else [])]
            for name in names:
                one = by_part.get(name)
                if one is None:
                    row += [ABSENT] * len(columns)
                elif others:
                    row += _cells(joint.parts[name], one, label, states, noisy)
                else:
                    row.append(Median.of(one.cells[0]))
            rows.append(row)
    what = result.heading(every[0]) if joint.swept else result.source(every[0])
    against = f"{base} -> {'each kernel' if several else others[0]}" if others else base
    return PartsGrid(
        title=f"{what}, {against}",
        names=len(header),
        header=[*header, *(title for _ in names for title in columns)],
        groups=[*("" for _ in header), *(name for name in names for _ in columns)],
        needed=[*(0 for _ in header), *(needed * len(names))],
        rows=rows,
    )


def _cells(results: Results, one: Result, label: str, states: bool, noisy: bool) -> Iterator[Entry]:
    pair, change = _on(results, one, label)
    yield pair
    yield result.delta(change)
    yield result.judged(change)
    if states:
        yield result.seen(change)
    if noisy:
        yield result.floor(one)


SCHEMA: Final = "profdiff.joint-report/2"


class JointDocument(Record, frozen=True):
    """``kind``: what the parts differ by; ``names``: all parts that were asked for, in order.
    ``setting``: the one that sentences and functions are of, "" for the only one. ``commands``:
    what shows a part alone. ``missing``: by part, why it has nothing there; ``parts``: the reports
    of the others."""

    schema: Literal["profdiff.joint-report/2"]
    profdiff: str
    kind: KindName
    names: Annotated[list[str], Meta(min_length=1)]
    base: str
    setting: str
    sentences: list[str]
    changes: list[JointChange]
    tables: list[JointTable]
    functions: JointFunctions | None
    commands: dict[str, str]
    missing: dict[str, str]
    parts: dict[str, Document]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``joint-report.schema.json`` is a copy."""
    return schema_of(JointDocument, SCHEMA)
