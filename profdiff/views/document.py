"""The report's data, ``profdiff.report/2``: what ``--json`` writes and the page shows.

``profdiff/report.schema.json`` is made of these records; ``docs/report-data.md`` explains it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from profdiff import __version__
from profdiff.evidence.blame.renamed import other_names
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import of_comparison
from profdiff.profile.comparison import Comparison
from profdiff.shapes.table import Section
from profdiff.topics.functions import marks
from profdiff.topics.functions.measure import Function, Unresolved, functions, unresolved
from profdiff.views import profile
from profdiff.views.bisection import Bisection
from profdiff.views.kernels.facts import BuiltFrom, Facts, Hole, Variant, built_from, variant
from profdiff.views.kernels.state import guest_arch
from profdiff.views.profile import Code, Seat, Step, seats_by_label
from profdiff.views.record import Counts, Record, Side, by_label, counts, schema_of, side
from profdiff.views.results.experiment import Experiment
from profdiff.views.results.notes import Lengths
from profdiff.views.results.recording import Workload

SCHEMA: Final = "profdiff.report/2"

# The most functions of each step: all of them are in ``functions``.
_STEP_FUNCTIONS = 50
Columns = dict[str, list[int]]
Number = Annotated[int, Meta(ge=0)]


class Kernel(Record, frozen=True):
    """``reproduced``: whether its runs are equal, None of one run. ``source``: what profdiff built
    it from, None of other kernels. ``variant``: what its guest was given otherwise."""

    label: str
    release: str | None
    build_id: str | None
    version: str | None
    compiler: str | None
    spec: str
    image_sha256: str | None
    inlines_visible: bool
    runs: Number
    reproduced: bool | None
    source: BuiltFrom | None
    variant: Variant


class Guest(Record, frozen=True):
    """The machine that every run had, but for what a kernel's ``variant`` says; ``cpus`` at the
    setting; ``cpu``: QEMU's ``-cpu``, null for the architecture's default. ``arch``: null where no
    run says it. ``restored``: runs in emulated guests restored a machine that was saved, they did
    not boot; ``not_restored``: why they booted although that was asked for."""

    arch: str | None
    cpu: str | None
    memory_mib: int
    cpus: int | None
    append: str
    settle: float
    restored: bool
    not_restored: str | None


class Recorded(Record, frozen=True):
    """When and by which command."""

    created: str
    command: list[str]


class RecordedRun(Record, frozen=True):
    """A run, finished or not. ``each_iteration``: its instructions with each iteration of repeated
    string instructions counted. ``beside``: what ran beside the workload, None where
    ``instructions`` include it."""

    id: str
    kernel: str
    collector: str
    point: Number
    repetition: Annotated[int, Meta(ge=1)]
    started: str
    wall_seconds: Annotated[float, Meta(ge=0)]
    failure: str | None
    instructions: Number | None
    each_iteration: Number | None
    beside: Number | None


class Unnamed(Record, frozen=True):
    """A function that stands for unresolved frames."""

    reason: str
    side: Side


class Stacks(Record, frozen=True):
    """Columns over stacks: the ``parent``'s number, -1 for none, and the innermost ``function``'s,
    from the number of functions on those of ``unnamed``. ``inlined``: 1 where the innermost frame
    is, by label."""

    parent: list[int]
    function: list[int]
    unnamed: list[Unnamed]
    inlined: Columns


class Metric(Record, frozen=True):
    """``stacks``: which of the document's tables ``counts`` and ``calls`` are columns over.
    ``steps`` from kernel to kernel, and ``code``: of exact counts. ``seats``: of the
    changes, by label of the kernels where a function holds as much. ``beside``: instructions that
    ran beside the workload, which ``totals`` leave out; None where that is not known."""

    metric: str
    unit: str
    collector: str
    exact: bool
    totals: Counts
    stacks: Number
    counts: Columns
    calls: Columns | None
    unresolved: list[Unresolved]
    functions: list[Function]
    steps: list[Step]
    seats: dict[str, Seat]
    beside: Counts | None
    code: Code | None = None


class Document(Record, frozen=True):
    """The whole; ``heading``: of the page, on one line; ``experiment`` and ``facts`` have modules
    of their own; ``sections``: of the topics that have something to show."""

    schema: Literal["profdiff.report/2"]
    profdiff: str
    heading: str
    answers: list[str]
    bisection: Bisection | None
    evidence: list[str]
    base: str
    kernels: Annotated[list[Kernel], Meta(min_length=1)]
    without_result: list[str]
    holes: list[Hole]
    workload: Workload
    lengths: Lengths | None
    guest: Guest | None
    facts: Facts
    experiment: Experiment
    report_command: str
    recorded: Recorded
    runs: list[RecordedRun]
    stacks: list[Stacks]
    metrics: list[Metric]
    sections: list[Section]


class TopicDocument(Record, frozen=True):
    """One topic alone, as it stands in the whole."""

    schema: Literal["profdiff.report/2"]
    profdiff: str
    sections: list[Section]


def topic_document(section: Section) -> TopicDocument:
    """What ``profdiff report TOPIC --json`` writes."""
    return TopicDocument(schema=SCHEMA, profdiff=__version__, sections=[section])


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``report.schema.json`` is a copy."""
    return schema_of(Document, SCHEMA)


