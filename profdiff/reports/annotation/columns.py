"""Listings as tables: the code of all kernels in one column, or side by side."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.terminal import Span, Style, Styled
from profdiff.forms.columns import Block, Column, draw
from profdiff.reports.annotation import accessed
from profdiff.reports.annotation.arrows import gutter, jumps
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.listing import Listing, ListingLine

_CODE = "code"
# x86-64's prefixes before the operation; what follows needs all the room.
_PREFIXES = {"lock", "rep", "repz", "repnz", "notrack", "bnd", "data16", "xacquire", "xrelease"}
# How many arrows stand side by side, where there is room for them and where there is not.
_TRACKS, _FEW_TRACKS = 5, 3
_ROOMY = 90
# What an instruction needs, and code beside other code, to be read.
_LEAST_CODE = 24
BESIDE = 46
# What must be left of an instruction that is cut before how often it jumped.
_LEAST_CUT = 12
_TAKEN = "  taken "


class Look(NamedTuple):
    """``absolute``: branches say how often they jumped, not their part; ``addresses``: of the
    instructions, with the text."""

    width: int
    absolute: bool
    ascii_only: bool
    addresses: bool


class Drawn(NamedTuple):
    """``arrows``: whether there are any; ``left_out``: jumps that have none."""

    lines: list[Styled]
    arrows: bool = False
    left_out: int = 0


class _Texts(NamedTuple):
    """What is drawn for each entry; ``arrows``, ``left_out``: its jumps."""

    cells: list[str]
    arrows: bool
    left_out: int


def one_column(figures: Figures, shown: Sequence[Listing], look: Look) -> Drawn:
    """A line for each instruction; where operands differ, one for each kernel's."""
    numbers = [_numbers(figures, entry) for listing in shown for entry in listing.entries]
    shown = _titled(shown, _room(figures, numbers, look), look, beside=False)
    texts = _texts(figures, shown, figures.labels, look)
    entries = [entry for listing in shown for entry in listing.entries]
    lines = _lines(figures, entries, texts.cells, look)
    return Drawn(lines, texts.arrows, texts.left_out)


def line_table(figures: Figures, entries: Sequence[ListingLine], look: Look) -> Drawn:
    """A line for each source line."""
    texts = [_plain(next(iter(entry.texts.values())), look) for entry in entries]
    indented = [
        text if entry.kind == "place" else f"  {text}"
        for entry, text in zip(entries, texts, strict=True)
    ]
    return Drawn(_lines(figures, entries, indented, look))


def _lines(
    figures: Figures, entries: Sequence[ListingLine], texts: Sequence[str], look: Look
) -> list[Styled]:
    numbers = [_numbers(figures, entry) for entry in entries]
    room = _room(figures, numbers, look)
    cut = _fitted(entries, texts, figures.labels, room, look)
    rows = [[*cells, text] for cells, text in zip(numbers, cut, strict=True)]
    columns = [*figures.columns, Column(_CODE, name=True)]
    return _styled(figures, entries, draw("", columns, rows, look.width))


def _room(figures: Figures, numbers: Sequence[Sequence[str]], look: Look) -> int:
    """What numbers leave to code."""
    return max(look.width - _used(figures.columns, numbers), _LEAST_CODE)


def _titled(shown: Sequence[Listing], room: int, look: Look, *, beside: bool) -> list[Listing]:
    """With the line of each copy broken where there is no room for all of its functions. In one
    column, copies that other functions lead to on other kernels have a title for each."""
    return [
        listing._replace(entries=[*_title(listing, room, look, beside), *listing.entries[1:]])
        for listing in shown
    ]


