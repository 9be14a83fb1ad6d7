"""How often events of the workload happened at every setting of a session, kept in it: a report
over many cells then reads no recording."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.events.counts import (
    Beginnings,
    Spread,
    addresses_of,
    beginnings,
    event_counts,
)
from profdiff.profile.events.table import digest, events
from profdiff.profile.kept_functions import fingerprint, fits
from profdiff.profile.runs import median_run, paired
from profdiff.profile.self_counts import exact_collector
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
}
# Settings and states by kernels and events: far more than a session of 10,000 runs has.
_MOST_COUNTS = 1 << 24


class Here(NamedTuple):
    """What is kept of K kernels and E events at one setting in one state: ``known``, bool[K, E];
    ``counts``, int64[K, E, 3], as a ``Spread`` has them; ``interrupts``, int64[K], the most that
    came in a run."""

    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]

    def spread(self, kernel: int, event: int) -> Spread | None:
        """None where it is not known."""
        if not self.known[kernel, event]:
            return None
        return Spread(*self.counts[kernel, event].tolist())


class KeptEvents(msgspec.Struct, frozen=True):
    """The file. ``runs``: of which runs it is (``fingerprint``), and ``table``: by which one
    (``digest``); ``events``: their names. Row s is
    of the setting ``point[s]`` in the state ``state[s]``: ``known``, bool[S, K, E], ``counts``,
    int64[S, K, E, 3], and ``interrupts``, int64[S, K], as ``Here`` has them."""

    runs: str
    table: str
    labels: Sequence[str]
    events: Sequence[str]
    point: NDArray[np.int64]
    state: NDArray[np.uint32]
    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]

    @staticmethod
    def of(session: Session) -> "KeptEvents | None":
        """Those of a session; None without a file that fits its runs, and where it is damaged."""
        if session.manifest.events is None:
            return None
        try:
            kept = KeptEvents.load(session.path(session.manifest.events))
        except SessionError:
            return None
        own = kept.table == digest() and fits(session, kept.runs, kept.labels)
        return kept if own else None

    def at(self, point: int, state: int = 0) -> Here | None:
        """At the setting with that point in a state; None where nothing is."""
        where = np.flatnonzero((self.point == point) & (self.state == state))
        if not len(where):
            return None
        row = int(where[0])
        return Here(self.known[row], self.counts[row], self.interrupts[row])

    def states(self, point: int) -> list[int]:
        """The varied states that the setting with that point was seen in."""
        return sorted({int(one) for one in self.state[self.point == point]} - {0})

    def save(self, path: Path) -> None:
        """Write it whole or not at all. Raises OSError."""
        columns: Mapping[str, NDArray[np.generic]] = {
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
        }
        column_file.write(path, columns)

    @staticmethod
    def load(path: Path) -> "KeptEvents":
        """Read what ``save`` wrote. Safe for a file from a stranger. Raises SessionError when it is
        missing, damaged or of another version."""
        return column_file.load(path, _decode, _DTYPES, set())


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
    labels, names = [one.label for one in session.compared], [one.name for one in events()]
    if not 0 < len(chosen) * len(labels) * len(names) <= _MOST_COUNTS:
        return
    found = [_of_kernel(session, collector, label, chosen, names) for label in labels]
    known, counts, interrupts = (np.stack(one, axis=1) for one in zip(*found, strict=True))
    if not known.any():
        return
    path = session.path(_FILE)
    path.parent.mkdir(exist_ok=True)
    KeptEvents(
        runs=fingerprint(session),
        table=digest(),
        labels=labels,
        events=names,
        point=np.array([setting.point for setting, _ in chosen], np.int64),
        state=np.array([state for _, state in chosen], np.uint32),
        known=known,
        counts=counts,
        interrupts=interrupts,
    ).save(path)
    session.save(msgspec.structs.replace(session.manifest, events=_FILE))


def _of_kernel(
    session: Session,
    collector: str,
    label: str,
    chosen: Sequence[tuple[Setting, int]],
    names: Sequence[str],
) -> Here:
    """What is known of a kernel in each of S chosen settings and states, S instead of K. What is
    damaged costs its own events alone."""
    known = np.zeros((len(chosen), len(names)), np.bool_)
    counts = np.zeros((*known.shape, 3), np.int64)
    interrupts = np.zeros(len(chosen), np.int64)
    begins: Beginnings | None = None
    for row, (setting, state) in enumerate(chosen):
        runs = paired(session, label, collector, setting, state)
        if not (long := runs[1]):
            continue
        came = [run.instructions.interrupts or 0 for run in long if run.instructions]
        interrupts[row] = max(came, default=0)
        with suppress(InputError, SessionError):
            begins = beginnings(session, long[0]) if begins is None else begins
            if not begins:
                continue
            addresses = addresses_of(session, runs)
            # A varied state is told by its first run.
            picked = 0 if state else median_run(addresses.counts[:, :, 0].sum(axis=0))
            found = event_counts(session, long[0], addresses, begins)
            for place, name in enumerate(names):
                if name in found:
                    known[row, place] = True
                    counts[row, place] = np.array(Spread.of(found[name].own, picked))
    return Here(known, counts, interrupts)


def _decode(columns: column_file.Columns) -> KeptEvents:
    """Raises ValueError, LookupError where columns do not fit."""
    if columns["format"].tolist() != [FORMAT]:
        raise ValueError(f"format {columns['format'].tolist()[:1]} instead of {FORMAT}")
    labels, names = (column_file.texts(columns[name]) for name in ("labels", "events"))
    if len(set(labels)) != len(labels) or len(set(names)) != len(names):
        raise ValueError("a label or an event twice")
    point, state = columns["point"], columns["state"]
    if len(state) != len(point):
        raise ValueError("state has not as many rows as point")
    shape = len(point), len(labels), len(names)
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
    )
