"""Records as a table: rows, and columns that dataframes read."""

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints, overload

import msgspec

from profdiff.shapes.table import Table as TopicTable
from profdiff.views.record import Record

Row = TypeVar("Row", bound=Record)
_TYPES = {int: "int64", float: "float64", bool: "bool"}
# The types of those columns of a topic that have the same in every session.
_KINDS: dict[str, type] = {"name": str, "path": str, "word": str, "verdict": str, "share": float}


class Table(Generic[Row]):
    """Rows of one kind of record. A column is a field of all; None is what is not known. A field of
    several values by name (``parameters``) has a column for each: ``parameters.size``.

    pandas, polars, pyarrow and others read the columns by the Arrow PyCapsule interface. It is not
    a ``Sequence``, which some of them would take for a column of objects.
    """

    def __init__(self, kind: type[Row], rows: Iterable[Row]) -> None:
        self._kind = kind
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> "Table[Row]": ...
    def __getitem__(self, at: int | slice) -> "Row | Table[Row]":
        return Table(self._kind, self._rows[at]) if isinstance(at, slice) else self._rows[at]

    def __repr__(self) -> str:
        names = ", ".join(name for name, _, _ in self._columns())
        return f"<Table of {len(self):,} rows: {names}>"

    def columns(self) -> dict[str, list[Any]]:
        """The values of each column, by its name."""
        return {name: values for name, _, values in self._columns()}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule with an ``ArrowArrayStream`` of one batch. A schema that a reader
        requests is not looked at, which the interface allows."""
        from profdiff.symbolization._native import arrow_stream

        return arrow_stream(self._columns())

    def _columns(self) -> list[tuple[str, str, list[Any]]]:
        """Name, type and values of each."""
        found = []
        for name, hint in get_type_hints(self._kind, include_extras=True).items():
            values = [getattr(row, name) for row in self._rows]
            if get_origin(hint) is dict:
                keys = dict.fromkeys(key for value in values for key in value)
                by_key = [(f"{name}.{key}", [value.get(key) for value in values]) for key in keys]
                found += [(title, _type(get_args(hint)[1]), some) for title, some in by_key]
            else:
                found.append((name, _type(hint), values))
        return found


def of_topic(table: TopicTable) -> Table[Any]:
    """A row for each row of a topic's table and kernel, the base first; a base has no delta. Fields
    have the names of columns, with ``_`` for blanks; items of a list have blanks between."""
    rows = list(table.by_row_and_kernel())
    kinds = {column.name: _KINDS.get(column.kind) for column in table.columns}
    fields, columns = [], []
    for name in rows[0] if rows else ("kernel", *kinds):
        values = [row[name] for row in rows]
        kind = kinds.get(name) or _common(values)
        fields.append((name.replace(" ", "_"), kind | None))
        columns.append([None if value is None else _cell(kind, value) for value in values])
    kind = msgspec.defstruct("TopicRow", fields, bases=(Record,), frozen=True)
    names = [name for name, _ in fields]
    read = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
    return Table(kind, (kind(**row) for row in read))


def _common(values: Iterable[Any]) -> type:
    """The type of all values that are known; text where they have several."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return float
    return types.pop() if len(types) == 1 and types <= {int, float, bool} else str


def _cell(kind: type, value: Any) -> Any:
    """A value as one of a column's type."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else kind(value)


def _type(hint: Any) -> str:
    """The type of a column whose values have this type, or are None."""
    known = [one for one in get_args(hint) if one is not NoneType]
    if NoneType in get_args(hint):
        (hint,) = known
    return hint.__metadata__[0] if get_origin(hint) is Annotated else _TYPES.get(hint, "utf8")
