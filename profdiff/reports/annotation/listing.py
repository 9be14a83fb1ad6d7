"""What a listing of a function's code shows, line by line: places, source lines, instructions as
they are executed, and how many were left out between them."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

import msgspec

from profdiff.base import units
from profdiff.base.names import shortened
from profdiff.views.annotation.records import UNKNOWN, Annotation, Line, Place, Row, title
from profdiff.views.parts.annotation import JointLine
from profdiff.views.record import Counts

_SIGN = "; "
# Between the names that kernels have, and what stands for a kernel without one.
_BETWEEN, _NONE = " / ", "-"
# Fewer columns of a name tell nothing.
_LEAST = 10
# Code and names share what room there is; code has the larger part.
_CODE_PART = 0.6
# So many things of a source line are named.
_NAMED = 3


def accessed_by_row(row: Row, labels: Iterable[str]) -> dict[str, str]:
    """What an instruction accesses, by kernel."""
    return {label: title(row.accesses[label]) for label in labels if label in row.accesses}


def accessed_by_rows(rows: Iterable[Row], labels: Collection[str]) -> dict[str, str]:
    """What is known of what several instructions access that were executed, as one text; what is
    accessed most is first."""
    counts: dict[str, int] = {}
    for row in rows:
        told = _joined(accessed_by_row(row, labels), labels)
        if told not in ("", UNKNOWN):
            counts[told] = counts.get(told, 0) + _most(row.count)
    order = sorted(filter(counts.get, counts), key=lambda one: (-counts[one], one))
    return dict.fromkeys(labels, units.few(order, _NAMED, ", ", " and ")) if order else {}


def accesses_behind(
    texts: Sequence[str], names: Sequence[Mapping[str, str]], labels: Sequence[str], room: int
) -> list[str]:
    """Each text with what it accesses on ``labels``, in a column where that can be; ``texts``: in
    their room."""
    told = [_joined(own, labels) for own in names]
    widest = max(
        (units.width(text) for text, one in zip(texts, told, strict=True) if one), default=0
    )
    column = min(widest, int(room * _CODE_PART))
    short = shortened([one for one in told if one], max(room - column - _extra(), _LEAST))
    made = []
    for text, one in zip(texts, told, strict=True):
        own = units.width(text)
        left = room - max(own, column) - _extra()
        if one and left >= min(_LEAST, units.width(one)):
            blanks = " " * (max(column - own, 0) + 2)
            text = f"{text}{blanks}{_SIGN}{units.shorten(short[one], left)}"
        made.append(text)
    return made


def _extra() -> int:
    return 2 + len(_SIGN)


def _joined(names: Mapping[str, str], labels: Iterable[str]) -> str:
    """The names that kernels have, one where they have the same."""
    told = [names[label] for label in labels if label in names]
    if len(set(told)) < 2:
        return told[0] if told else ""
    return _BETWEEN.join(one or _NONE for one in told)


def _most(counts: Counts) -> int:
    return max(map(abs, counts.values()), default=0)


_Value = TypeVar("_Value")
# Between the functions of a place, as --inlined-at takes them.
CHAIN = " → "
# A symbol that is the function itself; a .cold part is another stretch of code.
_SUFFIXES = re.compile(r"(\.(isra|constprop|part|llvm)\.\d+)+$")
# What executes less than this part of the hottest instruction's count carries none of the cost.
_COLD = 0.01
# Columns of a tab: kernel sources are indented deep, and there is little room.
_TAB = 2


class ListingLine(msgspec.Struct, frozen=True):
    """A line. ``texts``: by kernel; ``sign``: how a row differs; ``counts``: of the kernels that
    are shown on the line, ``whole``: of all of the row, None where another line has them.
    ``counted``: whether it is known of all ``targets`` how often they were jumped to.
    ``accesses``: what is accessed, by kernel."""

    kind: Literal["place", "source", "code", "left out"]
    texts: Mapping[str, str]
    sign: str = " "
    counts: Counts | None = None
    whole: Counts | None = None
    samples: Counts | None = None
    taken: Counts | None = None
    addresses: Mapping[str, str] = msgspec.field(default_factory=dict)
    targets: Mapping[str, str] = msgspec.field(default_factory=dict)
    counted: bool = True
    accesses: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def executed(self) -> bool:
        """Whether any kernel executed it."""
        return any((self.counts or {}).values())


class Listing(NamedTuple):
    """The lines of one place."""

    place: Place
    entries: list[ListingLine]


def listings(annotation: Annotation, context: int, *, cold: bool = False) -> list[Listing]:
    """The listings of the places, those with the largest delta first, then the most executed.
    ``context``: so many never-executed instructions are shown around each executed one.
    ``cold``: what executes less than a hundredth as often as the hottest instruction is shown, too,
    as if it were hot."""
    known = RowLines(annotation)
    most = max(map(_hottest, annotation.rows), default=0)
    least = max(1, 0 if cold else most * _COLD)
    by_place: dict[int, list[Row]] = {number: [] for number in range(len(annotation.places))}
    for row in annotation.rows:
        by_place[row.place].append(row)
    made = []
    for number in _order(annotation):
        place, rows = annotation.places[number], by_place[number]
        file = _file_of(rows)
        head = ListingLine(
            "place", _titles(place, file, annotation.labels), " ", place.self, place.self
        )
        near = _shown(rows, least, context)
        own = _entries(annotation, known, place, rows, near, file)
        made.append(Listing(place, [head, *own]))
    return made


def _order(annotation: Annotation) -> list[int]:
    """Executed places; all of them where none was."""

    def key(number: int) -> tuple[int, int, int]:
        own = annotation.places[number].self
        base = own.get(annotation.labels[0], 0)
        deltas = (abs(own.get(label, 0) - base) for label in annotation.labels)
        return -max(deltas, default=0), -max(own.values(), default=0), number

    every = range(len(annotation.places))
    executed = {row.place for row in annotation.rows if any(row.count.values())}
    return sorted((number for number in every if number in executed or not executed), key=key)


def _file_of(rows: Sequence[Row]) -> str:
    """That of most of the rows; "" where none is known."""
    known = Counter(row.file for row in rows if row.file)
    return known.most_common(1)[0][0] if known else ""


def _titles(place: Place, file: str, labels: Sequence[str]) -> dict[str, str]:
    """The functions from the physical one to this one, as each kernel has them, and the file. For a
    kernel without the copy, as others have it."""
    chains = {label: place.chains.get(label, place.chain) for label in labels}
    where = f", {file}" if file else ""
    return {label: f"{CHAIN.join(chain)}{where}" for label, chain in chains.items()}


def _entries(
    annotation: Annotation,
    known: "RowLines",
    place: Place,
    rows: Sequence[Row],
    shown: Sequence[bool],
    file: str,
) -> Iterator[ListingLine]:
    labels = annotation.labels
    last: Line | None = None
    for visible, members in groupby(zip(rows, shown, strict=True), lambda one: one[1]):
        own = [row for row, _ in members]
        if not visible:
            yield _left_out(own, labels)
            last = None
            continue
        for row in own:
            line = known.of(row)
            if line != last:
                title = titled(line, labels, file) if line else "no line known"
                yield ListingLine("source", dict.fromkeys(labels, title))
                last = line
            yield from _split(row, labels, place)


def _hottest(row: Row) -> int:
    return max(map(abs, row.count.values()), default=0)


def _shown(rows: Sequence[Row], least: float, context: int) -> list[bool]:
    """Which are, of a place; none of one that executes, but nowhere ``least`` times."""
    hot = [_hottest(row) >= least for row in rows]
    if not any(hot) and any(map(_hottest, rows)):
        return [False] * len(rows)
    return near_executed(hot, context)


def _left_out(rows: Sequence[Row], labels: Sequence[str]) -> ListingLine:
    if not any(map(_hottest, rows)):
        return ListingLine(
            "left out", dict.fromkeys(labels, f"... {len(rows):,} more, never executed")
        )
    text = f"... {len(rows):,} more, each below {_COLD:.0%} of the hottest (--cold)"
    counts = _sums([row.count for row in rows], labels)
    samples = [row.samples for row in rows if row.samples is not None]
    return ListingLine(
        "left out",
        dict.fromkeys(labels, text),
        counts=counts,
        whole=counts,
        samples=_sums(samples, labels) if samples else None,
    )


def _sums(rows: Sequence[Counts], labels: Sequence[str]) -> Counts:
    return {
        label: sum(row[label] for row in rows if label in row)
        for label in labels
        if any(label in row for row in rows)
    }


def near_executed(executed: Sequence[bool], context: int) -> list[bool]:
    """Which lines are shown: executed ones and ``context`` around each. A gap of one is shown:
    saying so takes as much room. All of them where none is executed."""
    near = [False] * len(executed)
    for number, one in enumerate(executed):
        if one:
            start, end = max(number - context, 0), min(number + context + 1, len(near))
            near[start:end] = [True] * (end - start)
    for number in range(1, len(near) - 1):
        if near[number - 1] and not near[number] and near[number + 1]:
            near[number] = True
    return near if any(near) else [True] * len(near)


def _sign(row: Row, labels: Sequence[str]) -> str:
    if row.relation == "changed":
        return "~"
    if labels[0] not in row.address:
        return "+"
    return "-" if len(labels) > 1 and len(row.address) == 1 else " "


def _split(row: Row, labels: Sequence[str], place: Place) -> Iterator[ListingLine]:
    """A line for each text of a row whose operands differ, and one for any other."""
    own = [label for label in labels if label in row.address]
    sign = _sign(row, labels)
    if row.relation != "changed":
        yield _code(row, own, place, sign, True)
        return
    texts = list(dict.fromkeys(row.text[label] for label in own))
    for number, text in enumerate(texts, 1):
        mine = [label for label in own if row.text[label] == text]
        yield _code(row, mine, place, sign, number == len(texts))


def _code(row: Row, labels: Sequence[str], place: Place, sign: str, last: bool) -> ListingLine:
    return ListingLine(
        "code",
        {label: _within(row, label, place) for label in labels},
        sign,
        counts=_of(row.count, labels),
        whole=row.count if last else None,
        samples=None if row.samples is None else _of(row.samples, labels),
        taken=None if row.taken is None else _of(row.taken, labels),
        addresses=_of(row.address, labels),
        targets={
            label: row.target[label]
            for label in labels
            if label in row.target and _jumped(row, label)
        },
        counted="conditional" not in row.classes
        or all(label in (row.taken or ()) for label in labels if row.count.get(label)),
        accesses=accessed_by_row(row, labels),
    )


def _within(row: Row, label: str, place: Place) -> str:
    """The text of an instruction; of a jump within the place's physical function, the offset there
    alone: the name is long, and the same in each of them."""
    physical = place.chains.get(label, place.chain)[0]
    operation, blank, operands = row.text[label].partition(" ")
    name, plus, offset = operands.strip().rpartition("+0x")
    if label in row.target and plus and _SUFFIXES.sub("", name) == physical:
        return f"{operation} +0x{offset}"
    return f"{operation}{blank}{operands}"


def _jumped(row: Row, label: str) -> bool:
    if row.taken is not None and label in row.taken:
        return row.taken[label] != 0
    return row.count.get(label, 0) != 0


def _of(values: Mapping[str, _Value], labels: Iterable[str]) -> dict[str, _Value]:
    return {label: values[label] for label in labels if label in values}


class RowLines:
    """The source line of each row, as the kernels have it."""

    def __init__(self, annotation: Annotation) -> None:
        self._labels = annotation.labels
        self._known = {
            (line.file, label, number): line
            for line in annotation.lines
            for label, number in line.lines.items()
            if number
        }

    def of(self, row: Row) -> Line | None:
        """None where the debug information has none."""
        own = [(label, row.lines[label]) for label in self._labels if row.lines.get(label)]
        found = (
            self._known.get((row.files.get(label, row.file), label, number))
            for label, number in own
        )
        return next((line for line in found if line), None)


def titled(line: Line | JointLine, labels: Sequence[str], file: str = "") -> str:
    """``include/linux/mm.h:83/85: text``: numbers by kernel where they differ, ``-`` on a kernel
    without the line; the file is left out where it is ``file``. A text says whose it is where the
    sources of another kernel are unknown."""
    place = numbered(line, labels)
    where = f"line {place}" if line.file == file else f"{line.file}:{place}"
    text = (line.text or "").expandtabs(_TAB).rstrip()
    if text.strip() and not line.lines.keys() <= set(line.text_of):
        where += f", in {line.text_of[0]}"
    return units.printable(f"{where}: {text}" if text.strip() else where)


def numbered(line: Line | JointLine, labels: Sequence[str]) -> str:
    """The numbers of a line, one where all kernels have the same."""
    told = [str(line.lines[label]) if line.lines.get(label) else "-" for label in labels]
    return told[0] if len(set(told)) == 1 else "/".join(told)
