"""What is shown of lines that change hands. ``docs/sharing.md`` explains it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.evidence.conditions.condition import Changes
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.sharing import Reads, SharingRow
from profdiff.evidence.statistics.rule import Verdict
from profdiff.shapes.table import (
    Cells,
    Kind,
    Note,
    Section,
    Table,
    by_group,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.sharing import sentences
from profdiff.topics.sharing.details import RowPart, details
from profdiff.topics.sharing.measure import (
    LEAST,
    HeldLock,
    Lines,
    Measure,
    count,
    has_any,
    kind,
    verdict_word,
)

# So many fields and functions of a row are named.
_FIELDS, _FUNCTIONS = 2, 3
# So many rows have the range of their misses.
_RANGES = 10
# What the names of data and functions keep together.
_NAMES = 28
# A lock that is held for a smaller share of the kernel's instructions is not shown.
MIN_HELD = 0.01
_MODES = {"exclusive": "alone", "shared": "with others"}


def section(findings: Findings) -> Section:
    """That of the setting alone. Raises InputError where the base has no such run there,
    SessionError where what is kept is damaged."""
    return of_lines(Lines.at_setting(findings))


def changes(findings: Findings) -> Changes:
    """Those of transfers and misses. Raises as ``section`` does."""
    return Lines.at_setting(findings).changes


def of_lines(lines: Lines) -> Section:
    """All of it; nothing but a sentence where no line changes hands."""
    about: Any = {"name": "sharing", "title": "Lines that change hands"}
    told = [*sentences.unnamed(lines), sentences.sentence(lines)]
    if not any(map(has_any, lines.total.sums)):
        return Section(**about, sentences=told)
    tables = Tables(lines, lines.labels)
    locks = tables.locks()
    return Section(
        **about,
        sentences=told,
        tables=[
            tables.rows(),
            tables.ranges(),
            tables.all_reads(),
            tables.totals(),
            locks,
            *details(lines),
        ],
        notes=[sentences.COVERS, *([sentences.HELD] if locks.rows else [])],
    )


class _Total(NamedTuple):
    """A part of all transfers, by kernel."""

    title: str
    transfers: list[int]


class Tables:
    """Those of some kernels, the base first."""

    def __init__(self, lines: Lines, labels: list[str]) -> None:
        self._lines, self._labels = lines, labels
        self._number = {label: number for number, label in enumerate(lines.labels)}
        self._kernels = [self._number[label] for label in labels]
        ops = [lines.ops[at] for at in self._kernels] if lines.per_op else None
        self._about: Any = {"kernels": labels, "ops": ops, "by_kernel": False}

    def rows(self) -> Table:
        """Data whose lines change hands, and the sum."""
        lines = self._lines
        missed = {id(row): lines.missed_in(row) for row in lines.rows}

        def names(row: SharingRow) -> str:
            owner = f"{row.name.type or row.name.symbol}."
            others = [lines.title(one).removeprefix(owner) for one in row.fields[1:]]
            return units.few([lines.data(row), *others], _FIELDS, last=", ")

        def of(cell: Callable[[SharingRow], Any], total: str = "") -> Callable[[SharingRow], Any]:
            return lambda row: total if row is lines.total else cell(row)

        columns = [
            *self._measured("transfers"),
            *self._measured("misses", spare=3),
            *self._sums("bystander_reads", "count", title="bystander reads", spare=4),
            of_row("verdict", "word", of(verdict_word), spare=2),
            of_row("kind", "word", of(self._kind), spare=1),
            of_row("names", "name", of(names, "all lines"), title="data"),
            of_row(
                "functions",
                "name",
                of(lambda row: units.few(missed[id(row)], _FUNCTIONS, last=", ")),
                title="function",
            ),
            of_row("data", "detail", of(lines.data)),
            of_row("sort", "detail", of(lambda row: row.name.kind)),
            of_row("type", "detail", of(lambda row: row.name.type)),
            of_row("symbol", "detail", of(lambda row: row.name.symbol)),
            of_row("field", "detail", of(lambda row: row.name.path)),
            of_row("alternatives", "detail", of(lambda row: row.alternatives)),
            of_row("fields", "detail", of(lambda row: [lines.title(one) for one in row.fields])),
            *(column for name in _DETAILS for column in self._sums(name, "detail", title=name)),
            *self._by_kernel("misses_fewest", "bound", lambda row, at: row.sums[at].fewest),
            *self._by_kernel("misses_most", "bound", lambda row, at: row.sums[at].most),
            *self._by_kernel("kernel_kind", "detail", lambda row, at: kind([row.sums[at]])),
            *self._by_kernel(
                "kernel_verdict",
                "detail",
                lambda row, at: str(Verdict.SCHEDULE if row.depends[at] else Verdict.EXACT),
            ),
            *(
                of_kernel(label, "causes", "detail", self._causes, title="causes")
                for label in self._labels[1:]
            ),
        ]
        return tabulate(
            columns,
            name="sharing-lines",
            title="lines that change hands",
            rows=lines.rows,
            sums=[lines.total],
            grouped=True,
            legend=self._legend(),
            limit="rest",
            least=LEAST,
            measures=["transfers", "misses"],
            names=_NAMES,
            **self._about,
        )

    def ranges(self) -> Table:
        """How many misses there are in other orders, where that is not what was seen."""

        def differs(row: SharingRow) -> bool:
            return any(one.fewest < one.all_misses or one.all_misses < one.most for one in row.sums)

        columns = [
            of_row("row", "detail", lambda row: row.number),
            *self._by_kernel("fewest", "bound", lambda row, at: row.row.sums[at].fewest),
            *self._by_kernel("most", "range", lambda row, at: row.row.sums[at].most, of="fewest"),
            of_row("data", "name", lambda row: self._lines.data(row.row)),
        ]
        return tabulate(
            columns,
            name="sharing-turns",
            title="misses if the vCPUs take other turns",
            rows=[
                RowPart(number, row, None)
                for number, row in enumerate(self._lines.rows)
                if differs(row)
            ],
            most=_RANGES,
            within="sharing-lines",
            **{**self._about, "by_kernel": True},
        )

    def all_reads(self) -> Table:
        """What is read beside what others write, the most first."""
        found = [(row, read) for row in self._lines.rows for read in self._lines.table.reads(row)]
        return self.reads(sorted(found, key=lambda one: -max(one[1].counts)))

    def reads(self, some: Sequence[tuple[SharingRow, Reads]]) -> Table:
        """Some of these."""
        numbers = {id(row): number for number, row in enumerate(self._lines.rows)}

        def difference(row: RowPart, label: str) -> Difference:
            read: Reads = row.of
            at = self._number[label]
            return self._exactly(at, read.counts[at], read.counts[0], sure=read.sure[at - 1])

        columns = [
            of_row("row", "detail", lambda row: row.number),
            *self._counted("reads", lambda row, at: row.of.counts[at], difference),
            of_row("read", "name", lambda row: self._lines.title(row.of.name)),
            of_row("line", "name", lambda row: self._lines.data(row.row), title="on the line of"),
        ]
        return tabulate(
            columns,
            name="sharing-reads",
            title="reads of bytes that nobody writes, on lines that others write",
            rows=[RowPart(numbers[id(row)], row, read) for row, read in some],
            grouped=True,
            limit="sum",
            within="sharing-lines",
            **self._about,
        )

    def totals(self) -> Table:
        """Parts of all transfers, where there are any to tell."""
        rows, sums = self._lines.rows, self._lines.total.sums

        def of(wanted: Callable[[SharingRow], bool]) -> list[int]:
            some = [row for row in rows if wanted(row)]
            return [sum(row.sums[at].transfers for row in some) for at in range(len(sums))]

        parts = [
            _Total("all", [one.transfers for one in sums]),
            _Total("false sharing", [one.false for one in sums]),
            _Total("recycled lines", [one.recycled for one in sums]),
            _Total("data without a name", of(lambda row: not row.name.known)),
            _Total("user memory", of(lambda row: row.name.kind == "user-memory")),
        ]
        shown = [one for one in parts if any(one.transfers)]

        def share(row: _Total, at: int) -> float | None:
            return row.transfers[at] / sums[at].transfers if sums[at].transfers else None

        pairs = zip(
            self._by_kernel("part", "count", lambda row, at: row.transfers[at]),
            self._by_kernel("share", "share", share, title="share"),
            strict=True,
        )
        columns = [column for pair in pairs for column in pair]
        columns.append(of_row("transfers", "name", lambda row: row.title))
        return tabulate(
            columns,
            name="sharing-transfers",
            title="transfers",
            rows=shown if len(shown) > 1 else [],
            hidden=[] if len(shown) > 1 else shown,
            **{**self._about, "by_kernel": True},
        )

    def locks(self) -> Table:
        """What executes while locks are held that lie on such lines."""
        lines = self._lines
        shown = [
            lock
            for lock in lines.locks
            if any(lines.share(lock, at) >= MIN_HELD for at in self._kernels)
        ]

        def difference(row: HeldLock, label: str) -> Difference:
            at, counts = self._number[label], row.instructions
            return self._exactly(at, counts[at], counts[0], sure=row.sure[at - 1])

        columns = [
            *self._counted(
                "instructions",
                lambda row, at: row.instructions[at],
                difference,
                title="instructions",
            ),
            *self._by_kernel("share", "share", lines.share, title="share", spare=2, digits=0),
            of_row("held", "word", lambda row: _MODES[row.lock.mode], spare=1),
            of_row("lock", "name", lambda row: lines.title(row.lock.name, row.lock.name.among)),
            of_row(
                "function",
                "name",
                lambda row: lines.function(row.lock.function) or "?",
                title="taken by",
            ),
            *self._by_kernel("times", "detail", lambda row, at: row.times[at], title="times"),
        ]
        bound = sentences.bound(lines)
        return tabulate(
            columns,
            name="sharing-locks",
            title="the kernel's instructions while a lock on such a line is held",
            rows=shown,
            hidden=[lock for lock in lines.locks if lock not in shown],
            grouped=True,
            limit="top",
            notes=[bound] if bound and shown else [],
            **self._about,
        )

    def _measured(self, measure: Measure, spare: int = 0) -> list[Cells]:
        def difference(row: SharingRow, label: str) -> Difference:
            at = self._number[label]
            one: Difference = getattr(row.changes[at - 1], measure)
            counts = [count(row.sums[kernel], measure) for kernel in (at, 0)]
            if one.verdict is Verdict.UNSURE and not any(counts):
                return replace(one, delta=0, low=0, high=0, verdict=Verdict.EXACT)
            if not self._lines.per_op:
                ops = self._lines.table.ops[at]
                delta = counts[0] - counts[1]
                return replace(one, delta=delta, low=one.low * ops, high=one.high * ops)
            return one

        return self._counted(
            measure,
            lambda row, at: count(row.sums[at], measure),
            difference,
            title=measure,
            spare=spare,
        )

    def _exactly(self, kernel: int, count: int, base: int, *, sure: bool) -> Difference:
        """A difference that is one number, or none."""
        delta = self._lines.each(kernel, count) - self._lines.each(0, base)
        return Difference(delta, delta, delta, Verdict.EXACT if sure else Verdict.UNSURE)

    def _counted(
        self,
        name: str,
        of: Callable[[Any, int], int],
        difference: Callable[[Any, str], Difference],
        **more: Any,
    ) -> list[Cells]:
        def counted(row: Any, label: str) -> int:
            return of(row, self._number[label])

        return by_group(self._labels, name, counted, difference, **more)

    def _by_kernel(
        self, name: str, sort: Kind, at: Callable[[Any, int], Any], **more: Any
    ) -> list[Cells]:
        def cell(row: Any, label: str) -> Any:
            return at(row, self._number[label])

        return [of_kernel(label, name, sort, cell, **more) for label in self._labels]

    def _sums(self, name: str, sort: Kind, **more: Any) -> list[Cells]:
        return self._by_kernel(name, sort, lambda row, at: getattr(row.sums[at], name), **more)

    def _kind(self, row: SharingRow) -> str:
        return kind([row.sums[at] for at in self._kernels])

    def _causes(self, row: SharingRow, label: str) -> list[str]:
        return list(row.changes[self._number[label] - 1].causes)

    def _legend(self) -> list[Note]:
        calls = any(one.lines.ops_by == "calls" for one in self._lines.table.kernels)
        return [
            *([Note(text=sentences.CALLS)] if calls else []),
            Note(text=sentences.UNSURE, sign="?"),
            Note(text=sentences.ABOUT, sign="~"),
            Note(text=sentences.SCHEDULE, sign="schedule"),
            Note(text=sentences.RUNS, sign="differ"),
        ]


# What programs alone need of a row's sums.
_DETAILS = (
    *("false", "untold", "recycled", "recycled_misses"),
    *("read_fetches", "write_fetches", "upgrades", "lines", "locked"),
)
