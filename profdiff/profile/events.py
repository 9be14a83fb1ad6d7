"""How often events happened in runs of one kernel, told by how often functions were entered: what
executed at their first instruction, and in their inlined copies. ``events.toml`` says which
functions mean which event."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib import resources
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.function_identity import fold
from profdiff.profile.kept_code import CODE, architecture_of
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import KERNEL_HALF

Context = Literal["own", "beside"]
Version = tuple[int, ...]


class Way(msgspec.Struct, frozen=True):
    """One way to tell an event, of kernels that have all of its ``functions``. ``architecture``: ""
    for each; ``inside``: what they are inlined into, "" where they have code of their own."""

    functions: tuple[str, ...]
    source: str
    looked_up: dict[str, tuple[str, str]]
    architecture: str = ""
    inside: str = ""

    def is_looked_up(self, architecture: str, version: Version | None) -> bool:
        """Whether somebody looked that up in kernels of a version."""
        found = self.looked_up.get(architecture)
        if found is None or version is None:
            return False
        first, last = (tuple(map(int, one.split("."))) for one in found)
        return first <= version <= last


class Event(msgspec.Struct, frozen=True):
    """``about``: which events it stands among; ``told``: what happens; ``chance``: timer ticks,
    which task runs first, or where things lie decide how often it happens, too; ``context``: where
    it happens."""

    name: str
    about: str
    told: str = msgspec.field(name="is")
    ways: tuple[Way, ...] = msgspec.field(name="by")
    chance: bool = False
    context: Context = "own"


@cache
def events() -> tuple[Event, ...]:
    """All of them, in the order of the table."""
    import tomllib

    known = [{"name": name, **one} for name, one in tomllib.loads(definitions()).items()]
    return msgspec.convert(tuple(known), tuple[Event, ...])


@cache
def definitions() -> str:
    """The table as text: another one may tell an event by other functions."""
    return resources.files("profdiff.profile").joinpath("events.toml").read_text()


@cache
def by_name() -> Mapping[str, Event]:
    """The same by their names."""
    return {event.name: event for event in events()}


# Parts of a function that the compiler moved away do not begin it.
_PARTS = (".cold", ".part")
# A compiler makes a few clones of a function.
_MOST_CLONES = 100


class Entered(msgspec.Struct, frozen=True):
    """How often a function was entered in each of R runs: ``own``, int64[R], by the workload, and
    ``beside`` it, None where that is not known. ``inlined``: whether copies are part of it."""

    own: NDArray[np.int64]
    beside: NDArray[np.int64] | None
    inlined: bool = False


def symbols(kallsyms: bytes, names: Collection[str]) -> dict[str, list[int]]:
    """Where functions of the kernel itself begin, by their names; clones that the compiler made
    have several places. Nothing is known where addresses are hidden."""
    wanted = "|".join(map(re.escape, sorted(names)))
    line = re.compile(rf"^([0-9a-f]{{16}}) [tTwW] ((?:{wanted})(?:\.[\w.]+)?)$".encode(), re.M)
    found: dict[str, list[int]] = {}
    for address, symbol in line.findall(kallsyms):
        name, suffix = fold(symbol.decode())
        start = int(address, 16)
        if name in names and start >= KERNEL_HALF and not any(part in suffix for part in _PARTS):
            found.setdefault(name, []).append(start)
    return {name: places for name, places in found.items() if len(places) <= _MOST_CLONES}


class Entries:
    """``addresses``: what runs of one kernel executed. ``begins``: by name where functions begin.
    ``code``: the chains of all code of functions that executed, None where they are not known,
    asked for only when it matters."""

    def __init__(
        self,
        addresses: Addresses,
        begins: Mapping[str, Sequence[int]],
        names: Collection[str],
        code: Callable[[], Chains | None],
    ) -> None:
        self._begins, self._code = begins, code
        self._own = addresses.places.address, addresses.counts[:, :, 0]
        apart = addresses.beside
        self._beside = None if apart is None else (apart.address, apart.count)
        self._copies = self._inlined(addresses, names)

    def of(self, name: str, inside: str) -> Entered | None:
        """None where the kernel is not known to have the function. ``inside``: what it is inlined
        into wherever it has no code of its own, "" for nothing."""
        copies = self._copies.get(name)
        if name in self._begins:
            own = _at(*self._own, self._begins[name])
            beside = self._beside and _at(*self._beside, self._begins[name])
            if copies is None:
                return Entered(own, beside)
            more = None if beside is None or copies.beside is None else beside + copies.beside
            return Entered(own + copies.own, more, inlined=True)
        if copies is not None:
            # Where copies ran beside the workload alone, no chain tells them.
            return Entered(copies.own, None, inlined=True)
        if inside not in self._begins:
            return None
        ran = _at(*self._own, self._begins[inside])
        if ran.any() and not self._has_copy(name):
            return None
        return Entered(np.zeros_like(ran), None, inlined=True)

    def _has_copy(self, name: str) -> bool:
        """Whether the code of what executed has an inlined copy of a function."""
        chains = self._code()
        return chains is not None and bool(_frames(chains, {name}).any())

    def _inlined(self, addresses: Addresses, names: Collection[str]) -> dict[str, Entered]:
        """What ran in inlined copies. A copy is what one call of the function became; no
        instruction of one without a loop runs more often than it is entered."""
        chains, apart = addresses.chains, self._beside
        offsets = chains.offsets.astype(np.int64)
        some = np.flatnonzero(_frames(chains, names)[chains.frames])
        copies: dict[tuple[str, tuple[int, ...]], tuple[NDArray[np.int64], ...]] = {}
        for position, place in zip(
            some.tolist(), (np.searchsorted(offsets, some, "right") - 1).tolist(), strict=True
        ):
            start = self._own[0][place]
            if start < KERNEL_HALF:
                continue
            frames = chains.frames[offsets[place] : position].tolist()
            name = chains.strings[
                chains.function_name[chains.frame_function[chains.frames[position]]]
            ]
            key = name, (int(chains.symbol[place]), *frames)
            ran = [self._own[1][place]]
            ran += [] if apart is None else [_at(*apart, [int(start)])]
            before = copies.get(key, ran)
            copies[key] = tuple(np.maximum(a, b) for a, b in zip(before, ran, strict=True))
        found: dict[str, Entered] = {}
        for (name, _), (own, *beside) in copies.items():
            known = found.get(name)
            more = beside[0] if beside else None
            if known is not None:
                own = own + known.own
                more = None if more is None or known.beside is None else more + known.beside
            found[name] = Entered(own, more, inlined=True)
        return found


def _frames(chains: Chains, names: Collection[str]) -> NDArray[np.bool_]:
    """bool[F]: which frames are inlined ones of functions with these names."""
    known = np.array([text in names for text in chains.strings], np.bool_)
    found: NDArray[np.bool_] = (
        chains.frame_inlined & known[chains.function_name[chains.frame_function]]
    )
    return found


def _at(
    address: NDArray[np.uint64], count: NDArray[np.int64], wanted: Sequence[int]
) -> NDArray[np.int64]:
    """int64[R]: the sum of ``count``, int64[N, R], at some of N addresses of the kernel, sorted."""
    result = np.zeros(count.shape[1], np.int64)
    for one in wanted:
        row = int(np.searchsorted(address, np.uint64(one)))
        if row < len(address) and address[row] == one:
            result += count[row]
    return result


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
    match = _VERSION.match(release or "")
    return (int(match[1]), int(match[2])) if match else None


def _code(session: Session, run: Run, addresses: Addresses) -> Chains | None:
    code = CODE.known(session, run, addresses).part
    return None if code is None else code.chains
