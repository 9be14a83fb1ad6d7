"""The data of a suite's report, ``profdiff.suite-report/1``: what ``--json`` writes.
``profdiff/suite-report.schema.json`` is made of these records; ``docs/suite-report.md`` explains
it."""

import math
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from profdiff.base.errors import InputError
from profdiff.base.metric import Better
from profdiff.session.states import RELEVANT
from profdiff.views.kernels.facts import Variant
from profdiff.views.record import Record, Side, schema_of


def parsed(text: str | None) -> float:
    """A fraction: 0.05 of ``5%`` or ``5``. Raises InputError for what is not a percentage."""
    if text is None:
        return RELEVANT
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"--threshold {text}: give a percentage, such as 5%")
    return value


SCHEMA: Final = "profdiff.suite-report/1"

Verdict = Literal["exact", "changed", "unchanged", "unsure", "depends on state"]
MissingKind = Literal["not there", "failed", "not recorded"]


class SuiteKernel(Record, frozen=True):
    """A kernel of the suite; null is unknown."""

    label: str
    release: str | None
    build_id: str | None
    compiler: str | None
    variant: Variant


class SuiteChange(Record, frozen=True):
    """A kernel's value against the base's. ``relative``: a fraction, null where the base is 0;
    ``delta``: in the cell's unit; ``relevant``: it is sure, and at least the threshold. ``states``:
    in how many it was seen, the plain one among them, of which values and deltas are; of a change
    that depends on state they are of the one that shows least of it, or of the median one. Of
    several, ``low`` and ``high`` are the lowest and the highest change, null where the base is 0 in
    some.
    It counts by the state that shows least of it; ``depends``: it is at least the threshold in some
    states, not in all; ``differs``: the function in which states differ most of a change that
    depends on them, "" if that is not known. ``iterated``: the change as a fraction with each
    iteration of repeated string instructions counted, null where that differs neither in sign nor
    by the threshold, or is not known."""

    relative: float | None
    delta: float
    verdict: Verdict
    relevant: bool
    states: Annotated[int, Meta(ge=1)] = 1
    low: float | None = None
    high: float | None = None
    depends: bool = False
    differs: str = ""
    iterated: float | None = None


class SuiteMissing(Record, frozen=True):
    """Why a kernel has no value in a cell. ``why``: one line, of the run that failed; ``lacks``:
    what is not there, "" where something else is the matter."""

    kind: MissingKind
    why: str
    lacks: str = ""


class SuiteCellFunction(Record, frozen=True):
    """A function that makes a cell's change. ``delta``: of its own count, of a seat of its total,
    in the cell's unit; ``share``: of the whole delta of all functions, null where that is 0."""

    name: str
    object: str
    side: Side
    delta: float
    share: float | None


class SuiteFurther(Record, frozen=True):
    """A cell by another metric than the suite's, which belongs to that: misses beside transfers.
    ``values`` and ``changes``: as the cell's own."""

    metric: str
    unit: str
    values: dict[str, float | None]
    changes: dict[str, SuiteChange]


class SuiteCellEvent(Record, frozen=True):
    """How often an event of the workload happened in a cell, or an item of the inventory ran, per
    op where the cell's values are, on the base and on a kernel. ``states``: in how many the change
    was seen."""

    event: str
    base: float
    value: float
    states: Annotated[int, Meta(ge=1)]


class SuiteCell(Record, frozen=True):
    """One workload at one point. ``part``: of which architecture or compiler, "" for the only one;
    ``point``: values of parameters; ``op``: what one operation is; ``session``: its folder,
    relative to the suite's ("" for the suite's folder itself); ``at``: what ``--at`` takes there,
    "" for the only point; ``command``: the workload's. ``per_op``: values are per operation.
    ``values``: by label, null where there is none, of which ``missing`` tells why. ``changes`` and
    ``functions`` (the three that make most of it): of every kernel but the base that can be
    compared; ``seats``: the deepest function that holds at least half of the change with all that
    it calls, of kernels where one does. ``noise``: how much the base differs from itself (A/A), as
    a fraction, null where it was not recorded twice. ``reproduce``: the command that records this
    cell alone. ``further``: its values by other metrics that belong to the suite's.
    ``events``: those that changed for certain and by more than the instructions, the largest first,
    of kernels of which events are known. ``items``: those of the inventory that changed for certain
    and by more than twice as far, those that cost most first."""

    name: str
    workload: str
    part: str
    point: dict[str, str]
    cpus: int | None
    tags: list[str]
    op: str
    about: str
    session: str
    at: str
    command: str
    values: dict[str, float | None]
    per_op: bool
    changes: dict[str, SuiteChange]
    missing: dict[str, SuiteMissing]
    functions: dict[str, list[SuiteCellFunction]]
    seats: dict[str, SuiteCellFunction]
    noise: float | None
    reproduce: str
    further: list[SuiteFurther] = field(default_factory=list)
    events: dict[str, list[SuiteCellEvent]] = field(default_factory=dict)
    items: dict[str, list[SuiteCellEvent]] = field(default_factory=dict)


