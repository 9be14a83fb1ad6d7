"""What pages hold, as records: ``scripts/types`` makes the types of the page's scripts of them."""

import json
from typing import Annotated, Any, Literal

from msgspec import Meta, field, structs, to_builtins

from profdiff.profile.data.guard import Cause
from profdiff.reports.page.sharing_records import EmbeddedSharing, PageSharing
from profdiff.shapes.table import Section
from profdiff.views.atlas import Atlas
from profdiff.views.blame import Blame
from profdiff.views.document import Document, Stacks
from profdiff.views.parts.results import JointTable
from profdiff.views.record import Counts, Record, Side
from profdiff.views.suite import SuiteDocument

Columns = dict[str, list[int]]
# What a row of accesses is.
AccessGroup = Literal["field", "type", "line"]


def _typed(written: str) -> Meta:
    """What no record is, in the words of TypeScript."""
    return Meta(extra_json_schema={"tsType": written})


# Some members of a report's page, the others are the page's own.
Partly = Annotated[dict[str, Any], _typed("Partial<Page>")]


class Chart(Record, frozen=True):
    """An SVG document, which loads nothing."""

    title: str
    about: Literal["experiment", "functions", "parts"]
    svg: str


class Point(Record, frozen=True):
    """A point of the sweep: ``at`` as ``report --at`` takes it and the ``command`` that does, and
    in ``report`` what the report says otherwise there. ``annotate``: the command that shows code
    there; ``setting``: its title in its part; ``part``: "" if there is one only; ``own``: whether
    it is the page's; ``holds``: what the page has of its functions."""

    at: str
    command: str
    annotate: str
    title: str
    setting: str
    part: str
    own: bool
    holds: Literal["stacks", "functions", "nothing"]
    report: Partly


class EmbeddedCode(Record, frozen=True):
    """Which functions the page holds code of: their numbers, for each metric. ``why``: the reason
    where it has none."""

    functions: list[list[int]]
    why: str


class EmbeddedAccesses(Record, frozen=True):
    """What the page has of the data that kernels access, which lies in an element of its own.
    ``metric``: the number of the metric whose functions it names; ``held``: how many rows, by what
    a row is, and ``all``: of how many."""

    metric: int
    held: dict[AccessGroup, int]
    all: dict[AccessGroup, int]


class PartsTable(JointTable, frozen=True):
    """``foot``: rows that have the rest, and the sum."""

    foot: list[list[str]]


class Joint(Record, frozen=True):
    """Several architectures, or compilers, side by side. ``where``: on all of them, as a sentence
    ends. ``missing``: why others have none."""

    where: str
    sentences: list[str]
    tables: list[PartsTable]
    notes: list[str]
    missing: list[str]
    charts: list[Chart]


class Back(Record, frozen=True):
    """Where the page's suite is, and which of its cells the page is of."""

    address: str
    cell: str


class Page(Document, frozen=True):
    """A report's page. ``points``: none if there is one alone; ``joint``: of several parts, of
    which ``parts`` are those that are not the page's own; ``back``: of a page of a site.
    ``accesses``: None where they are not known; ``sharing``: None where no run recorded it."""

    code: EmbeddedCode
    accesses: EmbeddedAccesses | None = None
    sharing: EmbeddedSharing | None = None
    charts: list[Chart] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    blame: Blame | None = None
    joint: Joint | None = None
    parts: dict[str, Partly] = field(default_factory=dict)
    back: Back | None = None


def page_of(shown: Document, **more: Any) -> Page:
    """The page of a report; ``more``: members of ``Page``. Without code: that of a suite's cell."""
    without = EmbeddedCode(functions=[], why="the pages of a suite hold no code")
    return Page(**{**structs.asdict(shown), "code": without, **more})


def extended(report: bytes, page: Page) -> bytes:
    """The JSON of a page of which ``report`` is that of its report, which takes most of the
    time."""
    own = page.__struct_fields__[len(Document.__struct_fields__) :]
    more = {name: to_builtins(getattr(page, name)) for name in own}
    return report[:-1] + b"," + json.dumps(more, separators=(",", ":")).encode()[1:]


class LineColumns(Record, frozen=True):
    """Where the kernel lacks a line, ``line`` is 0."""

    line: list[int]
    count: list[int]
    samples: list[int] | None


class CodeLines(Record, frozen=True):
    """Columns over lines; texts are numbers."""

    file: list[int]
    text: list[int]
    kernels: dict[str, LineColumns]


class CodeColumns(Record, frozen=True):
    """A kernel's columns; where it lacks a row, ``text`` is 0. ``address``: from ``start``, the
    difference to the row before it that the kernel has; ``taken``: -1 where it is not a
    conditional branch's, or is not known of all executions; ``target``: the row that a jump leads
    to, -1 if none. ``accessed``: what is accessed, a text, and ``accessed_row``: its number among
    the fields that the page has, -1 if none; None where nothing is known."""

    start: str
    address: list[int]
    text: list[int]
    count: list[int]
    samples: list[int] | None
    taken: list[int]
    target: list[int]
    line: list[int]
    accessed: list[int] | None
    accessed_row: list[int] | None


