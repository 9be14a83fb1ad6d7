"""The experiment: settings, values of every boot, verdicts, and its tables."""

from typing import Annotated, Literal

from msgspec import Meta

from profdiff.views.record import Record

# Estimate, low and high, as fractions of the base; None for what is not a number.
Interval = Annotated[list[float | None], Meta(min_length=3, max_length=3)]
Number = Annotated[int, Meta(ge=0)]


class Change(Record, frozen=True):
    """A kernel's change against the base."""

    median: Interval
    mean: Interval
    mann_whitney: float | None
    welch: float | None
    smallest_p: float | None
    verdict: Literal["exact", "changed", "unchanged", "unsure"]
    quality: Literal["reliable", "robust-only", "partial"]
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


class Experiment(Record, frozen=True):
    """``setting``: the one that is looked at, "" for the only one. ``results`` are of all."""

    setting: str
    results: list[Result]
    tables: list[Table]
    notes: list[str]
    state: list[str]
    state_differs: bool
