"""What a letter says of single topics: the data that a kernel accesses more or less often than the
base, events that changed by more than the instructions, memory that it keeps, kinds of
instructions and what they would cost, the suspects of blame, and the lines that change hands
between vCPUs."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors.calibration.prices import Prices
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.sharing import SharingRow
from profdiff.evidence.statistics.rule import Verdict
from profdiff.forms.columns import Block
from profdiff.forms.numbers import Numbers
from profdiff.forms.text import changed, drawn, signs
from profdiff.mail import letter
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.mail.tables import WIDTH, table
from profdiff.profile.data.table import DataRow
from profdiff.reports.blame import DIGITS
from profdiff.shapes import table as shapes
from profdiff.shapes.selected import selected
from profdiff.shapes.table import ABOUT, UNKNOWN, Cell, by_kernel, of_row, tabulate
from profdiff.topics.events import shapes as events
from profdiff.topics.inventory.lines import lines
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.inventory.prices import ALONE, PricedInventory
from profdiff.topics.inventory.shapes import items, sentence
from profdiff.topics.memory import shapes as allocated
from profdiff.topics.memory.measure import Memory
from profdiff.topics.programs import shapes as programs
from profdiff.topics.registry import TOPICS
from profdiff.topics.sharing import sentences as sharing
from profdiff.topics.sharing.measure import LEAST, Lines
from profdiff.topics.sharing.sentences import NOTHING, bound
from profdiff.topics.sharing.shapes import Tables
from profdiff.topics.types.measure import Accesses, access, added, difference
from profdiff.topics.types.sentences import changed_most
from profdiff.views.blame import Blame

_MAX_ROWS = 8
# Prose is not to have words that are longer than a line.
_MAX_WORD = 60
_MEANS = {
    UNKNOWN: "?: not certain",
    ABOUT: "~: only the sign is certain",
}


class _Sum(NamedTuple):
    """``is_all``: then its difference is known."""

    title: str
    counts: list[int]
    is_all: bool = False


def parts(accesses: Accesses, label: str, at: str) -> list[Part]:
    """What differs for certain comes first; what may not differ has no number. Sums have none but
    that of all: what they are made of is not certain. ``at``: which figures these are."""
    base, ops = accesses.labels[0], accesses.comparison.ops
    kernel = accesses.labels.index(label)

    def change(row: DataRow | _Sum) -> int:
        return row.counts[kernel] - row.counts[0]

    def count(row: DataRow | _Sum, of: str) -> int:
        return row.counts[0 if of == base else kernel]

    def difference_of(row: DataRow | _Sum, _: str) -> Difference | Literal[""]:
        if isinstance(row, _Sum):
            delta = change(row)
            return Difference(delta, delta, delta, Verdict.EXACT) if row.is_all else ""
        return difference(row, kernel)

    def of_data(cell: Any) -> Any:
        return lambda row: "" if isinstance(row, _Sum) else cell(row)

    differ = [row for row in accesses.rows["data"] if change(row)]
    if not differ:
        return []
    differ.sort(key=lambda row: (not difference(row, kernel).verdict.is_sure, -abs(change(row))))
    shape = tabulate(
        [
            *by_kernel([base, label], count, difference_of, about=True),
            of_row("access", "word", of_data(access), title=""),
            of_row("data", "name", lambda r: r.title if isinstance(r, _Sum) else accesses.title(r)),
        ],
        name="accesses",
        title="",
        kernels=[base, label],
        ops=ops,
        rows=differ[:_MAX_ROWS],
        sums=_sums(accesses, differ[:_MAX_ROWS]),
    )
    there = signs(shape)
    means = "".join(f"; {means}" for sign, means in _MEANS.items() if sign in there)
    title = (
        f"Data accessed more or less often{at} (loads and stores{' per op' if ops else ''}{means}):"
    )
    words = changed_most(accesses, kernel, ops).split()
    said = " ".join(units.shorten(word, _MAX_WORD) for word in words)
    return [Prose(said), *map(table, drawn(shape, title, WIDTH))]


def _sums(accesses: Accesses, shown: list[DataRow]) -> list[_Sum]:
    """The rest, what is not data, and all."""
    rows, kernels = accesses.rows, len(accesses.labels)
    rest = [row for row in rows["data"] if row not in shown]
    sums = [_Sum(units.counted(len(rest), "other field"), added(rest, kernels))] if rest else []
    groups = [
        _Sum("on the stack", added(rows["stack"], kernels)),
        _Sum("unresolved", added(rows["unresolved"], kernels)),
    ]
    whole = added([row for group in rows.values() for row in group], kernels)
    return [*sums, *(one for one in groups if any(one.counts)), _Sum("all", whole, True)]


_MAX_EVENTS, _MAX_PATHS = 6, 3


def events_section(findings: Findings, label: str, at: str) -> Section:
    """What is certain to have changed of the workload's own events, the largest first; nothing
    where no event is worth a sentence. ``at``: which figures these are."""
    if not events.sentence(findings, label):
        return Section("", [])
    own = TOPICS["events"].section(findings).tables[0]
    blocks = changed(own, label, f"Events of the kernel that changed{at}", _MAX_EVENTS, WIDTH)
    return Section("", list[Part](map(table, blocks)))


def sentences_section(topic: str, findings: Findings, label: str = "") -> Section:
    """What a topic says in sentences, of a kernel or of all; nothing where nothing is known."""
    try:
        told = TOPICS[topic].section(findings).sentences
    except InputError:
        return Section("", [])
    own = [one for one in told if not label or one.startswith((f"{label} ", f"{label}:"))]
    return Section("", [Prose(" ".join(own))] if own else [])


def paths_section(findings: Findings, label: str) -> Section:
    """The call paths of a kernel's change, where they are few; a mail has no room for many."""
    try:
        tables = TOPICS["paths"].section(findings).tables
    except InputError:
        return Section("", [])
    for one in tables:
        if one.kernels[-1] == label and len(one.rows) <= _MAX_PATHS:
            title = f"Call paths that changed most{' per op' if one.ops else ''}:"
            return Section("", list[Part](map(table, drawn(one, title, WIDTH))))
    return Section("", [])


