"""How often events happened in runs of one kernel."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.events.entries import Entries, symbols
from profdiff.profile.events.table import Event, Version, Way, events
from profdiff.profile.kept_code import CODE
from profdiff.profile.session_symbols import architecture_of
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains

Beginnings = Mapping[str, Sequence[int]]
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")


class Spread(NamedTuple):
    """How often an event happened in the run that stands for its kernel, and in those with the
    fewest and the most."""

    picked: int
    low: int
    high: int

    @staticmethod
    def of(values: NDArray[np.int64], picked: int) -> "Spread":
        """``values``: int64[R], of R runs."""
        return Spread(int(values[picked]), int(values.min()), int(values.max()))


class EventCount(msgspec.Struct, frozen=True):
    """How often an event happened in runs of a kernel, ``own`` and ``beside`` as ``Entered`` has
    them, by which ``way`` that is told. ``looked_up``: whether somebody looked that up in kernels
    of this version."""

    way: Way
    own: Spread
    beside: Spread | None
    inlined: bool
    looked_up: bool


def beginnings(session: Session, run: Run) -> Beginnings:
    """By name where the table's functions begin in a run's kernel; nothing without the guest's
    kallsyms. Raises SessionError."""
    return _beginnings(session.read(run, "kallsyms") or b"")


@lru_cache(maxsize=8)
def _beginnings(kallsyms: bytes) -> Beginnings:
    """One kernel is asked for at each point of its sessions; its symbols are 8 MB of text."""
    return symbols(kallsyms, _names() | _hosts())


def event_counts(
    session: Session, run: Run, addresses: Addresses, begins: Beginnings, picked: int
) -> Mapping[str, EventCount]:
    """By the events' names; those are left out whose functions the kernel is not known to have.
    ``addresses``: of runs of one kernel, of which ``run`` is one, and that with the number
    ``picked`` stands for it. Raises SessionError, InputError."""
    entries = Entries(addresses, begins, _names(), partial(_code, session, run, addresses))
    kernel = architecture_of(run), _version(session.kernel(run.kernel).release)
    found = {event.name: _counted(event, entries, kernel, picked) for event in events()}
    return {name: one for name, one in found.items() if one is not None}


def _names() -> set[str]:
    return {name for event in events() for way in event.ways for name in way.functions}


def _hosts() -> set[str]:
    return {way.inside for event in events() for way in event.ways if way.inside}


def _counted(
    event: Event, entries: Entries, kernel: tuple[str, Version | None], picked: int
) -> EventCount | None:
    """``kernel``: its architecture and version."""
    for way in event.ways:
        if way.architecture in ("", kernel[0]):
            found = [entries.of(name, way.inside) for name in way.functions]
            known = [one for one in found if one is not None]
            if len(known) == len(found):
                beside = [one.beside for one in known if one.beside is not None]
                return EventCount(
                    way=way,
                    own=_spread([one.own for one in known], picked),
                    beside=_spread(beside, picked) if len(beside) == len(known) else None,
                    inlined=any(one.inlined for one in known),
                    looked_up=way.is_looked_up(*kernel),
                )
    return None


def _spread(every: Sequence[NDArray[np.int64]], picked: int) -> Spread:
    return Spread.of(np.sum(every, axis=0), picked)


def _version(release: str | None) -> Version | None:
    found = _VERSION.match(release or "")
    return (int(found[1]), int(found[2])) if found else None


def _code(session: Session, run: Run, addresses: Addresses) -> Chains | None:
    code = CODE.known(session, run, addresses).part
    return None if code is None else code.chains
