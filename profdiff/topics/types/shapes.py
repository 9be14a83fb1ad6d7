"""What is shown of accesses: a table of data, one of the stack and one of what is not known; and
which functions make their rows, for programs. ``docs/types.md`` explains it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from profdiff.evidence.conditions.condition import Changes
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.profile.data import table
from profdiff.profile.data.cells import By
from profdiff.profile.data.keys import Group
from profdiff.profile.data.table import DataRow, FunctionPart
from profdiff.shapes.table import (
    ABOUT,
    UNKNOWN,
    Cells,
    Note,
    Section,
    Table,
    by_kernel,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.types import sentences
from profdiff.topics.types.measure import (
    Accesses,
    DataChanges,
    access,
    added,
    difference,
    largest_part,
)

_ONE_BOOT = "; of each kernel, the boot with the median total stands for all"
_HEADINGS: Mapping[By, str] = {"field": "field", "type": "type", "line": "line of 64 bytes"}


class _Sum(NamedTuple):
    """What a row below others, or one of several, has in all."""

    title: str
    counts: Sequence[int]
    reason: str = ""


class _Part(NamedTuple):
    """What a function does of a row of a table."""

    number: int
    row: DataRow
    part: FunctionPart


def section(findings: Findings) -> Section:
    """Data by fields. Raises InputError where accesses are not known, SessionError where what is
    kept is damaged."""
    return of_accesses(Accesses.of(findings))


def changes(findings: Findings) -> Changes:
    """Those of loads and stores. Raises as ``section`` does."""
    return DataChanges(findings).changes


def of_accesses(accesses: Accesses, *, absolute: bool = False) -> Section:
    """``absolute``: sentences are of the whole window."""
    tables = _Tables(accesses)
    covers = [sentences.COVERS, *([sentences.LINES] if accesses.by == "line" else [])]
    return Section(
        name="types",
        title="Data",
        sentences=sentences.sentences(accesses, None if absolute else accesses.comparison.ops),
        tables=tables.all(),
        notes=[" ".join(covers), *([sentences.FOLIOS] if accesses.opposite else [])],
    )


class _Tables:
    def __init__(self, accesses: Accesses) -> None:
        self._accesses, self._labels = accesses, accesses.labels
        self._kernel = {label: number for number, label in enumerate(accesses.labels)}
        self._about: Any = {"kernels": list(accesses.labels), "ops": accesses.comparison.ops}

    def all(self) -> list[Table]:
        """Those that readers see, then the functions of each."""
        rows = self._accesses.rows
        heading = f"loads and stores of data by {_HEADINGS[self._accesses.by]}"
        remark = _ONE_BOOT if self._accesses.comparison.scattered else ""
        reasons = self._reasons()
        order = {one.reason: number for number, one in enumerate(reasons)}
        unresolved = [(order[row.reason], row) for row in rows["unresolved"]]
        return [
            self._accessed("data", heading, remark=remark),
            self._accessed("stack", "loads and stores on the stack"),
            self._unresolved(reasons),
            self._functions("data", list(enumerate(rows["data"]))),
            self._functions("stack", list(enumerate(rows["stack"]))),
            self._functions("unresolved", unresolved),
        ]

    def _accessed(self, group: Literal["data", "stack"], title: str, remark: str = "") -> Table:
        rows = self._accesses.rows[group]

        def difference_of(row: DataRow | _Sum, label: str) -> Difference | Literal[""]:
            return "" if isinstance(row, _Sum) else difference(row, self._kernel[label])

        columns = [
            *by_kernel(self._labels, self._count, difference_of, about=True),
            of_row("access", "word", _of(access)),
            of_row("data", "name", self._title, title=group),
            of_row("function", "name", _of(self._function)),
            of_row("kind", "detail", _of(lambda row: row.kind)),
            of_row("type", "detail", _of(lambda row: "|".join(row.types))),
            of_row("symbol", "detail", _of(lambda row: row.symbol)),
            of_row("field", "detail", _of(lambda row: "".join(row.paths[:1]))),
            of_row("also", "detail", _of(lambda row: row.paths[1:])),
            of_row("alternatives", "detail", _of(lambda row: row.alternatives)),
            *self._places("line"),
            *self._places("offset"),
        ]
        union = self._accesses.by == "field"
        return tabulate(
            columns,
            name=f"types-{group}",
            title=title,
            remark=remark,
            rows=rows,
            sums=[_Sum(f"all {group}", added(rows, len(self._labels)))] if rows else [],
            legend=[
                Note(sentences.IS_UNSURE, UNKNOWN),
                Note(sentences.IS_ABOUT, ABOUT),
                *([Note(sentences.UNION, "|"), Note(sentences.SAME, "=")] if union else []),
            ],
            limit="rest",
            measures=["count"],
            names=1,
            **self._about,
        )

    def _reasons(self) -> list[_Sum]:
        """Loads and stores of what is not known by reason, the most first."""
        of: dict[str, list[DataRow]] = {}
        for row in self._accesses.rows["unresolved"]:
            of.setdefault(row.reason, []).append(row)
        found = [
            _Sum(table.WORDS[reason], added(rows, len(self._labels)), reason)
            for reason, rows in of.items()
        ]
        return sorted(found, key=lambda one: (-max(map(abs, one.counts)), one.reason))

    def _unresolved(self, reasons: Sequence[_Sum]) -> Table:
        every = [row for rows in self._accesses.rows.values() for row in rows]
        whole = added(every, len(self._labels))
        unresolved = added(self._accesses.rows["unresolved"], len(self._labels))

        def share(row: _Sum, label: str) -> float | None:
            kernel = self._kernel[label]
            return row.counts[kernel] / whole[kernel] if whole[kernel] else None

        counted = [
            column
            for label in self._labels
            for column in (
                of_kernel(label, "count", "count", self._count),
                of_kernel(label, "share", "share", share, title="share"),
            )
        ]
        return tabulate(
            [
                *counted,
                of_row("unresolved", "name", lambda row: row.title),
                of_row("reason", "detail", lambda row: row.reason),
            ],
            name="types-unresolved",
            title="unresolved loads and stores",
            rows=reasons,
            sums=[_Sum("all unresolved", unresolved), _Sum("all loads and stores", whole)],
            **self._about,
        )

    def _functions(self, group: Group, rows: Sequence[tuple[int, DataRow]]) -> Table:
        """What functions do of the rows of a table, by their numbers there."""
        known, name = self._accesses.functions.known, self._accesses.function
        columns = [
            of_row("row", "detail", lambda row: row.number),
            *by_kernel(
                self._labels,
                lambda row, label: row.part.counts[self._kernel[label]],
                lambda row, label: difference(row.part, self._kernel[label]),
                about=True,
            ),
            of_row("access", "word", lambda row: access(row.row)),
            of_row("function", "name", lambda row: name(row.part.function)),
            of_row("within", "detail", lambda row: [name(one) for one in row.part.within]),
            of_row("object", "detail", lambda row: known[row.part.function].object),
            of_row("file", "detail", lambda row: known[row.part.function].file),
        ]
        return tabulate(
            columns,
            name=f"types-{group}-functions",
            title=f"functions of {group}",
            rows=[],
            hidden=[_Part(number, row, part) for number, row in rows for part in row.parts],
            within=f"types-{group}",
            **self._about,
        )

    def _count(self, row: DataRow | _Sum, label: str) -> int:
        return row.counts[self._kernel[label]]

    def _title(self, row: DataRow | _Sum) -> str:
        return row.title if isinstance(row, _Sum) else self._accesses.title(row)

    def _function(self, row: DataRow) -> str:
        """Where most of the change is on the kernel that differs most; where inlined, the outer
        function."""
        far = [abs(count - row.counts[0]) for count in row.counts[1:]]
        part = largest_part(row, 1 + far.index(max(far))) if far else next(iter(row.parts), None)
        return self._accesses.function([*part.within, part.function][0]) if part else ""

    def _places(self, name: Literal["line", "offset"]) -> list[Cells]:
        """By kernel, where in its type the data lies."""

        def place(row: DataRow | _Sum, label: str) -> int | Literal[""] | None:
            if isinstance(row, _Sum):
                return ""
            return (row.lines if name == "line" else row.offsets)[self._kernel[label]]

        return [of_kernel(label, name, "detail", place, title=name) for label in self._labels]


def _of(cell: Any) -> Any:
    """A cell that a sum does not have."""
    return lambda row: "" if isinstance(row, _Sum) else cell(row)