class SuiteFunction(Record, frozen=True):
    """A function over all cells. By label of each kernel but the base: ``up`` and ``down``, in how
    many cells its own count grew or fell; ``points``, the sum over cells of its delta as a fraction
    of the base's whole count there, in percentage points."""

    name: str
    object: str
    side: Side
    up: dict[str, int]
    down: dict[str, int]
    points: dict[str, float]


class SuiteEvent(Record, frozen=True):
    """An event or item over all cells: ``is_what`` happens, or what it does. By label of each
    kernel but the base: in how many cells there are ``more``, or ``fewer``, of those that have it
    among their own."""

    event: str
    is_what: str
    more: dict[str, int]
    fewer: dict[str, int]


class SuiteSummary(Record, frozen=True):
    """One kernel against the base: of ``compared`` cells, ``more`` cost at least the threshold
    more, and ``less`` as much less; in ``depend`` ones it depends on state; ``iterated`` ones
    change otherwise with each iteration of repeated string instructions counted; in ``other`` ones
    the kernels differ by less than that, or not for sure. ``functions``: names of those that make
    most of it over all cells. ``events_known``: of how many cells events of the workload are known;
    ``events``: in how many of them some changed for certain and by more than the instructions;
    ``items_known``, ``items``: the same of the inventory, by more than twice as far."""

    kernel: str
    compared: int
    more: int
    less: int
    depend: int
    other: int
    not_there: int
    failed: int
    not_recorded: int
    functions: list[str]
    sentence: str
    events: int = 0
    events_known: int = 0
    iterated: int = 0
    items: int = 0
    items_known: int = 0


class SuiteNoise(Record, frozen=True):
    """A/A: of ``cells`` in which the base was recorded against itself, so many ``differ``; of
    ``unsure`` ones nobody can tell."""

    cells: int
    differ: int
    unsure: int
    sentence: str


class SuiteDamage(Record, frozen=True):
    """A workload, or one of its parts (``getpid/arm64``), that cannot be read: ``why`` is one
    line."""

    name: str
    why: str


class SuiteDocument(Record, frozen=True):
    """``kernels``: the base first; ``sentence``: of the last kernel; ``summaries``: of every kernel
    but the base. ``banner``: what values are not. ``threshold``: a fraction, from which a change is
    relevant. ``restored``: whether guests were restored, null where it differs or no guest ran.
    ``functions``: those that make most over all cells, of the last kernel, at most 200.
    ``events``, ``items``: those that changed in some cell, in most cells of the last kernel first.
    ``damaged``: workloads of which no cell is here, since they cannot be read. ``remarks``: what a
    reader must know."""

    schema: Literal["profdiff.suite-report/1"]
    name: str
    created: str
    profdiff: str
    metric: str
    unit: str
    better: Better
    banner: str
    sentence: str
    threshold: Annotated[float, Meta(ge=0)]
    restored: bool | None
    noise: SuiteNoise | None
    summaries: list[SuiteSummary]
    kernels: Annotated[list[SuiteKernel], Meta(min_length=1)]
    cells: list[SuiteCell]
    functions: list[SuiteFunction]
    damaged: list[SuiteDamage]
    remarks: list[str]
    events: list[SuiteEvent] = field(default_factory=list)
    items: list[SuiteEvent] = field(default_factory=list)


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``suite-report.schema.json`` is a copy."""
    return schema_of(SuiteDocument, SCHEMA)
