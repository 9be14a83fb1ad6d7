"""The loops of a function, from its instructions that executed and where they led.

A loop is all that leads from an instruction, its *head*, back to it, where every way from the
function's entry to the jump back leads through the head. So a jump from code that the compiler
moved away back into the middle of the function is none. What is entered at several instructions is
not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import flows

_FLOWS = flows()
_CONDITIONAL, _JUMP = _FLOWS.index("conditional"), _FLOWS.index("jump")
_INDIRECT = _FLOWS.index("indirect-jump")
# After these the next instruction executes.
_GOES_ON = frozenset(
    _FLOWS.index(name) for name in ("next", "conditional", "call", "indirect-call", "enter")
)


@dataclass(frozen=True)
class Ways:
    """N instructions that executed, by address, and where each led: ``behind``: how often to the
    one behind it; ``target``: the row that it jumped to, -1: none; ``taken``: how often;
    ``indirect``: whether to an address that it read. ``entry``: bool[N], where symbols begin."""

    behind: Sequence[int]
    target: Sequence[int]
    taken: Sequence[int]
    indirect: Sequence[bool]
    entry: Sequence[bool]


@dataclass(frozen=True)
class Loop:
    """``members``: rows of its instructions, rising, those of inner loops too. ``turns``: how often
    its end led back to its head."""

    head: int
    members: list[int]
    turns: int


def ways(
    address: NDArray[np.uint64],
    length: NDArray[np.int64],
    flow: NDArray[np.uint8],
    target: NDArray[np.uint64],
    count: NDArray[np.int64],
    taken: NDArray[np.int64],
    entry: NDArray[np.bool_],
) -> Ways:
    """Of N instructions that executed, whose addresses rise. ``target``: of direct jumps;
    ``count`` and ``taken``: int64[N], how often each executed, and jumped where it is conditional;
    ``entry``: bool[N], where a symbol begins."""
    conditional, jump = flow == _CONDITIONAL, flow == _JUMP
    times = np.where(jump, count, np.where(conditional, taken, 0))
    row = np.searchsorted(address, target)
    row = np.minimum(row, max(len(address) - 1, 0))
    inside = (times > 0) & (conditional | jump)
    if len(address):
        inside &= address[row] == target
    behind = np.where(np.isin(flow, list(_GOES_ON)), count - np.where(conditional, taken, 0), 0)
    if len(address):
        behind[:-1][address[1:] != address[:-1] + length[:-1].astype(np.uint64)] = 0
        behind[-1] = 0
    return Ways(
        behind=behind.tolist(),
        target=np.where(inside, row, -1).tolist(),
        taken=np.where(inside, times, 0).tolist(),
        indirect=(flow == _INDIRECT).tolist(),
        entry=entry.tolist(),
    )


def loops(found: Ways) -> list[Loop]:
    """The loops, by their heads."""
    number = len(found.behind)
    after: list[list[int]] = [[] for _ in range(number)]
    for row in range(number):
        if found.behind[row] > 0:
            after[row].append(row + 1)
        if found.target[row] >= 0:
            after[row].append(found.target[row])
    before = _turned(after)
    entries = [row for row in range(number) if found.entry[row] or not before[row]]
    entries = entries or ([0] if number else [])
    if any(found.indirect):
        # Nothing tells where an address leads that was read: to all that nothing else leads to.
        targets = [row for row in entries if not found.entry[row] and row]
        for row in range(number):
            if found.indirect[row]:
                after[row] = targets
        before = _turned(after)
        entries = [row for row in entries if row not in set(targets)]
    made = []
    for head, tails in sorted(_returning(after, entries).items()):
        beside = _reached(after, entries, without=head)
        own = [tail for tail in tails if tail not in beside]
        if own:
            members = sorted(_reached(before, own, without=head) | {head})
            made.append(Loop(head, members, sum(_times(found, tail, head) for tail in own)))
    return made


def _times(found: Ways, row: int, other: int) -> int:
    """How often an instruction led to another; 0 where it read the address."""
    jumped = found.taken[row] if found.target[row] == other else 0
    return jumped + (found.behind[row] if other == row + 1 else 0)


def _turned(after: Sequence[Sequence[int]]) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in after]
    for row, following in enumerate(after):
        for other in following:
            before[other].append(row)
    return before


def _returning(after: Sequence[Sequence[int]], entries: Sequence[int]) -> dict[int, list[int]]:
    """By where they lead, the instructions that lead to one on the way to them."""
    found: dict[int, list[int]] = {}
    # 1: on the way; 2: all behind it is known.
    state = [0] * len(after)
    for entry in entries:
        if state[entry]:
            continue
        state[entry] = 1
        way = [(entry, iter(after[entry]))]
        while way:
            row, following = way[-1]
            other = next(following, None)
            if other is None:
                state[row] = 2
                way.pop()
            elif state[other] == 1:
                found.setdefault(other, []).append(row)
            elif not state[other]:
                state[other] = 1
                way.append((other, iter(after[other])))
    return found


def _reached(after: Sequence[Sequence[int]], starts: Sequence[int], without: int) -> set[int]:
    """What can be reached from some rows on ways that do not lead through one."""
    found = {row for row in starts if row != without}
    rest = list(found)
    while rest:
        for other in after[rest.pop()]:
            if other != without and other not in found:
                found.add(other)
                rest.append(other)
    return found