def programs_section(findings: Findings) -> Section:
    """How user space and the kernel change; nothing where sides are not programs."""
    try:
        return Section("", [Prose(" ".join(programs.summary(findings).sentences))])
    except InputError:
        return Section("", [])


def items_section(findings: Findings, inventory: Inventory | None, label: str, at: str) -> Section:
    """The item that changed by much more than the instructions, and those that cost more than
    others of which it is certain that they changed; all items where none of those did. Then the
    distinct lines of memory that changed."""
    if inventory is None or label not in inventory.labels[1:]:
        return Section("", [])
    every = items(inventory)
    costly = [row for row in every.rows if row[every.index("costly")]]
    title = f"Kinds of instructions that changed{at}"
    blocks = changed(replace(every, rows=costly), label, title, _MAX_EVENTS, WIDTH)
    blocks = blocks or changed(every, label, title, _MAX_EVENTS, WIDTH)
    if distinct := lines(findings):
        title = "Distinct lines of memory that changed, in the window"
        blocks += changed(distinct, label, title, _MAX_EVENTS, WIDTH)
    words = sentence(inventory, label)
    return Section("", [*([Prose(words)] if words else []), *map(table, blocks)])


def memory_section(findings: Findings, label: str) -> Section:
    """What the kernel keeps more or less of for certain; nothing where nobody recorded that."""
    memory = Memory(findings)
    if label not in memory.labels[1:]:
        return Section("", [])
    titles = "Slab caches that keep more or fewer bytes", "Orders of which more or fewer are kept"
    blocks = [
        block
        for shape, title in zip(allocated.kept(memory), titles, strict=True)
        for block in changed(shape, label, title, _MAX_EVENTS, WIDTH)
    ]
    words = allocated.sentence(memory, label)
    return Section("", [*([Prose(words)] if words else []), *map(table, blocks)])


