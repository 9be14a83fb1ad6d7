"""The lines that change hands between vCPUs: one sentence, a table, and what else lies in them."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from profdiff.base import units
from profdiff.evidence.sharing import SharingRow
from profdiff.forms.columns import Block
from profdiff.forms.text import drawn, signs
from profdiff.mail.letter import Notes, Part, Prose
from profdiff.mail.tables import WIDTH, table
from profdiff.shapes.selected import selected
from profdiff.shapes.table import ABOUT, UNKNOWN, Cell, Section
from profdiff.topics.sharing.measure import LEAST, Lines
from profdiff.topics.sharing.sentences import NOTHING, bound, sentence
from profdiff.topics.sharing.shapes import Tables

_ROWS, _READS = 6, 4
# Of a line, so many fields beside the one that is named are told.
_BESIDE = 4
# Names are not to be longer than a line.
_LONGEST = 40
_MEANS = {UNKNOWN: "?: not certain", ABOUT: "~: at least the sign is certain"}
_COVERS = (
    "transfers: if the vCPUs take turns after each operation; misses: fetches and upgrades of a "
    "coherence protocol"
)
_KIND = "; kind: true if a vCPU accesses what another one writes"


def said(lines: Lines) -> str:
    """The sentence, with words that fit into lines."""
    words = sentence(lines).split()
    return " ".join(units.shorten(word, _LONGEST) for word in words)


def parts(lines: Lines, label: str) -> list[Part]:
    """The lines of the base and of another kernel. What changed for certain comes first; sums have
    no difference but that of all."""
    told = said(lines)
    if told == NOTHING:
        return [Prose(told)]
    labels = list(dict.fromkeys((lines.labels[0], label)))
    shown = [row for row in lines.rows if not lines.is_small(row)][:_ROWS]
    blocks = _rows(lines, labels)
    kinds = any("kind" in block.shown for block in blocks)
    notes = [f"{_COVERS}{_KIND if kinds else ''}", *_notes(lines, shown, labels)]
    tables = map(table, [*blocks, *_reads(lines, labels)])
    held = bound(lines)
    return [Prose(told), *tables, Notes(notes), *([Prose(held)] if held else [])]


def _rows(lines: Lines, labels: list[str]) -> list[Block]:
    """Rows, the rest, and the sum."""
    section = Section(name="", title="", tables=[Tables(lines, labels).rows()])
    (found,) = selected(section, _ROWS).tables
    names, data = found.index("names"), found.index("data")
    # Differences need their ends, which are not drawn.
    chosen = [
        number
        for number, column in enumerate(found.columns)
        if column.name.startswith(("transfers", "misses")) or column.name == "kind"
    ]
    columns = [
        replace(column, spare=2) if column.name == "misses_delta" else column
        for column in (found.columns[number] for number in chosen)
    ]

    def cut(row: Sequence[Cell], name: Cell) -> list[Cell]:
        return [*(row[number] for number in chosen), name]

    hidden = len(lines.rows) - len(found.rows)
    sums = [cut(row, row[names]) for row in found.sums]
    if hidden:
        sums[0][-1] = units.counted(hidden, "smaller row")
    part = replace(
        found,
        columns=[*columns, found.columns[names]],
        rows=[cut(row, row[data]) for row in found.rows],
        sums=sums,
        names=0,
    )
    there = signs(part)
    meanings = "".join(f"; {means}" for sign, means in _MEANS.items() if sign in there)
    return drawn(part, f"Lines that change hands{_each(lines)}{meanings}:", WIDTH)


def _reads(lines: Lines, labels: list[str]) -> list[Block]:
    """What is read beside what others write, on lines that do not depend on the schedule, where
    that differs most."""
    changed = lines.reads_changed(lines.labels.index(labels[-1]))
    found = [(one.row, one.read) for one in changed if abs(one.more) >= LEAST][:_READS]
    title = f"Reads of bytes that nobody writes, on lines that others write{_each(lines)}:"
    return drawn(Tables(lines, labels).reads(found), title, WIDTH) if found else []


def _each(lines: Lines) -> str:
    return " per op" if lines.per_op else ""


def _notes(lines: Lines, rows: Sequence[SharingRow], labels: list[str]) -> Iterator[str]:
    """Which functions miss the lines of each row, and what else lies in them."""
    for row in rows:
        most = max((sum(one.misses) for one in lines.missing(row)), default=0)
        functions = lines.missed_in(row, LEAST * most)
        named = list(dict.fromkeys(units.shorten(one, _LONGEST) for one in functions))
        told = [f"missed by {units.few(named, 2)}"] if named else []
        told += [words for label in labels if (words := _beside(lines, row, label))]
        if told:
            yield f"{units.shorten(lines.data(row), _LONGEST)}: {'; '.join(told)}"


def _beside(lines: Lines, row: SharingRow, label: str) -> str:
    """The fields that are accessed in the row's line on a kernel, where one alone is known."""
    kernel = lines.labels.index(label)
    line, least = row.sums[kernel].largest, LEAST * lines.ops[kernel]
    fields = [one for one in (line.fields if line else []) if sum(one.loads + one.stores) >= least]
    names = dict.fromkeys(lines.title(*one.named) for one in fields if one.named)
    others = [units.shorten(one, _LONGEST) for one in names if one != lines.data(row)]
    return f"on {label} its line also has {units.few(others, _BESIDE)}" if others else ""
