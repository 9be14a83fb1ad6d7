"""Made-up code of loops and branches, run by a small interpreter that says what loops are there."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from profdiff.profile.code.loops import Loop, loops, ways
from profdiff.symbolization._native import flows

_FLOWS = flows()
#: Of a loop: where its head is, how often it came back there, and where its instructions are.
Told = tuple[int, int, frozenset[int]]


@dataclass(eq=False)
class Instruction:
    """``target``: where it jumps; ``jumps``: whether it does, each time in turn; None: always.
    ``loops``: those that it is in, by number."""

    length: int
    loops: frozenset[int]
    target: "Label | None" = None
    jumps: Iterator[bool] | None = None
    address: int = 0
    count: int = 0
    taken: int = 0


@dataclass(eq=False)
class Label:
    """Stands before an instruction."""

    before: Instruction | None = None


@dataclass
class Code:
    """A function of random structure: ``main``, and parts that the compiler moved away."""

    random: random.Random
    main: list[Instruction | Label] = field(default_factory=list)
    moved: list[Instruction | Label] = field(default_factory=list)
    heads: dict[int, Label] = field(default_factory=dict)

    def op(self, where: list[Instruction | Label], inside: frozenset[int]) -> None:
        where.append(Instruction(self.random.randint(1, 9), inside))

    def jump(
        self,
        where: list[Instruction | Label],
        inside: frozenset[int],
        target: Label,
        jumps: Iterator[bool] | None = None,
    ) -> None:
        where.append(Instruction(self.random.choice([2, 6]), inside, target, jumps))

    def body(self, where: list[Instruction | Label], inside: frozenset[int], depth: int) -> None:
        """Some statements, the first and the last of them no jumps."""
        self.op(where, inside)
        for _ in range(self.random.randint(1, 3) if depth else 0):
            self.random.choice([self.branch, self.moved_branch, self.loop, self.rotated])(
                where, inside, depth - 1
            )
        self.op(where, inside)

    def branch(self, where: list[Instruction | Label], inside: frozenset[int], depth: int) -> None:
        """``if``: its jump leads over the body."""
        behind = Label()
        self.jump(where, inside, behind, self.cycle())
        self.body(where, inside, depth)
        where.append(behind)
        self.op(where, inside)

    def moved_branch(
        self, where: list[Instruction | Label], inside: frozenset[int], depth: int
    ) -> None:
        """``if (unlikely())``: the body lies elsewhere, and jumps back."""
        there, back, own = Label(), Label(), list[Instruction | Label]()
        self.jump(where, inside, there, self.cycle())
        where.append(back)
        self.op(where, inside)
        own.append(there)
        self.body(own, inside, depth)
        self.jump(own, inside, back)
        self.moved += own

    def loop(self, where: list[Instruction | Label], inside: frozenset[int], depth: int) -> None:
        """``do {} while ()``."""
        head, inside = self.head(inside)
        where.append(head)
        self.body(where, inside, depth)
        self.jump(where, inside, head, self.times(self.random.randint(0, 3)))
        self.op(where, inside - {max(inside)})

    def rotated(self, where: list[Instruction | Label], inside: frozenset[int], depth: int) -> None:
        """``while () {}``, entered at its test, which stands behind the body."""
        test, within = self.head(inside)
        start = Label()
        self.jump(where, inside, test)
        where.append(start)
        self.body(where, within, depth)
        where.append(test)
        self.op(where, within)
        self.jump(where, within, start, self.times(self.random.randint(0, 3)))
        self.op(where, inside)

    def head(self, inside: frozenset[int]) -> tuple[Label, frozenset[int]]:
        number, label = len(self.heads), Label()
        self.heads[number] = label
        return label, inside | {number}

    def cycle(self) -> Iterator[bool]:
        turns = [self.random.random() < 0.5 for _ in range(3)]
        while True:
            yield from turns

    def times(self, number: int) -> Iterator[bool]:
        """So often in each round, and then not."""
        while True:
            yield from [True] * number
            yield False


def run(seed: int) -> tuple[list[Told], list[Told]]:
    """The loops that were made and went round, and those that are found."""
    code = Code(random.Random(seed))
    code.body(code.main, frozenset(), 3)
    parts = [code.main, code.moved]
    if code.random.random() < 0.5:
        parts.reverse()
    every, address = list[Instruction](), 0x1000 + code.random.randint(0, 63)
    for part in parts:
        labels: list[Label] = []
        for one in part:
            if isinstance(one, Label):
                labels.append(one)
                continue
            for label in labels:
                label.before = one
            labels, one.address = [], address
            address += one.length
            every.append(one)
        address += code.random.randint(1, 100)
    back = _interpreted(every, next(one for one in code.main if isinstance(one, Instruction)), code)
    made = []
    for number, turns in back.items():
        head = code.heads[number].before
        assert head is not None
        members = frozenset(one.address for one in every if number in one.loops and one.count)
        made.append((head.address, turns, members))
    entry = next(one for one in code.main if isinstance(one, Instruction))
    return sorted(made), sorted(_found([one for one in every if one.count], entry))


def _interpreted(every: list[Instruction], entry: Instruction, code: Code) -> dict[int, int]:
    """Run it. Returns how often each loop came back to its head from within."""
    behind = {one.address: one for one in every}
    heads = {label.before: number for number, label in code.heads.items()}
    back: dict[int, int] = {}
    at: Instruction | None = entry
    before: Instruction | None = None
    while at is not None:
        number = heads.get(at)
        if number is not None and before is not None and number in before.loops:
            back[number] = back.get(number, 0) + 1
        at.count += 1
        before = at
        if at.target is not None and (at.jumps is None or next(at.jumps)):
            at.taken += 1
            at = at.target.before
        else:
            at = behind.get(at.address + at.length)
    return back


def _found(ran: list[Instruction], entry: Instruction) -> Iterator[Told]:
    address = np.array([one.address for one in ran], np.uint64)
    flow = ["next" if one.target is None else "conditional" if one.jumps else "jump" for one in ran]
    targets = [one.target.before.address if one.target and one.target.before else 0 for one in ran]
    known = ways(
        address,
        np.array([one.length for one in ran], np.int64),
        np.array([_FLOWS.index(one) for one in flow], np.uint8),
        np.array(targets, np.uint64),
        np.array([one.count for one in ran], np.int64),
        np.array([one.taken if one.jumps else 0 for one in ran], np.int64),
        np.array([one is entry for one in ran], np.bool_),
    )
    found: list[Loop] = loops(known)
    for one in found:
        members = frozenset(int(address[row]) for row in one.members)
        yield int(address[one.head]), one.turns, members