# With the line above, five lines.
_MAX_SUSPECTS = 4
# The smallest part of the delta; nobody looks below it.
_MIN_SHARE = 0.01


def costs_section(findings: Findings, label: str) -> Section:
    """What the change that would cost most costs at the prices that the session carries; nothing
    where it has none, or no exact counts."""
    if not isinstance(findings.prices, Prices):
        return Section("", [])
    try:
        priced = PricedInventory(Inventory(findings), findings.prices)
    except InputError:
        return Section("", [])
    told = priced.sentence(priced.inventory.labels.index(label))
    return Section("", [Prose(f"{told} {ALONE}")] if told else [])


def suspects_section(blame: Blame | None) -> Section:
    """The largest commits, if there are any; never a trailer, which needs a bisection."""
    if blame is None:
        return Section("", [])
    least = _MIN_SHARE * abs(blame.delta)
    commits = [row for row in blame.rows if row.commit and abs(row.effect) > least]
    if not commits:
        return Section("", [])
    numbers = Numbers(blame.ops)
    shown = commits[:_MAX_SUSPECTS]
    deltas = [numbers.delta(row.effect) for row in shown]
    shares = [units.share(row.effect, blame.delta) for row in shown]
    rows = []
    for row, delta, share in zip(shown, deltas, shares, strict=True):
        start = f"  {delta:>{max(map(len, deltas))}}  {share:>{max(map(len, shares))}}"
        commit = f"{start}  {(row.commit or '')[:DIGITS]}"
        subject = units.printable(row.subject)
        rows.append(f'{commit} ("{units.ended(subject, max(letter.WIDTH - len(commit) - 5, 8))}")')
    each = " per op" if blame.ops else ""
    head = f"Suspects by lines, not bisected (instructions{each}, share of the delta):"
    return Section("", [Table([head], rows)])


_ROWS, _READS = 6, 4
# Of a line, so many fields beside the one that is named are told.
_BESIDE = 4
# Names are not to be longer than a line.
_MAX_LINE_NAME = 40
_LINE_SIGNS = _MEANS
_COVERS = (
    "transfers: if the vCPUs take turns after each operation; misses: fetches and upgrades of a "
    "coherence protocol"
)
_KIND = "; kind: true if a vCPU accesses what another one writes"


def said(lines: Lines) -> str:
    """The sentence, with words that fit into lines."""
    words = sharing.sentence(lines).split()
    return " ".join(units.shorten(word, _MAX_LINE_NAME) for word in words)


def sharing_parts(lines: Lines, label: str) -> list[Part]:
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
    section = shapes.Section(name="", title="", tables=[Tables(lines, labels).rows()])
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
    meanings = "".join(f"; {means}" for sign, means in _LINE_SIGNS.items() if sign in there)
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
        named = list(
            dict.fromkeys(units.shorten(function, _MAX_LINE_NAME) for function in functions)
        )
        told = [f"missed by {units.few(named, 2)}"] if named else []
        told += [words for label in labels if (words := _beside(lines, row, label))]
        if told:
            yield f"{units.shorten(lines.data(row), _MAX_LINE_NAME)}: {'; '.join(told)}"


def _beside(lines: Lines, row: SharingRow, label: str) -> str:
    """The fields that are accessed in the row's line on a kernel, where one alone is known."""
    kernel = lines.labels.index(label)
    line, least = row.sums[kernel].largest, LEAST * lines.ops[kernel]
    fields = [one for one in (line.fields if line else []) if sum(one.loads + one.stores) >= least]
    names = dict.fromkeys(lines.title(*field.named) for field in fields if field.named)
    others = [units.shorten(name, _MAX_LINE_NAME) for name in names if name != lines.data(row)]
    return f"on {label} its line also has {units.few(others, _BESIDE)}" if others else ""
