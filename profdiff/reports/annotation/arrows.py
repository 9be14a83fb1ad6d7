"""Arrows beside a listing: from each jump that was taken to where it leads."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
            if all(bundle.last < one.first or one.last < bundle.first for one in others):
                others.append(bundle)
                placed.append((bundle, track))
                break
        else:
            left_out += len(bundle.starts)
    return placed, left_out
