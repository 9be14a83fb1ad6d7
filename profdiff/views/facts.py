"""What differs between the kernels beside their code, and what is not known."""

from typing import Annotated

from msgspec import Meta

from profdiff.views.record import Record

Values = dict[str, str | None]
Shares = dict[str, Annotated[float, Meta(ge=0, le=1)]]


class Difference(Record, frozen=True):
    """``values`` by label, None where a kernel has none."""

    what: str
    values: Values


class Option(Record, frozen=True):
    """A config option that differs. ``relevant``: it can matter to costs."""

    option: str
    values: Values
    relevant: bool


class MetricShares(Record, frozen=True):
    """The parts of a metric's totals that have no function (``unresolved``) or were ``lost``, 0 to
    1, by label."""

    metric: str
    collector: str
    unresolved: Shares
    lost: Shares


class Facts(Record, frozen=True):
    """All that is known, by label."""

    differences: list[Difference]
    config: list[Option]
    config_summary: list[str]
    command_lines: dict[str, str]
    machine: dict[str, dict[str, str]]
    shares: list[MetricShares]
