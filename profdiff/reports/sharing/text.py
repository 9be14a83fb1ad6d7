"""The shared lines as text: a sentence, tables of data and of bystander reads, totals, notes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Block, Column, draw, fitted
from profdiff.reports.sharing import locks
from profdiff.reports.sharing.numbers import ABOUT, UNSURE, Numbers
from profdiff.reports.sharing.rows import LEAST, is_small, kind, title, verdict
from profdiff.reports.sharing.sentences import NOTHING, sentence
from profdiff.views.profile.selection import Selection
from profdiff.views.record import Counts
from profdiff.views.sharing.records import (
    Bystander,
    Change,
    Difference,
    Row,
    SharingDocument,
    Sums,
)

_FUNCTIONS = 3
# So many rows have the range of their misses.
_RANGES = 10
# What the names of data and functions keep together.
_NAMES = 28
_COVERS = (
    "transfers: how often a line changes hands if the vCPUs take turns after each operation. "
    "misses: fetches and upgrades of a coherence protocol as they ran. kind: true if a vCPU "
    "accesses bytes that another one writes, else false. function: which misses most; what is "
    "inlined from a header belongs to where it is inlined. other turns: of one access each, and at "
    "random, for vCPUs that run at the same time."
)
_SIGNS = {
    UNSURE: f"{UNSURE}: the difference is not certain: a line is recycled, runs differ, or lines "
    "without a name may explain it; --json has the causes.",
    ABOUT: f"{ABOUT}: lines without a name can make the number larger or smaller, but do not "
    "change its sign.",
}
_SCHEDULE = (
    "schedule: more than a quarter of the transfers are on lines that change hands less than once "
    "in four operations. Objects there are recycled, and which vCPU gets them depends on the "
    "schedule."
)
_CALLS = (
    "Nothing in the workload marks operations (PROFDIFF_OP), so each system call begins one, also "
    "where a program starts and ends."
)
_RUNS = "differ: the runs of a kernel differ; the one with the median of transfers stands for all."


def render(
    document: SharingDocument, selection: Selection, *, width: int, per_op: bool | None = None
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``)."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers.of(document, per_op)
    first = sentence(document, numbers)
    parts: list[Block | str] = [*_missing(document), first]
    if first != NOTHING:
        drawing = _Drawing(document, selection, numbers, width)
        parts += [*drawing.rows(), *drawing.ranges(), *drawing.bystanders()]
        parts += [*drawing.totals()]
        if held := locks.table(document, numbers, selection.top, width):
            parts += [*held, *filter(None, [locks.bound(document)])]
        parts += [drawing.notes()]
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else [])]
        lines += units.wrap(part, width) if isinstance(part, str) else part.lines
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _missing(document: SharingDocument) -> Iterator[str]:
    for one in document.kernels:
        if one.missing:
            yield units.printable(
                f"{one.label}: data has no names: {one.missing}; record it again, with a kernel "
                "that has debug information."
            )


class _Drawing:
    def __init__(
        self, document: SharingDocument, selection: Selection, numbers: Numbers, width: int
    ) -> None:
        self._document, self._selection = document, selection
        self._numbers, self._width = numbers, width
        self._base, *self._others = document.labels
        wanted = [row for row in document.rows if self._wanted(row)]
        self._small = [row for row in wanted if self._is_small(row)]
        wanted = [row for row in wanted if not self._is_small(row)]
        self._shown = wanted[: selection.top]
        self._drawn: list[tuple[Difference, bool]] = []

    def _wanted(self, row: Row) -> bool:
        counts = [one.transfers for one in row.kernels.values()]
        misses = [one.misses for one in row.kernels.values()]
        least = self._selection.min_delta
        return max(abs(one - of[0]) for of in (counts, misses) for one in of) >= least

    def _is_small(self, row: Row) -> bool:
        """Whether a row has less than one transfer or miss in a hundred operations everywhere."""
        return self._numbers.per_op and is_small(row, self._numbers.ops)

    def rows(self) -> list[Block]:
        """Data whose lines change hands, what is left of it, and the sum."""
        if not self._document.rows:
            return []
        columns = [
            *self._columns("transfers", 0),
            *self._columns("misses", 0, delta_spare=3),
            *self._columns("bystander reads", 4, deltas=False),
            Column("verdict", spare=2),
            Column("kind", spare=1),
            Column("data", name=True),
            Column("function", name=True),
        ]
        body = [self._cells(row) for row in self._shown]
        total = self._document.total
        tail = []
        hidden = len(self._document.rows) - len(self._shown)
        if hidden:
            rest = {
                label: _less(total.kernels[label], [row.kernels[label] for row in self._shown])
                for label in self._document.labels
            }
            tail.append([*self._numbers_of(rest, None), "", "", f"{hidden:,} not shown", ""])
        tail.append([*self._numbers_of(total.kernels, total.changes), "", "", "all lines", ""])
        title = f"lines that change hands{self._numbers.title}"
        return self._fitting(title, columns, body, tail)

    def _fitting(
        self,
        title: str,
        columns: Sequence[Column],
        body: Sequence[Sequence[str]],
        tail: Sequence[Sequence[str]],
    ) -> list[Block]:
        """A table without the columns for which names have no room."""
        every = [[column.title for column in columns], *body, *tail]
        widths = [max(map(units.width, column)) + 2 for column in zip(*every, strict=True)]
        levels = (3, 2, 1, 0) if len(self._others) < 2 else ()
        left = list(range(len(columns)))
        for level in levels:
            if sum(widths[at] for at in left[:-2]) + min(sum(widths[-2:]), _NAMES) > self._width:
                left = [at for at in left if columns[at].spare <= level]
        columns = [columns[at] for at in left]
        shown, below = ([[row[at] for at in left] for row in rows] for rows in (body, tail))
        cut = fitted(columns, shown, below, self._width)
        return draw(title, columns, cut, self._width, below)

    def ranges(self) -> list[Block]:
        """How many misses there are in other orders, where that is not what was seen."""
        labels = self._document.labels
        columns = [*(Column(label) for label in labels), Column("data", name=True)]
        body = []
        for row in self._shown:
            told = [(label, row.kernels[label]) for label in labels]
            if any(
                one.fewest_misses < one.misses or one.misses < one.most_misses for _, one in told
            ):
                body.append([*(self._range(*one) for one in told), row.data.title])
        if not body:
            return []
        title = f"misses if the vCPUs take other turns{self._numbers.title}"
        return draw(title, columns, body[:_RANGES], self._width)

    def _range(self, label: str, one: Sums) -> str:
        low, high = (
            self._numbers.count(label, value) for value in (one.fewest_misses, one.most_misses)
        )
        return low if low == high else f"{low} to {high}"

    def bystanders(self) -> list[Block]:
        """What is read beside what others write."""
        found = [(row, one) for row in self._shown for one in row.bystanders]
        if not found:
            return []
        found.sort(key=lambda pair: -max(pair[1].reads.values()))
        shown = found[: self._selection.top]
        columns = [
            *self._columns("", 0),
            Column("read", name=True),
            Column("on the line of", name=True),
        ]
        body = [
            [*self._counts(one.reads, one.unsure), one.data.title, row.data.title]
            for row, one in shown
        ]
        tail = []
        if len(shown) < len(found):
            rest = self._added(one for _, one in found[len(shown) :])
            told = [*self._counts(rest), f"{len(found) - len(shown):,} not shown", ""]
            tail.append(told)
        title = (
            f"reads of bytes that nobody writes, on lines that others write{self._numbers.title}"
        )
        return draw(title, columns, body, self._width, tail)

    def totals(self) -> list[Block]:
        """Parts of all transfers, where there are any to tell."""
        total, labels = self._document.total, self._document.labels
        parts: list[tuple[str, Counts]] = [
            ("all", {one: total.kernels[one].transfers for one in labels}),
            ("false sharing", {one: total.kernels[one].false for one in labels}),
            ("recycled lines", {one: total.kernels[one].recycled for one in labels}),
            ("data without a name", total.unnamed),
            ("user memory", total.user),
        ]
        columns, several = [], len(labels) > 2
        for part, label in enumerate(labels):
            own = part if several else None
            columns += [Column(label, part=own), Column("share", part=own)]
        columns.append(Column("transfers", name=True))
        body = []
        for name, counts in parts:
            if not any(counts.values()):
                continue
            told = []
            for label in labels:
                whole = total.kernels[label].transfers
                told += [
                    self._numbers.count(label, counts[label]),
                    units.share(counts[label], whole),
                ]
            body.append([*told, name])
        if len(body) < 2:
            return []
        return draw(f"transfers{self._numbers.title}", columns, body, self._width)

    def notes(self) -> str:
        """What the words and signs mean that are there."""
        verdicts = {verdict(row) for row in self._shown}
        signs = {
            UNSURE: any(not sure for _, sure in self._drawn),
            ABOUT: any(sure and one.low < one.high for one, sure in self._drawn),
        }
        told = [_CALLS] if any(one.ops_by == "calls" for one in self._document.kernels) else []
        told += [_SIGNS[sign] for sign, there in signs.items() if there]
        told += [_SCHEDULE] * ("schedule" in verdicts) + [_RUNS] * ("differ" in verdicts)
        if self._small:
            rows = "1 row has" if len(self._small) == 1 else f"{len(self._small):,} rows have"
            told.append(f"{rows} less than {LEAST} transfers and misses per op: --absolute.")
        told += [_COVERS] + [locks.COVERS] * bool(locks.shown(self._document))
        return " ".join(told)

    def _columns(
        self, group: str, spare: int, *, deltas: bool = True, delta_spare: int = 0
    ) -> list[Column]:
        several = len(self._others) > 1
        columns = [Column(self._base, spare=spare, group=group)]
        for part, label in enumerate(self._others):
            own = part if several else None
            columns.append(Column(label, part=own, spare=spare, group=group))
            if deltas:
                columns.append(Column("delta", part=own, spare=delta_spare, group=group))
        return columns

    def _cells(self, row: Row) -> list[str]:
        functions = [(one.within or [one.name])[0] for one in row.functions]
        told = units.few(list(dict.fromkeys(functions)), _FUNCTIONS, last=", ")
        cells = self._numbers_of(row.kernels, row.changes)
        return [*cells, verdict(row), kind(row), title(row), told]

    def _numbers_of(self, kernels: dict[str, Sums], changes: dict[str, Change] | None) -> list[str]:
        cells = []
        for measure in ("transfers", "misses"):
            counts = {label: getattr(one, measure) for label, one in kernels.items()}
            cells.append(self._numbers.count(self._base, counts[self._base]))
            for label in self._others:
                cells.append(self._numbers.count(label, counts[label]))
                cells.append(self._delta(counts, label, measure, changes))
        reads = {label: one.bystander_reads for label, one in kernels.items()}
        return [*cells, *(self._numbers.count(label, reads[label]) for label in reads)]

    def _delta(
        self, counts: Counts, label: str, measure: str, changes: dict[str, Change] | None
    ) -> str:
        if changes is None:
            return ""
        change = changes[label]
        difference: Difference = getattr(change, measure)
        if change.verdict != "exact":
            same = counts[label] == counts[self._base] == 0
            self._drawn += [] if same else [(difference, False)]
            return "0" if same else UNSURE
        self._drawn.append((difference, True))
        sign = ABOUT if difference.low < difference.high else ""
        return f"{sign}{self._numbers.delta(self._base, label, counts)}"

    def _counts(self, counts: Counts, unsure: Sequence[str] = ()) -> list[str]:
        cells = [self._numbers.count(self._base, counts[self._base])]
        for label in self._others:
            delta = self._numbers.delta(self._base, label, counts)
            cells += [
                self._numbers.count(label, counts[label]),
                UNSURE if label in unsure else delta,
            ]
        return cells

    def _added(self, every: Iterable[Bystander]) -> Counts:
        sums = dict.fromkeys(self._document.labels, 0)
        for one in every:
            sums = {label: count + one.reads[label] for label, count in sums.items()}
        return sums


def _less(total: Sums, shown: Sequence[Sums]) -> Sums:
    """What is left of a sum."""
    from msgspec.structs import replace

    names = ("transfers", "misses", "bystander_reads")
    left: dict[str, Any] = {
        name: getattr(total, name) - sum(getattr(one, name) for one in shown) for name in names
    }
    return replace(total, **left)
