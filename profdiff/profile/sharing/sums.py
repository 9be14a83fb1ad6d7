"""What is summed over lines to a row."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from profdiff.collectors.sharing.lines import RECYCLED
from profdiff.profile.sharing.locks import Held
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.naming import Named


class FieldUse(msgspec.Struct, frozen=True):
    """``size`` bytes of a line from ``offset`` on. ``loads`` and ``stores``: by vCPU."""

    offset: int
    size: int
    named: Named | None
    loads: list[int]
    stores: list[int]


class LineUse(msgspec.Struct, frozen=True):
    """A line of ``size`` bytes, with who accesses which of them."""

    transfers: int
    size: int
    fields: list[FieldUse]


class Sums(msgspec.Struct):
    """What one or several lines have. ``false``: transfers of lines on which no vCPU accesses what
    another one writes; ``untold``: those of which that is not known; ``recycled``: those of lines
    that are not persistent, and ``recycled_misses`` their misses. ``bystanders``: how often a vCPU
    waits for bytes that nobody writes, on lines that others write, by their names. ``locked``:
    executed locked instructions. ``fewest`` and ``most``: the range of misses if vCPUs take other
    turns. ``misses``: fetches and upgrades by the innermost function and the innermost one that is
    not from a header. ``held``: what executes while locks on persistent lines are held.
    ``largest``: the line with most transfers. ``bystander_reads``: the same for all bytes of a line
    together. ``sharing``: what makes persistent lines change hands, and how often; ``written``: all
    that is written there; ``covers``: the paths on the lines, of the same record or variable."""

    transfers: int = 0
    read_fetches: int = 0
    write_fetches: int = 0
    upgrades: int = 0
    fewest: int = 0
    most: int = 0
    lines: int = 0
    false: int = 0
    untold: int = 0
    recycled: int = 0
    recycled_misses: int = 0
    locked: int = 0
    bystander_reads: int = 0
    alternatives: set[str] = msgspec.field(default_factory=set)
    bystanders: Counter[Name] = msgspec.field(default_factory=Counter)
    misses: Counter[tuple[int, int]] = msgspec.field(default_factory=Counter)
    sharing: Counter[Name] = msgspec.field(default_factory=Counter)
    written: set[Name] = msgspec.field(default_factory=set)
    covers: set[str] = msgspec.field(default_factory=set)
    held: Held = msgspec.field(default_factory=Held.none)
    largest: LineUse | None = None

    @property
    def all_misses(self) -> int:
        """Fetches and upgrades."""
        return self.read_fetches + self.write_fetches + self.upgrades

    @property
    def depends(self) -> bool:
        """Whether transfers or misses depend on the schedule."""
        return (
            self.recycled > RECYCLED * self.transfers
            or self.recycled_misses > RECYCLED * self.all_misses
        )

    def add(self, other: "Sums") -> None:
        """Add what another one has."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.alternatives |= other.alternatives
        self.bystanders.update(other.bystanders)
        self.misses.update(other.misses)
        self.sharing.update(other.sharing)
        self.written |= other.written
        self.covers |= other.covers
        self.held.add(other.held)
        if other.largest is not None and (
            self.largest is None or _size(other.largest) > _size(self.largest)
        ):
            self.largest = other.largest


_NUMBERS = (
    *("transfers", "read_fetches", "write_fetches", "upgrades", "lines", "false", "untold"),
    *("recycled", "recycled_misses", "locked", "fewest", "most", "bystander_reads"),
)


def _size(one: LineUse) -> tuple[object, ...]:
    """Which of two lines is shown: the order of lines does not matter."""
    fields = [
        (use.offset, use.size, use.named or Named(Name("unnamed")), use.loads, use.stores)
        for use in one.fields
    ]
    return one.transfers, len(fields), fields


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` in proportion to some weights, whole; what is left goes to the largest remainders,
    the first ones first."""
    whole = sum(weights)
    if not whole:
        weights, whole = [1] * len(weights), len(weights)
    found = [total * weight // whole for weight in weights]
    rest = [total * weight % whole for weight in weights]
    for number in sorted(range(len(weights)), key=lambda one: -rest[one])[: total - sum(found)]:
        found[number] += 1
    return found