def kernels(findings: Findings) -> list[Kernel]:
    """The kernels that have a result."""
    return [
        Kernel(
            label=kernel.label,
            release=kernel.release,
            build_id=kernel.build_id,
            version=kernel.version,
            compiler=kernel.compiler,
            spec=kernel.spec,
            image_sha256=kernel.image_sha256,
            source=built_from(kernel),
            variant=variant(kernel),
            **_told(findings, number),
        )
        for number, kernel in enumerate(findings.kernels)
    ]


def _told(findings: Findings, kernel: int) -> dict[str, Any]:
    """What the runs of a kernel's profile tell of it, or timed runs where there are no others."""
    if not findings.comparisons:
        label = findings.kernels[kernel].label
        runs = [run for run in findings.manifest.runs if run.kernel == label and not run.failure]
        here = sum(run.point in findings.setting.points for run in runs)
        return {"inlines_visible": False, "runs": here, "reproduced": None}
    first = findings.comparisons[0]
    repetitions = first.repetitions[kernel]
    return {
        "inlines_visible": first.inlines_visible[kernel],
        "runs": repetitions.runs,
        "reproduced": repetitions.identical if repetitions.runs > 1 else None,
    }


def guest(findings: Findings) -> Guest | None:
    """None where runs had no guest of profdiff's own."""
    one = findings.manifest.guest
    if one is None:
        return None
    return Guest(
        arch=guest_arch(findings.manifest.runs),
        cpu=one.cpu,
        memory_mib=one.memory,
        cpus=findings.setting.cpus,
        append=one.append,
        settle=one.settle,
        restored=one.restored,
        not_restored=one.not_restored,
    )


def runs(findings: Findings) -> list[RecordedRun]:
    """Every run of the session."""
    return [
        RecordedRun(
            id=run.id,
            kernel=run.kernel,
            collector=run.collector,
            point=run.point,
            repetition=run.repetition,
            started=run.started,
            wall_seconds=run.wall_seconds,
            failure=run.failure.message if run.failure else None,
            instructions=run.instructions.kernel + run.instructions.user
            if run.instructions
            else None,
            each_iteration=run.instructions.each_iteration if run.instructions else None,
            beside=run.instructions.beside if run.instructions else None,
        )
        for run in findings.manifest.runs
    ]


def tables(comparisons: Sequence[Comparison]) -> tuple[list[Stacks], list[Metric]]:
    """All metrics, without what is told of code, and the stacks that metrics of one collector
    share."""
    known: dict[int, int] = {}
    stacks: list[Stacks] = []
    metrics: list[Metric] = []
    for comparison in comparisons:
        number = known.setdefault(id(comparison.stacks), len(known))
        if number == len(stacks):
            stacks.append(_stacks(comparison))
        metrics.append(_metric(comparison, _beside(comparison, comparisons), number))
    return stacks, metrics


def _stacks(comparison: Comparison) -> Stacks:
    return Stacks(
        parent=comparison.stacks.parent.tolist(),
        function=comparison.stacks.function.tolist(),
        unnamed=[
            Unnamed(reason=function.reason, side=side(function.in_kernel))
            for function in comparison.unnamed
        ],
        inlined=_columns(comparison, comparison.inlined.astype(int)),
    )


def _beside(comparison: Comparison, every: Sequence[Comparison]) -> Comparison | None:
    """The instructions that were sampled together with ``comparison``, if that is cycles."""
    collector = comparison.runs[0].collector
    others = [one for one in every if one.runs[0].collector == collector and one is not comparison]
    return marks.instructions_of([comparison, *others])


def _metric(comparison: Comparison, beside: Comparison | None, stacks: int) -> Metric:
    return Metric(
        metric=comparison.metric.name,
        unit=comparison.metric.unit,
        collector=comparison.runs[0].collector,
        exact=comparison.metric.exact,
        totals=counts(comparison.labels, comparison.totals()),
        stacks=stacks,
        counts=_columns(comparison, comparison.counts),
        calls=None if comparison.calls is None else _columns(comparison, comparison.calls),
        unresolved=unresolved(comparison),
        functions=_functions(comparison, beside),
        steps=profile.steps(comparison, _STEP_FUNCTIONS),
        code=None,
        seats=seats_by_label(comparison),
        beside=of_comparison(comparison),
    )


def _functions(comparison: Comparison, beside: Comparison | None) -> list[Function]:
    """All of a comparison; exact counts tell which may be one by two names."""
    found = functions(comparison, np.arange(len(comparison.functions)), beside)
    base, *others = comparison.labels
    for kernel, label in enumerate(others, 1):
        for pair in other_names(comparison, kernel).items():
            for (row, other), there in zip((pair, pair[::-1]), (base, label), strict=True):
                told = f"on {there} perhaps {comparison.functions[other].name}"
                found[row] = replace(found[row], marks={**found[row].marks, label: told})
    return found


def _columns(comparison: Comparison, values: Any) -> Columns:
    """Columns over all stacks, by label."""
    return by_label(comparison.labels, values.T.tolist())