def _title(listing: Listing, room: int, look: Look, beside: bool) -> list[ListingLine]:
    head, own = listing.entries[0], listing.place.chains
    texts = head.texts
    if not beside:
        named = {text: [one for one in own if texts[one] == text] for text in texts.values()}
        kernels = [f"{', '.join(on)}: {text}" for text, on in named.items() if on]
        told = kernels if len(kernels) > 1 else [next(iter(texts.values()))]
        lines = [line for text in told for line in units.wrap(_plain(text, look), room, 2)]
        rows = [dict.fromkeys(texts, line) for line in lines]
    else:
        wrapped = {one: units.wrap(_plain(text, look), room, 2) for one, text in texts.items()}
        most = range(max(map(len, wrapped.values())))
        rows = [{one: own[at] for one, own in wrapped.items() if at < len(own)} for at in most]
    return [replace(head, texts=rows[0]), *(ListingLine("place", row) for row in rows[1:])]


def side_by_side(figures: Figures, shown: Sequence[Listing], look: Look) -> Drawn:
    """A line for each row, with every kernel's count and code."""
    base, *others = labels = figures.labels
    entries = [entry for listing in shown for entry in listing.entries]
    counts = {
        label: _widest([label, *(_count(figures, label, entry) for entry in entries)])
        for label in labels
    }
    deltas = {
        label: _widest(["delta", *(figures.delta(label, entry.whole) for entry in entries)])
        for label in others
    }
    first = counts[base] + 4
    other = max((counts[label] + deltas[label] + 6 for label in others), default=0)
    # The base and one more kernel at least; the others' code follows in tables below.
    more = (look.width - first - BESIDE) // (other + BESIDE)
    more = max(min(more, len(others)), min(len(others), 1))
    room = max((look.width - first - more * other) // (1 + more), _LEAST_CODE)
    shown = _titled(shown, room, look, beside=True)
    entries = [entry for listing in shown for entry in listing.entries]
    columns: list[Column] = []
    cells: list[list[str]] = []
    arrows, left_out = False, 0
    for part, label in enumerate(labels):
        texts = _texts(figures, shown, [label], look)
        arrows, left_out = arrows or texts.arrows, left_out + texts.left_out
        own = None if label == base or len(labels) == 2 else part
        columns += [Column(label, part=own), Column(_CODE.ljust(room), part=own)]
        cut = _fitted(entries, texts.cells, [label], room, look)
        count = [_count(figures, label, entry) for entry in entries]
        cells += [count, [f"{text}{' ' * (room - units.width(text))}" for text in cut]]
        if label != base:
            columns.insert(-1, Column("delta", part=own))
            cells.insert(-1, [figures.delta(label, entry.whole) for entry in entries])
    rows = [list(row) for row in zip(*cells, strict=True)]
    lines = _styled(figures, entries, draw("", columns, rows, look.width), room)
    return Drawn(lines, arrows, left_out)


def _texts(figures: Figures, shown: Sequence[Listing], labels: Sequence[str], look: Look) -> _Texts:
    """Each entry as ``labels`` have it: arrows, sign, instruction."""
    tracks = _TRACKS if look.width >= _ROOMY else _FEW_TRACKS
    cells: list[str] = []
    left_out = 0
    for listing in shown:
        entries = listing.entries
        found = jumps(
            [entry.addresses for entry in entries], [entry.targets for entry in entries], labels
        )
        drawn = gutter(len(entries), found, tracks, ascii_only=look.ascii_only)
        left_out += drawn.left_out
        cells += drawn.cells
    entries = [entry for listing in shown for entry in listing.entries]
    wide = max(map(len, cells), default=0)
    texts = [
        _text(figures, entry, labels, arrows.rjust(wide), look)
        for entry, arrows in zip(entries, cells, strict=True)
    ]
    return _Texts(texts, any(map(str.strip, cells)), left_out)


def _text(
    figures: Figures, entry: ListingLine, labels: Sequence[str], arrows: str, look: Look
) -> str:
    own = [label for label in labels if label in entry.texts]
    if not own:
        return arrows.rstrip()
    # For code that is the same on all kernels, as the newest has it.
    text = _plain(entry.texts[own[-1]], look)
    if entry.kind == "place":
        return text
    if entry.kind != "code":
        return f"{arrows}{text}"
    address = f"{_short(entry.addresses[own[-1]])}  " if look.addresses else ""
    counts = {label: (entry.counts or {}).get(label, 0) for label in own}
    taken = figures.taken(counts, entry.taken, absolute=look.absolute)
    code = f"{arrows}{entry.sign} {address}{_aligned(text)}"
    return f"{code}{_TAKEN}{taken}" if taken else code


def _plain(text: str, look: Look) -> str:
    """What takes more room in ASCII does so before lines are laid out."""
    return units.ascii_only(text) if look.ascii_only else text


def _aligned(text: str) -> str:
    """An instruction with its operands in a column of their own, as objdump prints it."""
    operation, _, operands = text.partition(" ")
    return text if operation in _PREFIXES else f"{operation:6} {operands.lstrip()}".rstrip()


def _short(address: str) -> str:
    """A kernel's addresses begin with eight ``f``, which tell nothing."""
    return address.removeprefix("0x").removeprefix("ffffffff")


def _numbers(figures: Figures, entry: ListingLine) -> list[str]:
    if entry.counts is None:
        return figures.nothing()
    return figures.cells(entry.counts, entry.samples, entry.whole)


def _count(figures: Figures, label: str, entry: ListingLine) -> str:
    cell = figures.count(label, entry.counts or {})
    sampled = entry.samples or {}
    return f"{cell} ({sampled[label]:,})" if sampled.get(label) else cell


def _used(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """What columns of numbers take, with two blanks behind each."""
    every = zip(*([column.title for column in columns], *rows), strict=True)
    return sum(_widest(cells) + 2 for cells in every)


def _widest(cells: Sequence[str]) -> int:
    return max(map(units.width, cells))


def _fitted(
    entries: Sequence[ListingLine],
    texts: Sequence[str],
    labels: Sequence[str],
    room: int,
    look: Look,
) -> list[str]:
    """Each text in its room, with what it accesses where that has room, too."""
    cut = [_cut(entry, text, room) for entry, text in zip(entries, texts, strict=True)]
    names = [
        {label: _plain(name, look) for label, name in entry.accesses.items()} for entry in entries
    ]
    return accessed.behind(cut, names, labels, room)


def _cut(entry: ListingLine, text: str, columns: int) -> str:
    """``text`` in its room: of code, the beginning says most."""
    if units.width(text) <= columns:
        return text
    # How often it jumped says more than where to.
    code, taken, share = text.rpartition(_TAKEN)
    left = columns - units.width(taken + share)
    if entry.kind == "code" and taken and left >= _LEAST_CUT:
        return f"{units.ended(code, left)}{taken}{share}"
    return units.ended(text, columns)


def _styled(
    figures: Figures, entries: Sequence[ListingLine], blocks: Sequence[Block], room: int = 0
) -> list[Styled]:
    """The lines of a table of entries, with how they look. ``room``: of code that has more columns
    behind it."""
    lines: list[Styled] = []
    for number, block in enumerate(blocks):
        lines += [Styled("")] if number else []
        lines += [Styled(text, [Span(0, len(text), "bold")]) for text in block.head]
        # Code begins under its title and takes its room; numbers are what is left of it.
        starts = [found.start() for found in re.finditer(rf"\b{_CODE}\b", block.head[-1])]
        numbers = list(zip([0, *(start + room for start in starts)], starts, strict=False))
        for entry, text in zip(entries, block.body, strict=True):
            # For a table that goes on below: code of none of its kernels.
            if text:
                lines.append(Styled(text, _spans(figures, entry, len(text), numbers)))
    return lines


def _spans(
    figures: Figures, entry: ListingLine, end: int, numbers: Sequence[tuple[int, int]]
) -> list[Span]:
    if entry.kind == "place":
        return [Span(0, end, "bold")]
    if entry.kind == "left out" or (not entry.executed and entry.kind == "code"):
        return [Span(0, end, "dim")]
    if entry.kind == "source":
        return [Span(0, end, "source")]
    base, *others = figures.labels
    whole = entry.whole or {}
    deltas = [whole.get(label, 0) - whole.get(base, 0) for label in others]
    largest = max(deltas, key=abs, default=0)
    if not largest:
        return []
    look: Style = "more" if largest > 0 else "less"
    return [Span(start, min(stop, end), look) for start, stop in numbers if start < end]
