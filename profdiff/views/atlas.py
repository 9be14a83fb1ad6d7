"""The data of an atlas, ``profdiff.atlas/1``: ``index.json`` of its site.
``profdiff/atlas.schema.json`` is made of these records; ``docs/atlas.md`` explains it."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from profdiff.base.metric import Better
from profdiff.views.kernels.facts import Variant
from profdiff.views.record import Record, schema_of
from profdiff.views.suite import (
    SuiteCellEvent,
    SuiteCellFunction,
    SuiteDamage,
    SuiteMissing,
    Verdict,
)

SCHEMA: Final = "profdiff.atlas/1"

Number = Annotated[int, Meta(ge=0)]


class AtlasSource(Record, frozen=True):
    """A suite or session. ``page``: its own, relative to the site; ``noise``: what A/A shows, ""
    where the base was not recorded twice; ``remarks``: what a reader must know of it."""

    name: str
    kind: Literal["suite", "session"]
    page: str
    created: str
    command: list[str]
    cells: Number
    noise: str
    remarks: list[str]


class AtlasCommit(Record, frozen=True):
    """The commit that made a step, which the bisection of a source found."""

    commit: str
    subject: str
    source: Number


class AtlasValue(Record, frozen=True):
    """One end of a step: its recording, and as in a point its page and command."""

    source: Number
    value: float
    page: str
    reproduce: str


class AtlasStep(Record, frozen=True):
    """Against the release ``since`` (a number of the series' releases), the one before it on the
    line: from ``before`` to ``after``, which are of one recording if any has both. ``relative``: a
    fraction, null from 0; ``relevant``: it is sure, and at least the threshold; ``functions``: the
    three that make most of a relevant one; ``events``: of the workload, the three that changed most
    in a relevant one, for certain and by more than the instructions; ``items``: of the inventory,
    by more than twice as far. ``commit``: what made it;
    ``suspects``: what bisections found between both releases, on another machine or the other way.
    ``compilers``: both, where they differ; ``programs_differ``: the workload's files are others.
    ``states``, ``low`` and ``high``: as in a suite's change."""

    since: Number
    before: AtlasValue
    after: AtlasValue
    relative: float | None
    delta: float
    verdict: Verdict
    states: Number
    low: float | None
    high: float | None
    relevant: bool
    functions: list[SuiteCellFunction]
    seat: SuiteCellFunction | None
    events: list[SuiteCellEvent]
    items: list[SuiteCellEvent]
    commit: AtlasCommit | None
    suspects: list[AtlasCommit]
    compilers: list[str]
    programs_differ: bool


class AtlasPoint(Record, frozen=True):
    """A cell on a release. ``exact``: counted, and the same in every boot; ``page``: the cell's in
    its source's pages, "" if it has none; ``reproduce``: the command that records it. ``others``:
    values of the same kernel in further sources, by their names, where they differ."""

    release: Number
    source: Number
    label: str
    value: float | None
    exact: bool
    missing: SuiteMissing | None
    step: AtlasStep | None
    page: str
    reproduce: str
    others: dict[str, float]


class AtlasCell(Record, frozen=True):
    """A cell's line in one series. ``page``: with the lines of all series."""

    name: str
    workload: str
    about: str
    op: str
    tags: list[str]
    per_op: bool
    page: str
    points: list[AtlasPoint]


class AtlasRelease(Record, frozen=True):
    """A kernel, in the order of versions. Among the cells that have a value here and on an earlier
    release: ``more`` and ``less`` by at least the threshold, ``smaller`` ones surely by less,
    ``same`` ones not; in ``depend`` ones it depends on state; ``unsure``: nobody can tell.
    ``missing`` have no value here."""

    title: str
    release: str | None
    label: str
    build_id: str | None
    compiler: str | None
    variant: Variant
    more: Number
    less: Number
    smaller: Number
    same: Number
    depend: Number
    unsure: Number
    missing: Number
    sentence: str


class AtlasSeries(Record, frozen=True):
    """Values that can be compared: all were counted on such a ``machine``."""

    title: str
    machine: dict[str, str]
    metric: str
    unit: str
    better: Better
    sources: list[Number]
    releases: list[AtlasRelease]
    cells: list[AtlasCell]


class Atlas(Record, frozen=True):
    """``sentences``: what each series' newest release says; ``banner``: what values are not;
    ``threshold``: a fraction, from which a change is relevant. ``damaged``: recordings, and
    workloads of suites (``NAME: WORKLOAD``), that are left out since they cannot be read."""

    schema: Literal["profdiff.atlas/1"]
    profdiff: str
    banner: str
    threshold: Annotated[float, Meta(ge=0)]
    sentences: list[str]
    sources: list[AtlasSource]
    series: list[AtlasSeries]
    damaged: list[SuiteDamage]
    remarks: list[str]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``atlas.schema.json`` is a copy."""
    return schema_of(Atlas, SCHEMA)
