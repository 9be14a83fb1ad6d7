"""A table: what a topic gives to all forms. ``docs/report-data.md`` explains it for programs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from profdiff.evidence.difference import Difference

Kind = Literal["name", "path", "number", "count", "delta", "bound", "verdict", "detail"]
Cell = str | int | float | bool | list[str] | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """``name``: what programs call it; ``title``: what readers see. ``kernel``: whose values it
    has, None where they are of the row.

    A ``name`` tells what the row is; a ``path`` does by a list of functions, the outermost first;
    ``number`` is one that is never per op. A ``count`` is in the table's unit. A ``delta`` is the
    difference of a kernel's count to the base's, which stands in the column that ``of`` names;
    readers see what of it ``shows`` names: itself, or relative to the base's count. ``bound`` and
    ``detail`` are for programs; a page has a ``detail`` where the pointer rests. None is what is
    not known. ``spare``: how well a reader can do without: text leaves the highest out first,
    never 0.
    """

    name: str
    kind: Kind
    title: str = ""
    kernel: str | None = None
    of: str = ""
    shows: list[Literal["delta", "change"]] = []
    spare: int = 0


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """``kernels``: labels, the base's first. ``ops``: the operations that counts are of, None where
    they are not per op. ``columns`` in the order of the text; ``rows``, and ``sums`` below them,
    have a cell for each. ``hidden``: rows that only programs see. ``by_kernel``: a kernel's columns
    stand together; else each figure's do. ``bars``: where bars show the counts as well. ``notes``:
    sentences that belong to these numbers. ``folded``: a page shows it on demand."""

    name: str
    title: str
    kernels: list[str]
    ops: int | None
    columns: list[Column]
    rows: list[list[Cell]]
    sums: list[list[Cell]] = []
    hidden: list[list[Cell]] = []
    by_kernel: bool = True
    bars: Literal["", "page", "everywhere"] = ""
    notes: list[str] = []
    folded: bool = False

    def index(self, name: str, kernel: str | None = None) -> int:
        """The number of a column. Raises KeyError."""
        for number, column in enumerate(self.columns):
            if column.name == name and column.kernel == kernel:
                return number
        raise KeyError(name)

    @property
    def all_rows(self) -> list[list[Cell]]:
        """Those that programs see: shown or hidden, without sums."""
        return [*self.rows, *self.hidden]

    def by_row_and_kernel(self) -> Iterator[dict[str, Cell]]:
        """Each row of each kernel by the names of columns, for dataframes; a base has no delta."""
        names = dict.fromkeys(column.name for column in self.columns)
        for row in self.all_rows:
            for kernel in self.kernels:
                of_kernel = {
                    column.name: cell
                    for column, cell in zip(self.columns, row, strict=True)
                    if column.kernel in (None, kernel)
                }
                yield {"kernel": kernel, **{name: of_kernel.get(name) for name in names}}


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What a topic shows: its ``sentences`` first, then its tables, then ``notes`` on all of
    them."""

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
    difference: Callable[[Any, str], Difference | None],
) -> list[Cells]:
    """The columns of a table in which a kernel's stand together: the count of each, and behind it
    the difference to the base with its ends and verdict."""
    columns = [of_kernel(kernels[0], "count", "count", count)]
    for kernel in kernels[1:]:
        columns.append(of_kernel(kernel, "count", "count", count))
        columns.append(_delta(kernel, "count", _field(difference, "delta"), "delta", "change"))
        for name in ("low", "high", "states", "verdict"):
            kind: Kind = "verdict" if name == "verdict" else "bound"
            columns.append(of_kernel(kernel, name, kind, _field(difference, name), title=name))
    return columns


def by_figure(
    kernels: Sequence[str],
    name: str,
    count: Callable[[Any, str], int],
    *shows: Literal["delta", "change"],
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


def _delta(
    kernel: str,
    of: str,
    value: Callable[[Any, str], int | None],
    *shows: Literal["delta", "change"],
) -> Cells:
    return of_kernel(kernel, "delta", "delta", value, title="delta", of=of, shows=list(shows))


def _field(
    difference: Callable[[Any, str], Difference | None], name: str
) -> Callable[[Any, str], Any]:
    return lambda row, kernel: getattr(difference(row, kernel), name, None)
