"""Listings as tables, with the code of all kernels in one column."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.terminal import Span, Style, Styled
from profdiff.forms.columns import Block, Column, draw
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.listing import Listing, ListingLine, accesses_behind

# How a line leaves a cell.
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOX = " │││─╯╮┤─╰╭├─┴┬┼"
_ASCII = {0: " ", _UP | _DOWN: "|", _LEFT | _RIGHT: "-", _DOWN | _RIGHT: "/", _UP | _RIGHT: "\\"}


class Jump(NamedTuple):
    """From one line of the listing to another."""

    start: int
    end: int


class Gutter(NamedTuple):
    """What stands before each line, all of one width; ``left_out``: jumps that had no room."""

    cells: list[str]
    left_out: int


class _Bundle(NamedTuple):
    """All jumps to ``end``, in one track from the line ``first`` to ``last``."""

    end: int
    starts: Sequence[int]
    first: int
    last: int


def jumps(
    addresses: Sequence[Mapping[str, str]],
    targets: Sequence[Mapping[str, str]],
    labels: Sequence[str],
) -> list[Jump]:
    """The jumps inside a listing. ``addresses``: of each line, by kernel; ``targets``: where its
    jump leads on the kernels on which it was taken. Among a line's jumps, that of the last of
    ``labels``."""
    lines = {
        (label, address): number
        for number, known in enumerate(addresses)
        for label, address in known.items()
    }
    found = []
    for number, leads in enumerate(targets):
        ends = (lines.get((label, leads[label])) for label in reversed(labels) if label in leads)
        end = next((end for end in ends if end is not None), None)
        if end is not None:
            found.append(Jump(number, end))
    return found


def gutter(count: int, found: Sequence[Jump], tracks: int, *, ascii_only: bool = False) -> Gutter:
    """A gutter for ``count`` lines: at most ``tracks`` columns of arrows side by side, short ones
    next to the lines; empty where nothing jumps."""
    placed, left_out = _placed(_bundles(found), tracks)
    if not placed:
        return Gutter([""] * count, left_out)
    used = max(track for _, track in placed) + 1
    cells = [[0] * (used + 1) for _ in range(count)]
    heads = set()
    for bundle, track in placed:
        column = used - 1 - track
        for line in range(bundle.first, bundle.last + 1):
            up, down = line > bundle.first, line < bundle.last
            cells[line][column] |= _UP * up | _DOWN * down
        for line in {bundle.end, *bundle.starts}:
            cells[line][column] |= _RIGHT
            for crossed in range(column + 1, used + 1):
                cells[line][crossed] |= _LEFT | _RIGHT
        heads.add(bundle.end)
    drawn = []
    for line, masks in enumerate(cells):
        text = "".join(_ASCII.get(mask, "+") if ascii_only else _BOX[mask] for mask in masks)
        head = (">" if ascii_only else "▶") if line in heads else text[-1]
        drawn.append(f"{text[:-1]}{head} ")
    return Gutter(drawn, left_out)


def _bundles(found: Sequence[Jump]) -> list[_Bundle]:
    starts: dict[int, list[int]] = {}
    for start, end in found:
        starts.setdefault(end, []).append(start)
    made = [
        _Bundle(end, own, min(end, *own), max(end, *own)) for end, own in sorted(starts.items())
    ]
    return sorted(made, key=lambda one: one.last - one.first)


def _placed(bundles: Sequence[_Bundle], tracks: int) -> tuple[list[tuple[_Bundle, int]], int]:
    """Each bundle in the nearest track that is free on all of its lines, and how many jumps found
    none."""
    taken: list[list[_Bundle]] = [[] for _ in range(tracks)]
    placed, left_out = [], 0
    for bundle in bundles:
        for track, others in enumerate(taken):
            if all(bundle.last < other.first or other.last < bundle.first for other in others):
                others.append(bundle)
                placed.append((bundle, track))
                break
        else:
            left_out += len(bundle.starts)
    return placed, left_out


_CODE = "code"
# x86-64's prefixes before the operation; what follows needs all the room.
_PREFIXES = {"lock", "rep", "repz", "repnz", "notrack", "bnd", "data16", "xacquire", "xrelease"}
# How many arrows stand side by side, where there is room for them and where there is not.
_TRACKS, _FEW_TRACKS = 5, 3
_ROOMY = 90
# What an instruction needs to be read.
_LEAST_CODE = 24
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


def listing_table(figures: Figures, shown: Sequence[Listing], look: Look) -> Drawn:
    """A line for each instruction; where operands differ, one for each kernel's."""
    numbers = [_numbers(figures, entry) for listing in shown for entry in listing.entries]
    shown = _titled(shown, _room(figures, numbers, look), look)
    texts = _texts(figures, shown, look)
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


def _titled(shown: Sequence[Listing], room: int, look: Look) -> list[Listing]:
    """With the line of each copy broken where there is no room for all of its functions. Copies
    that other functions lead to on other kernels have a title for each."""
    return [
        listing._replace(entries=[*_title(listing, room, look), *listing.entries[1:]])
        for listing in shown
    ]


def _title(listing: Listing, room: int, look: Look) -> list[ListingLine]:
    head, own = listing.entries[0], listing.place.chains
    texts = head.texts
    named = {text: [one for one in own if texts[one] == text] for text in texts.values()}
    kernels = [f"{', '.join(on)}: {text}" for text, on in named.items() if on]
    told = kernels if len(kernels) > 1 else [next(iter(texts.values()))]
    lines = [line for text in told for line in units.wrap(_plain(text, look), room, 2)]
    rows = [dict.fromkeys(texts, line) for line in lines]
    return [replace(head, texts=rows[0]), *(ListingLine("place", row) for row in rows[1:])]


def _texts(figures: Figures, shown: Sequence[Listing], look: Look) -> _Texts:
    """Each entry: arrows, sign, instruction."""
    tracks = _TRACKS if look.width >= _ROOMY else _FEW_TRACKS
    cells: list[str] = []
    left_out = 0
    for listing in shown:
        entries = listing.entries
        found = jumps(
            [entry.addresses for entry in entries],
            [entry.targets for entry in entries],
            figures.labels,
        )
        drawn = gutter(len(entries), found, tracks, ascii_only=look.ascii_only)
        left_out += drawn.left_out
        cells += drawn.cells
    entries = [entry for listing in shown for entry in listing.entries]
    wide = max(map(len, cells), default=0)
    texts = [
        _text(figures, entry, arrows.rjust(wide), look)
        for entry, arrows in zip(entries, cells, strict=True)
    ]
    return _Texts(texts, any(map(str.strip, cells)), left_out)


def _text(figures: Figures, entry: ListingLine, arrows: str, look: Look) -> str:
    own = [label for label in figures.labels if label in entry.texts]
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
    return accesses_behind(cut, names, labels, room)


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
    figures: Figures, entries: Sequence[ListingLine], blocks: Sequence[Block]
) -> list[Styled]:
    """The lines of a table of entries, with how they look."""
    lines: list[Styled] = []
    for number, block in enumerate(blocks):
        lines += [Styled("")] if number else []
        lines += [Styled(text, [Span(0, len(text), "bold")]) for text in block.head]
        # Code begins under its title; numbers stand before it.
        numbers = block.head[-1].rfind(_CODE)
        for entry, text in zip(entries, block.body, strict=True):
            lines.append(Styled(text, _spans(figures, entry, len(text), numbers)))
    return lines


def _spans(figures: Figures, entry: ListingLine, end: int, numbers: int) -> list[Span]:
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
    return [Span(0, min(numbers, end), look)]
