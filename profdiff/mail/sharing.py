"""The lines that change hands between vCPUs: one sentence, a table, and what else lies in them."""

from collections.abc import Iterator

from profdiff.base import units
from profdiff.forms.columns import Block, Column, draw
from profdiff.mail.letter import Notes, Part, Prose
from profdiff.mail.tables import WIDTH, table
from profdiff.reports.sharing import locks
from profdiff.reports.sharing.bystanders import changed
from profdiff.reports.sharing.numbers import ABOUT, UNSURE, Numbers
from profdiff.reports.sharing.rows import LEAST, is_small, kind
from profdiff.reports.sharing.sentences import NOTHING, sentence
from profdiff.views.sharing.records import Change, Row, SharingDocument, Sums

_MOST, _READS = 6, 4
# Of a line, so many fields beside the one that is named are told.
_BESIDE = 4
# Names are not to be longer than a line.
_LONGEST = 40
_MEANS = {UNSURE: "?: not certain", ABOUT: "~: at least the sign is certain"}


def said(document: SharingDocument) -> str:
    """The sentence, with words that fit into lines."""
    words = sentence(document, Numbers.of(document, None)).split()
    return " ".join(units.shorten(word, _LONGEST) for word in words)


def parts(document: SharingDocument, label: str) -> list[Part]:
    """The lines of the base and of another kernel. What changed for certain comes first; sums have
    no difference but that of all."""
    told = said(document)
    if told == NOTHING:
        return [Prose(told)]
    drawing = _Drawing(document, label)
    blocks = drawing.blocks()
    with_kind = any("kind" in block.shown for block in blocks)
    found: list[Part] = [Prose(told), *map(table, blocks)]
    found.append(Notes(list(drawing.notes(with_kind=with_kind))))
    bound = locks.bound(document)
    return [*found, Prose(bound)] if bound else found


class _Drawing:
    def __init__(self, document: SharingDocument, label: str) -> None:
        self._document, self._label = document, label
        self._base = document.labels[0]
        self._numbers = Numbers.of(document, None)
        rows = document.rows
        if self._numbers.per_op:
            rows = [row for row in rows if not is_small(row, self._numbers.ops)]
        self._shown = rows[:_MOST]

    def blocks(self) -> list[Block]:
        """Rows, the rest, and the sum; and what is read beside them."""
        base, label = self._base, self._label
        alone = label == base
        columns: list[Column] = []
        for number, group in enumerate(("transfers", "misses")):
            columns.append(Column(base, group=group))
            if not alone:
                columns.append(Column(label, group=group))
                columns.append(Column("delta", group=group, spare=2 * number))
        columns += [Column("kind", spare=1), Column("data", name=True)]
        body = [self._row(row) for row in self._shown]
        total = self._document.total
        tail = [[*self._cells(total.kernels, total.changes), "", "all lines"]]
        hidden = len(self._document.rows) - len(self._shown)
        if hidden:
            tail.insert(0, [*self._rest(), "", units.counted(hidden, "smaller row")])
        cells = [cell for row in [*body, *tail] for cell in row]
        signs = [
            means for sign, means in _MEANS.items() if any(cell.startswith(sign) for cell in cells)
        ]
        each = " per op" if self._numbers.per_op else ""
        title = f"Lines that change hands{each}{''.join(f'; {one}' for one in signs)}:"
        return [*draw(title, columns, body, WIDTH, tail), *self._bystanders()]

    def _bystanders(self) -> list[Block]:
        """What is read beside what others write, on lines that do not depend on the schedule, where
        that differs most."""
        labels = list(dict.fromkeys((self._base, self._label)))
        every = changed(self._document, self._label, self._numbers)
        found = [one for one in every if abs(one.more) >= LEAST]
        if not found:
            return []
        columns = [*map(Column, labels)]
        if len(labels) > 1:
            columns.append(Column("delta"))
        columns += [Column("read", name=True), Column("on the line of", name=True)]
        body = []
        for _, row, read in found[:_READS]:
            cells = [self._numbers.count(label, read.reads[label]) for label in labels]
            if len(labels) > 1:
                cells.append(self._numbers.delta(self._base, self._label, read.reads))
            body.append([*cells, read.data.title, row.data.title])
        each = " per op" if self._numbers.per_op else ""
        title = f"Reads of bytes that nobody writes, on lines that others write{each}:"
        return draw(title, columns, body, WIDTH)

    def notes(self, *, with_kind: bool) -> Iterator[str]:
        """What words mean; which functions miss the lines, and what else lies in them."""
        meant = (
            "transfers: if the vCPUs take turns after each operation; misses: fetches and upgrades "
            "of a coherence protocol"
        )
        kinds = "; kind: true if a vCPU accesses what another one writes"
        yield f"{meant}{kinds if with_kind else ''}"
        for row in self._shown:
            told = [*self._missing(row), *self._beside(row)]
            if told:
                yield f"{units.shorten(row.data.title, _LONGEST)}: {'; '.join(told)}"

    def _missing(self, row: Row) -> Iterator[str]:
        least = LEAST * max((sum(one.misses.values()) for one in row.functions), default=0)
        some = [one for one in row.functions if sum(one.misses.values()) >= least]
        functions = [one.within[0] if one.within else one.name for one in some]
        named = [units.shorten(one, _LONGEST) for one in dict.fromkeys(functions)]
        if named:
            yield f"missed by {units.few(named, 2)}"

    def _beside(self, row: Row) -> Iterator[str]:
        """The fields that are accessed in the row's line, where one alone is known."""
        for label in dict.fromkeys((self._base, self._label)):
            line = row.kernels[label].line
            least = LEAST * self._numbers.ops[label]
            fields = [
                one for one in (line.fields if line else []) if sum(one.loads + one.stores) >= least
            ]
            names = dict.fromkeys(one.name for one in fields if one.name)
            others = [units.shorten(one, _LONGEST) for one in names if one != row.data.title]
            if others:
                yield f"on {label} its line also has {units.few(others, _BESIDE)}"

    def _row(self, row: Row) -> list[str]:
        labels = [self._base, self._label]
        return [*self._cells(row.kernels, row.changes), kind(row, labels), row.data.title]

    def _cells(self, kernels: dict[str, Sums], changes: dict[str, Change]) -> list[str]:
        cells = []
        for measure in ("transfers", "misses"):
            counts = {label: getattr(one, measure) for label, one in kernels.items()}
            cells.append(self._numbers.count(self._base, counts[self._base]))
            if self._label != self._base:
                cells.append(self._numbers.count(self._label, counts[self._label]))
                delta = getattr(changes[self._label], measure)
                if delta.delta is None:
                    there = counts[self._base] or counts[self._label]
                    cells.append(UNSURE if there else "0")
                else:
                    told = self._numbers.delta(self._base, self._label, counts)
                    cells.append(f"{ABOUT if delta.low < delta.high else ''}{told}")
        return cells

    def _rest(self) -> list[str]:
        cells = []
        for measure in ("transfers", "misses"):
            for label in dict.fromkeys((self._base, self._label)):
                rows = (getattr(row.kernels[label], measure) for row in self._shown)
                whole = getattr(self._document.total.kernels[label], measure)
                cells.append(self._numbers.count(label, whole - sum(rows)))
            cells += [""] * (self._label != self._base)
        return cells
