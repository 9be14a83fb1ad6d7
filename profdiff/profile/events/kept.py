"""How often events of the workload happened at every setting of a session, kept in it: a report
over many cells then reads no recording."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.events.counts import (
    Beginnings,
    EventCount,
    Spread,
    addresses_of,
    beginnings,
    event_counts,
)
from profdiff.profile.events.table import by_name, digest, events
from profdiff.profile.kept_functions import fingerprint, fits
from profdiff.profile.runs import median_run, paired
from profdiff.profile.self_counts import exact_collector
from profdiff.session import inlines
from profdiff.session.points import Setting, settings
from profdiff.session.session import Session
from profdiff.symbolization import column_file

FORMAT = 1
_FILE = "symbols/events.npz"
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "format": np.dtype(np.uint32),
    "runs": np.dtype(np.uint8),
    "table": np.dtype(np.uint8),
    "labels": np.dtype(np.uint8),
    "events": np.dtype(np.uint8),
    "point": np.dtype(np.int64),
    "state": np.dtype(np.uint32),
    "known": np.dtype(np.bool_),
    "counts": np.dtype(np.int64),
    "interrupts": np.dtype(np.int64),
    "way": np.dtype(np.uint8),
    "inlined": np.dtype(np.bool_),
    "looked_up": np.dtype(np.bool_),
    "beside": np.dtype(np.int64),
    "beside_known": np.dtype(np.bool_),
}
# Settings and states by kernels and events: far more than a session of 10,000 runs has.
_MOST_COUNTS = 1 << 24


class Told(NamedTuple):
    """How events that are known are told, as an ``EventCount`` has it: ``way``, uint8[..., E], the
    number of an event's way; ``inlined`` and ``looked_up``, bool[..., E]; ``beside``,
    int64[..., E, 3], where ``beside_known``, bool[..., E]."""

    way: NDArray[np.uint8]
    inlined: NDArray[np.bool_]
    looked_up: NDArray[np.bool_]
    beside: NDArray[np.int64]
    beside_known: NDArray[np.bool_]


class Here(NamedTuple):
    """What is kept of K kernels and E events at one setting in one state: ``known``, bool[K, E];
    ``counts``, int64[K, E, 3], as a ``Spread`` has them; ``interrupts``, int64[K], the most that
    came in a run; ``told``, of [K, E]."""

    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]
    told: Told

    def spread(self, kernel: int, event: int) -> Spread | None:
        """None where it is not known."""
        if not self.known[kernel, event]:
            return None
        return Spread(*self.counts[kernel, event].tolist())


class KeptEvents(msgspec.Struct, frozen=True):
    """The file. ``runs``: of which runs it is (``fingerprint``), and ``table``: by which one
    (``digest``); ``events``: their names. Row s is
    of the setting ``point[s]`` in the state ``state[s]``: ``known``, bool[S, K, E], ``counts``,
    int64[S, K, E, 3], ``interrupts``, int64[S, K], and ``told``, of [S, K, E], as ``Here`` has
    them."""

    runs: str
    table: str
    labels: Sequence[str]
    events: Sequence[str]
    point: NDArray[np.int64]
    state: NDArray[np.uint32]
    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]
    told: Told
    #: whether inlined copies of the events' functions are counted on all kernels
    copies: bool = True

    @staticmethod
    def of(session: Session) -> "KeptEvents | None":
        """Those of a session; None without a file that fits its runs, and where it is damaged."""
        if session.manifest.events is None:
            return None
        try:
            kept = session.loaded(KeptEvents.load, session.manifest.events)
        except SessionError:
            return None
        own = kept.table == digest() and fits(session, kept.runs, kept.labels)
        return replace(kept, copies=inlines.all_shown(session.compared)) if own else None

    def at(self, point: int, state: int = 0) -> Here | None:
        """At the setting with that point in a state; None where nothing is."""
        where = np.flatnonzero((self.point == point) & (self.state == state))
        if not len(where):
            return None
        row = int(where[0])
        told = Told(*(column[row] for column in self.told))
        return Here(self.known[row], self.counts[row], self.interrupts[row], told)

    def states(self, point: int) -> list[int]:
        """The varied states that the setting with that point was seen in."""
        return sorted({int(one) for one in self.state[self.point == point]} - {0})

    def event_counts(self, here: Here, label: str) -> dict[str, EventCount]:
        """What ``counts.event_counts`` has of a kernel."""
        kernel = self.labels.index(label)
        of_kernel = [column[kernel].tolist() for column in (here.known, here.counts, *here.told)]
        found = {}
        for name, known, own, *told in zip(self.events, *of_kernel, strict=True):
            if known and (event := by_name().get(name)):
                way, inlined, looked_up, beside, beside_known = told
                found[name] = EventCount(
                    way=event.ways[way],
                    own=Spread(*own),
                    beside=Spread(*beside) if beside_known else None,
                    inlined=inlined,
                    looked_up=looked_up,
                )
        return found

    def save(self, path: Path) -> None:
        """Write it whole or not at all. Raises OSError."""
        columns: column_file.Columns = {
            "format": np.array([FORMAT], np.uint32),
            "runs": column_file.of_texts([self.runs]),
            "table": column_file.of_texts([self.table]),
            "labels": column_file.of_texts(self.labels),
            "events": column_file.of_texts(self.events),
            "point": self.point,
            "state": self.state,
            "known": self.known.reshape(-1),
            "counts": self.counts.reshape(-1),
            "interrupts": self.interrupts.reshape(-1),
            **{name: one.reshape(-1) for name, one in self.told._asdict().items()},
        }
        column_file.write(path, columns)

    @staticmethod
    def load(path: Path) -> "KeptEvents":
        """Read what ``save`` wrote. Safe for a file from a stranger. Raises SessionError when it is
        missing, damaged or of another version."""
        return column_file.load(path, _decode, _DTYPES)


def keep(session: Session) -> None:
    """Count the events of every setting of a session that counts exactly, and write them into it if
    any are known; the caller has locked it. Raises SessionError, OSError."""
    collector = exact_collector(session)
    if collector is None or KeptEvents.of(session) is not None:
        return
    ran = {
        (run.point, run.state)
        for run in session.manifest.runs
        if run.collector == collector and run.failure is None
    }
    chosen = [
        (setting, state)
        for setting in settings(session.manifest)
        for state in sorted({state for point, state in ran if point == setting.point})
    ]
    labels = [one.label for one in session.compared]
    if not 0 < len(chosen) * len(labels) * len(events()) <= _MOST_COUNTS:
        return
    found = [_of_kernel(session, collector, label, chosen) for label in labels]
    known, counts, told = _columns([counts for counts, _ in found])
    if not known.any():
        return
    made = KeptEvents(
        runs=fingerprint(session),
        table=digest(),
        labels=labels,
        events=[one.name for one in events()],
        point=np.array([setting.point for setting, _ in chosen], np.int64),
        state=np.array([state for _, state in chosen], np.uint32),
        known=known,
        counts=counts,
        interrupts=np.array([interrupts for _, interrupts in found], np.int64).T,
        told=told,
    )
    session.write(_FILE, made.save)
    session.save(msgspec.structs.replace(session.manifest, events=_FILE))


def _of_kernel(
    session: Session, collector: str, label: str, chosen: Sequence[tuple[Setting, int]]
) -> tuple[list[Mapping[str, EventCount]], list[int]]:
    """What is known of a kernel in each chosen setting and state, and the most interrupts that came
    in a run. What is damaged costs its own events alone."""
    counts: list[Mapping[str, EventCount]] = []
    interrupts: list[int] = []
    begins: Beginnings | None = None
    for setting, state in chosen:
        known: Mapping[str, EventCount] = {}
        runs = paired(session, label, collector, setting, state)
        long = runs[1]
        with suppress(InputError, SessionError):
            if long and begins is None:
                begins = beginnings(session, long[0])
            if long and begins:
                addresses = addresses_of(session, runs)
                # A varied state is told by its first run.
                picked = 0 if state else median_run(addresses.counts[:, :, 0].sum(axis=0))
                known = event_counts(session, long[0], addresses, begins, picked)
        counts.append(known)
        came = [run.instructions.interrupts or 0 for run in long if run.instructions]
        interrupts.append(max(came, default=0))
    return counts, interrupts


def _columns(
    found: Sequence[Sequence[Mapping[str, EventCount]]],
) -> tuple[NDArray[np.bool_], NDArray[np.int64], Told]:
    """``known``, ``counts`` and ``told`` of what is known by kernel, and by setting and state."""
    shape = len(found[0]), len(found), len(events())
    known, counts = np.zeros(shape, np.bool_), np.zeros((*shape, 3), np.int64)
    told = Told(
        way=np.zeros(shape, np.uint8),
        inlined=np.zeros(shape, np.bool_),
        looked_up=np.zeros(shape, np.bool_),
        beside=np.zeros_like(counts),
        beside_known=np.zeros(shape, np.bool_),
    )
    for kernel, of_kernel in enumerate(found):
        for row, here in enumerate(of_kernel):
            for place, event in enumerate(events()):
                if one := here.get(event.name):
                    at = row, kernel, place
                    known[at], counts[at] = True, one.own
                    told.way[at] = event.ways.index(one.way)
                    told.inlined[at], told.looked_up[at] = one.inlined, one.looked_up
                    if one.beside is not None:
                        told.beside[at], told.beside_known[at] = one.beside, True
    return known, counts, told


def _decode(columns: column_file.Columns) -> KeptEvents:
    """Raises ValueError, LookupError where columns do not fit."""
    column_file.check_format(columns, FORMAT)
    labels, names = (column_file.texts(columns[name]) for name in ("labels", "events"))
    if len(set(labels)) != len(labels) or len(set(names)) != len(names):
        raise ValueError("a label or an event twice")
    point, state = columns["point"], columns["state"]
    if len(state) != len(point):
        raise ValueError("state has not as many rows as point")
    shape = len(point), len(labels), len(names)
    told = _decoded_told(columns, shape, names)
    return KeptEvents(
        runs=column_file.texts(columns["runs"])[0],
        table=column_file.texts(columns["table"])[0],
        labels=labels,
        events=names,
        point=point.astype(np.int64),
        state=state.astype(np.uint32),
        known=columns["known"].reshape(shape).astype(np.bool_),
        counts=columns["counts"].reshape(*shape, 3).astype(np.int64),
        interrupts=columns["interrupts"].reshape(shape[:2]).astype(np.int64),
        told=told,
    )


def _decoded_told(
    columns: column_file.Columns, shape: tuple[int, int, int], names: Sequence[str]
) -> Told:
    """Raises ValueError where columns do not fit."""
    way = columns["way"].reshape(shape).astype(np.uint8)
    most = way.max(axis=(0, 1), initial=0).tolist()
    for name, number in zip(names, most, strict=True):
        if (event := by_name().get(name)) and number >= len(event.ways):
            raise ValueError(f"{name} has no way {number}")
    inlined, looked_up, beside_known = (
        columns[name].reshape(shape).astype(np.bool_)
        for name in ("inlined", "looked_up", "beside_known")
    )
    beside = columns["beside"].reshape(*shape, 3).astype(np.int64)
    return Told(way, inlined, looked_up, beside, beside_known)
