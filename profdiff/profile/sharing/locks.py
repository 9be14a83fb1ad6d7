"""What executes while a lock is held: which pairs of stores to a word take and release a lock.

The names of functions tell that. They are old: include/linux/spinlock_api_smp.h, rwlock_api_smp.h
and bit_spinlock.h, kernel/locking/mutex.c and rwsem.c, all of Linux 5.0 or earlier.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from profdiff.collectors.sharing.lines import SharedLines
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.sharing.names import Name

Mode = Literal["exclusive", "shared"]

_TAKES = {
    "exclusive": re.compile(
        r"(?:raw_)?(?:spin|write)_(?:try)?lock(?:_.*)?"
        r"|queued_(?:spin|write)_(?:try)?lock(?:_slowpath)?"
        r"|mutex_(?:try)?lock(?:_.*)?"
        r"|(?:down|rwsem(?:_down)?)_write(?:_.*)?"
        r"|bit_spin_(?:try)?lock|hlist_bl_lock"
    ),
    "shared": re.compile(
        r"(?:raw_)?read_(?:try)?lock(?:_.*)?"
        r"|queued_read_(?:try)?lock(?:_slowpath)?"
        r"|(?:down|rwsem(?:_down)?)_read(?:_.*)?"
        r"|downgrade_write"
    ),
}
_RELEASES = re.compile(
    r"(?:raw_)?(?:spin|read|write)_unlock(?:_.*)?"
    r"|(?:native_|pv_)?queued_(?:spin|read|write)_unlock"
    r"|raw_callee_save___native_queued_spin_unlock"
    r"|mutex_unlock(?:_.*)?"
    r"|up_(?:read|write)(?:_.*)?"
    r"|downgrade_write"
    r"|bit_spin_unlock|hlist_bl_unlock"
)


def taken_by(function: str) -> Mode | None:
    """How a function takes a lock; None of one that takes none."""
    name = function.lstrip("_")
    modes: tuple[Mode, Mode] = ("exclusive", "shared")
    return next((mode for mode in modes if _TAKES[mode].fullmatch(name)), None)


def releases(function: str) -> bool:
    """Whether a function releases a lock."""
    return _RELEASES.fullmatch(function.lstrip("_")) is not None


class Lock(NamedTuple):
    """A lock as it is taken in one place. ``function``: the number of the one that takes it, which
    is neither the lock's own nor from a header; -1 where it is not known."""

    name: Name
    function: int
    mode: Mode


class Held(msgspec.Struct, frozen=True):
    """How often locks are taken, and the kernel's instructions that execute from then on until they
    are released, both by lock."""

    times: Counter[Lock]
    instructions: Counter[Lock]

    @staticmethod
    def none() -> "Held":
        """No lock."""
        return Held(Counter(), Counter())

    def add(self, other: "Held") -> None:
        """Add what another one has."""
        self.times.update(other.times)
        self.instructions.update(other.instructions)

    def renamed(self, name: Callable[[Name], Name], numbers: Sequence[int]) -> "Held":
        """The same with other names, and functions by ``numbers``."""
        found = Held.none()
        for lock, times in self.times.items():
            function = numbers[lock.function] if lock.function >= 0 else -1
            other = Lock(name(lock.name), function, lock.mode)
            found.times[other] += times
            found.instructions[other] += self.instructions[lock]
        return found


class Pair(NamedTuple):
    """A lock that is taken by an instruction at an offset of a line."""

    offset: int
    place: int
    function: int
    mode: Mode
    times: int
    instructions: int


class Locks:
    """The locks of a run's lines."""

    def __init__(self, lines: SharedLines, functions: ChainFunctions) -> None:
        self._lines, self._functions = lines, functions
        _, self._site, _ = functions.seats()
        self._order = np.argsort(lines.hold_line, kind="stable")
        self._sorted = lines.hold_line[self._order]

    def on(self, line: int) -> Iterator[Pair]:
        """Those of one line."""
        lines = self._lines
        start, end = np.searchsorted(self._sorted, [line, line + 1]).tolist()
        for row in self._order[start:end].tolist():
            taken, released = int(lines.hold_taken[row]), int(lines.hold_released[row])
            modes = map(taken_by, self._names(taken))
            mode: Mode | None = next((one for one in modes if one), None)
            if mode is None or not any(map(releases, self._names(released))):
                continue
            function = self._taker(taken, int(lines.hold_call[row]))
            yield Pair(
                int(lines.hold_offset[row]),
                taken,
                function,
                mode,
                int(lines.hold_times[row]),
                int(lines.hold_instructions[row]),
            )

    def _names(self, place: int) -> list[str]:
        """The functions of an instruction, the innermost first."""
        offsets = self._functions.offsets
        frames = self._functions.frames[int(offsets[place]) : int(offsets[place + 1])]
        return [self._functions.functions[one].name for one in frames[::-1].tolist()]

    def _taker(self, taken: int, call: int) -> int:
        own = int(self._site[taken])
        if taken_by(self._functions.functions[own].name) is None:
            return own
        return int(self._site[call]) if call >= 0 else -1
