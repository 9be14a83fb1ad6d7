"""What an instruction accesses, ``profdiff.annotation/1``."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.data import naming
from profdiff.profile.data.naming import NamedAccess, Names
from profdiff.views.record import Record

Kind = Literal[
    "field",
    "variable",
    "pointed",
    "stack-variable",
    "spill",
    "canary",
    "push",
    "call",
    "unresolved",
]

UNKNOWN = "?"
# What the instruction says itself: a register that is pushed, a slot of the stack.
_EVIDENT = ("push", "call", "spill")
# An unresolved access of which it is known what it is not.
_USER = "user-memory"


class Access(Record, frozen=True):
    """``kind``, ``type``, ``symbol``, ``field``, ``alternatives`` and ``reason`` as of a row of
    ``profdiff report types``; ``size``: in bytes, of one turn of an instruction that repeats."""

    load: bool
    store: bool
    size: int
    kind: Kind
    type: str
    symbol: str
    field: str
    alternatives: list[str]
    reason: str

    @property
    def title(self) -> str:
        """What stands beside the instruction; "" for what that says itself, ``UNKNOWN`` where
        nothing tells."""
        if self.kind in _EVIDENT:
            return ""
        if self.kind == "unresolved":
            return naming.WORDS[_USER] if self.reason == _USER else UNKNOWN
        if self.kind == "canary":
            return naming.WORDS[self.kind]
        return naming.title(self.kind, self.type, self.symbol, [self.field], self.alternatives)


def title(accesses: Iterable[Access]) -> str:
    """All that one instruction accesses, in a few words."""
    return ", ".join(dict.fromkeys(one.title for one in accesses if one.title))


class KernelAccesses:
    """The accesses of one kernel's instructions; none where the session does not keep them."""

    def __init__(self, kernel: KernelFunctions) -> None:
        self._kernel = kernel
        self._names: Names | None = None

    def of(self, address: NDArray[np.uint64]) -> Sequence[list[Access]]:
        """By address. Raises SessionError."""
        if self._names is None and self._kernel.accesses is not None:
            self._names = Names(self._kernel.accesses)
        if self._names is None:
            return [[] for _ in address]
        return [[_access(one) for one in own] for own in self._names.of(address)]


def _access(found: NamedAccess) -> Access:
    key = found.key
    return Access(
        load=found.load,
        store=found.store,
        size=found.size,
        kind=key.kind,  # type: ignore[arg-type]  # one of them
        type=key.type,
        symbol=key.symbol,
        field=key.place,
        alternatives=sorted(key.alternatives),
        reason=key.reason,
    )