class CodeSplit(Record, frozen=True):
    """As an annotation's."""

    same: int
    other: int


class CodePlace(Record, frozen=True):
    """As an annotation's."""

    chains: dict[str, list[str]]
    self: Counts


class FunctionCode(Record, frozen=True):
    """The code of a function, which lies in an element of its own: columns over rows, and over
    lines. Texts are numbers of ``strings``, of which 0 is empty. ``before`` and ``after``: how
    many instructions that were never executed are left out there."""

    size: Counts
    split: dict[str, CodeSplit]
    places: list[CodePlace]
    notes: list[str]
    place: list[int]
    relation: list[int]
    before: list[int]
    after: list[int]
    file: list[int]
    classes: list[int]
    kernels: dict[str, CodeColumns]
    lines: CodeLines
    strings: list[str]


class AccessRows(Record, frozen=True):
    """Columns over rows, those that changed most first; texts are numbers of ``strings``.
    ``names``: all of a place, where there are several; ``group``: 0 of data, 1 of the stack, 2
    unresolved; ``store``: 0 or 1. By label: ``counts``;
    ``line`` and ``offset``, -1 where they are not known; of all but the base, the ends of the
    interval in which the difference to it lies, and ``causes``, bits of ``causes`` of the whole.
    ``parts``: how many functions follow for each row, and ``more``: how many are left out.

    Columns over functions: ``function`` and ``within``, what it is inlined into: numbers of the
    metric's functions, or below -1 of ``others``: -2 is the first; -1: none. ``part_counts``,
    ``part_low`` and ``part_high`` as of rows."""

    name: list[int]
    names: list[list[int]]
    group: list[int]
    store: list[int]
    line: Columns
    offset: Columns
    counts: Columns
    low: Columns
    high: Columns
    causes: Columns
    parts: list[int]
    more: list[int]
    function: list[int]
    within: list[int]
    part_counts: Columns
    part_low: Columns
    part_high: Columns


class PageAccesses(Record, frozen=True):
    """The data that kernels access, in an element of its own. ``totals``: all loads and stores,
    and ``unresolved``: those of which nothing tells what they access. ``others``: functions that
    the metric has not."""

    rows: dict[AccessGroup, AccessRows]
    totals: Counts
    unresolved: Counts
    causes: list[Cause]
    others: list[str]
    strings: list[str]


class SharedFunctions(Record, frozen=True):
    """Columns over functions that several reports have."""

    name: list[str]
    object: list[str]
    file: list[str]
    side: list[Side]
    namesakes: list[bool]
    line: Columns


class Shared(Record, frozen=True):
    """What several cells' reports have in common."""

    members: list[Any]
    functions: SharedFunctions


class SuitePage(Record, frozen=True):
    """``held``: of each cell the number of its element, null if the page has none; ``pages``: of
    each cell its page's address, "" if it has none."""

    suite: SuiteDocument
    held: list[int | None]
    pages: list[str]
    shared: Shared


class PackedFunctions(Record, frozen=True):
    """Functions of a cell. ``shared``: the steps from one's number to the next one's."""

    shared: list[int]
    symbols: Annotated[list[Any], _typed("[number, Record<string, string[]>][]")]
    marks: Annotated[list[Any], _typed("[number, Record<string, string>][]")]
    self: Columns | None
    total: Columns | None
    samples: Columns | None


_METRIC = _typed('(Omit<Metric, "functions"> & { functions: PackedFunctions })')


class PackedCell(Record, frozen=True):
    """A report of one cell, with what it shares taken out. ``members``: numbers of shared members,
    by their name; callers of stacks are distances."""

    report: Partly
    members: dict[str, int]
    stacks: list[Stacks]
    metrics: list[Annotated[dict[str, Any], _METRIC]]


class AtlasPage(Record, frozen=True):
    """``cell``: the only one that ``atlas`` has, "" on the index; ``up``: the way to the top of the
    site; ``json``: the same as JSON, from there."""

    atlas: Atlas
    cell: str
    up: str
    json: str


class TablesPage(Record, frozen=True):
    """Tables of a command that shows no report. ``command``: as it was typed, "" where a program
    imports profdiff."""

    heading: str
    command: str
    profdiff: str
    sections: list[Section]


# What an element of a page can hold.
HELD: tuple[type[Record], ...] = (
    Page, FunctionCode, PageAccesses, PageSharing, SuitePage, PackedCell, PackedFunctions,
    AtlasPage, TablesPage
)  # fmt: skip
