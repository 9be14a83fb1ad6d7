"""A table: what a topic gives to all forms. ``docs/report-data.md`` explains it for programs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from profdiff.evidence.difference import Difference

Kind = Literal[
    "name",
    "path",
    "number",
    "count",
    "range",
    "share",
    "delta",
    "bound",
    "verdict",
    "word",
    "detail",
]
Cell = str | int | float | bool | Sequence[str | int] | None

Shows = Literal["delta", "change", "about"]
# What stands for a difference that is not known, and before one that is not exact.
UNKNOWN, ABOUT = "?", "~"
# What a path begins with whose first functions a note has; readers see all others.
CUT = "..."


class Note(msgspec.Struct, frozen=True):
    """A sentence that explains what a difference begins with, a word, or what stands between names,
    where that is there; without a ``sign``, always."""

    text: str
    sign: str = ""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """``name``: what programs call it; ``title``: what readers see. ``kernel``: whose values it
    has, None where they are of the row.

    A ``name`` tells what the row is; a ``path`` does by a list of functions, the outermost first;
    ``number`` is one that is never per op, with a sign where it ``shows`` a delta. A ``count`` is
    in the table's unit; a ``range`` is from the count in the column ``of`` to the one in its own
    cell, a ``share`` a fraction, with so many ``digits`` of a percent. A ``delta`` is the
    difference of a kernel's count to the base's, which stands in the column that ``of`` names;
    readers see what of it ``shows`` names: itself, relative to the base's count, or ``about``,
    itself with a sign where its ends differ. A ``word`` stands for the row, as a verdict does.
    ``bound`` and ``detail`` are for programs; a page has a
    ``detail`` where the pointer rests. None is what is not known, "" what a sum does not have.
    ``spare``: how well a reader can do without: text leaves the highest out first, never 0.
    """

    name: str
    kind: Kind
    title: str = ""
    kernel: str | None = None
    of: str = ""
    shows: list[Shows] = []
    spare: int = 0
    digits: int = 1


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """``kernels``: labels, the base's first. ``ops``: the operations that counts are of, by kernel
    where each has its own (then differences are per op), None where they are not per op.
    ``columns`` in the order of the text; ``rows``, and ``sums`` below them, have a cell for each.
    ``hidden``: rows that only programs see. ``remark``: stands behind title and unit.
    ``by_kernel``: a kernel's columns stand together; else each figure's do, ``grouped`` below its
    title. ``bars``: where bars show the counts as well.
    ``notes``: sentences that belong to these numbers, ``legend`` those on what its cells say.
    ``folded``: a page shows it on demand.

    What readers do not see of a long table (``selected`` leaves it out): ``limit``: rows beyond so
    many as they ask for, which count in one more sum where it is ``rest``, with its differences
    where it is ``sum``; ``most``: beyond so many, whatever they ask for; ``least``: those with
    fewer of all that ``measures`` names per op, which must differ by as much as they ask for.
    ``within``: the table whose rows these belong to, by the number in their column ``row``: they
    are seen where those are. ``names``: what of a line its names keep before columns that readers
    can do without."""

    name: str
    title: str
    kernels: list[str]
    ops: int | list[int] | None
    columns: list[Column]
    rows: list[list[Cell]]
    sums: list[list[Cell]] = []
    hidden: list[list[Cell]] = []
    remark: str = ""
    by_kernel: bool = True
    grouped: bool = False
    bars: Literal["", "page", "everywhere"] = ""
    notes: list[str] = []
    legend: list[Note] = []
    folded: bool = False
    limit: Literal["", "top", "rest", "sum"] = ""
    most: int | None = None
    least: float = 0
    measures: list[str] = []
    within: str = ""
    names: int = 0

    def ops_of(self, kernel: str | None) -> int | None:
        """The operations that a kernel's counts are of."""
        if isinstance(self.ops, list):
            return self.ops[self.kernels.index(kernel or self.kernels[0])]
        return self.ops

    def index(self, name: str, kernel: str | None = None) -> int:
        """The number of a column. Raises KeyError."""
        for number, column in enumerate(self.columns):
            if column.name == name and column.kernel == kernel:
                return number
        raise KeyError(name)

    def unmatched(self, row: Sequence[Cell], kernel: str | None) -> str:
        """What stands in place of a change where a kernel and the base do not both have what a row
        names: ``only LABEL``, or ``renamed``; "" where they do."""
        for column, cell in zip(self.columns, row, strict=True):
            if cell and column.kind == "bound" and column.kernel == kernel:
                if column.name == "only":
                    return f"only {cell}"
                if column.name == "renamed":
                    return "renamed"
        return ""

    @property
    def all_rows(self) -> list[list[Cell]]:
        """Those that programs see: shown or hidden, without sums."""
        return [*self.rows, *self.hidden]

    def by_row_and_kernel(self) -> Iterator[dict[str, Cell]]:
        """Each row of each kernel by the names of columns, for dataframes; a base has no delta.
        Where no column is of a kernel, each row alone."""
        names = dict.fromkeys(column.name for column in self.columns)
        by_kernel = any(column.kernel for column in self.columns)
        for row in self.all_rows:
            for kernel in self.kernels if by_kernel else [None]:
                of_kernel = {
                    column.name: cell
                    for column, cell in zip(self.columns, row, strict=True)
                    if column.kernel in (None, kernel)
                }
                head = {"kernel": kernel} if by_kernel else {}
                yield {**head, **{name: of_kernel.get(name) for name in names}}


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What a topic shows: its ``sentences`` first, then its tables, then ``notes`` on all of them,
    the first behind what explains their cells."""

    name: str
    title: str
    sentences: list[str] = []
    tables: list[Table] = []
    notes: list[str] = []


class Cells(NamedTuple):
    """A column, and how it finds its cell of a row."""

    column: Column
    of: Callable[[Any], Any]


def tabulate(
    columns: Sequence[Cells],
    rows: Iterable[Any],
    *,
    sums: Iterable[Any] = (),
    hidden: Iterable[Any] = (),
    **about: Any,
) -> Table:
    """The table of rows that are objects; ``about``: the other members of ``Table``."""
    shown, below, unseen = (
        [[of(row) for _, of in columns] for row in some] for some in (rows, sums, hidden)
    )
    names = [column for column, _ in columns]
    return Table(columns=names, rows=shown, sums=below, hidden=unseen, **about)


def of_row(name: str, kind: Kind, of: Callable[[Any], Cell], **more: Any) -> Cells:
    """A column that is of no kernel."""
    return Cells(Column(name=name, kind=kind, **{"title": name, **more}), of)


def of_kernel(
    kernel: str, name: str, kind: Kind, cell: Callable[[Any, str], Cell], **more: Any
) -> Cells:
    """A column of a kernel. ``cell``: of a row on a kernel."""
    column = Column(name=name, kind=kind, kernel=kernel, **more)
    return Cells(column, lambda row: cell(row, kernel))


def by_kernel(
    kernels: Sequence[str],
    count: Callable[[Any, str], int | None],
    difference: Callable[[Any, str], Difference | Literal[""] | None],
    *,
    about: bool = False,
) -> list[Cells]:
    """The columns of a table in which a kernel's stand together: the count of each, and behind it
    the difference to the base with its ends and verdict. ``about``: readers see none that is
    unsure, and by a sign how sure others are; programs see why."""
    columns = [of_kernel(kernels[0], "count", "count", count)]
    shows: Shows = "about" if about else "delta"

    def delta(row: Any, kernel: str) -> Any:
        found = difference(row, kernel)
        unsure = about and found and not found.verdict.is_sure
        return None if unsure else getattr(found, "delta", found)

    for kernel in kernels[1:]:
        columns.append(of_kernel(kernel, "count", "count", count))
        columns.append(_delta(kernel, "count", delta, shows, "change"))
        for name in ("low", "high", "causes" if about else "states", "verdict"):
            kind: Kind = "verdict" if name == "verdict" and not about else "bound"
            columns.append(of_kernel(kernel, name, kind, _field(difference, name), title=name))
    return columns


def by_figure(
    kernels: Sequence[str],
    name: str,
    count: Callable[[Any, str], int],
    *shows: Shows,
    **more: Any,
) -> list[Cells]:
    """The columns of one figure: the count of each kernel, and behind all of them what ``shows``
    names of their differences to the base."""
    return [
        *(of_kernel(kernel, name, "count", count, **more) for kernel in kernels),
        *(
            _delta(kernel, name, lambda row, k: count(row, k) - count(row, kernels[0]), *shows)
            for kernel in (kernels[1:] if shows else ())
        ),
    ]


def by_group(
    kernels: Sequence[str],
    name: str,
    count: Callable[[Any, str], Cell],
    difference: Callable[[Any, str], Difference | None],
    *,
    title: str = "",
    spare: int = 0,
) -> list[Cells]:
    """The columns of one figure of a table that is grouped: the count of each kernel, and behind it
    its difference to the base with its ends. ``spare``: of the differences."""
    columns = [of_kernel(kernels[0], name, "count", count, title=title)]

    def delta(row: Any, kernel: str) -> Cell:
        found = difference(row, kernel)
        return found.delta if found is not None and found.verdict.is_sure else None

    for kernel in kernels[1:]:
        columns.append(of_kernel(kernel, name, "count", count, title=title))
        about: dict[str, Any] = {"of": name, "shows": ["about"], "spare": spare}
        columns.append(of_kernel(kernel, f"{name}_delta", "delta", delta, **about))
        columns += [
            of_kernel(kernel, f"{name}_{end}", "bound", _field(difference, end))
            for end in ("low", "high")
        ]
    return columns


def _delta(kernel: str, of: str, value: Callable[[Any, str], float | None], *shows: Shows) -> Cells:
    return of_kernel(kernel, "delta", "delta", value, title="delta", of=of, shows=list(shows))


def _field(
    difference: Callable[[Any, str], Difference | Literal[""] | None], name: str
) -> Callable[[Any, str], Any]:
    def field(row: Any, kernel: str) -> Any:
        found = difference(row, kernel)
        value = getattr(found, name) if found else found
        return list(value) if isinstance(value, tuple) else value

    return field
