"""How much each function executed itself at every setting of a session, kept in it: a report over
many cells then reads no recording."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.errors import SessionError
from profdiff.profile.function_identity import Function
from profdiff.profile.kept_seats import KeptSeats
from profdiff.profile.recordings import Recordings
from profdiff.profile.self_counts import SelfCounts, counted, exact_collector
from profdiff.session.points import Setting, settings
from profdiff.session.session import Session
from profdiff.symbolization import column_file

FORMAT = 1
_FILE = "symbols/functions.npz"
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "format": np.dtype(np.uint32),
    "runs": np.dtype(np.uint8),
    "strings": np.dtype(np.uint8),
    "labels": np.dtype(np.uint8),
    "name": np.dtype(np.uint32),
    "object": np.dtype(np.uint32),
    "declared": np.dtype(np.uint32),
    "reason": np.dtype(np.uint32),
    "in_kernel": np.dtype(np.bool_),
    "point": np.dtype(np.int64),
    "state": np.dtype(np.uint32),
    "there": np.dtype(np.bool_),
    "offsets": np.dtype(np.int64),
    "function": np.dtype(np.uint32),
    "counts": np.dtype(np.int64),
    "seat": np.dtype(np.int64),
    "seat_delta": np.dtype(np.int64),
}


class Progress(Protocol):
    """What is told of settings that take time."""

    def __call__(self, setting: Setting, /) -> None:
        """One is about to be summed."""


class FunctionCounts:
    """What each function executed itself, by setting. ``kept``: it is read from the session, and no
    recording is; otherwise ``at`` sums a setting when it is asked for."""

    def __init__(self, session: Session, kept: "KeptFunctions | None") -> None:
        self._session, self._kept = session, kept
        self._collector = exact_collector(session)

    @staticmethod
    def of(session: Session) -> "FunctionCounts":
        """The counts of a session. A file that is damaged or does not fit the runs is not used."""
        relative = session.manifest.functions
        if relative is None:
            return FunctionCounts(session, None)
        try:
            kept = KeptFunctions.load(session.path(relative))
        except SessionError:
            return FunctionCounts(session, None)
        own = fits(session, kept.runs, kept.labels)
        return FunctionCounts(session, kept if own else None)

    @property
    def kept(self) -> bool:
        """Whether no recording is read."""
        return self._kept is not None

    def at(self, setting: Setting, state: int = 0) -> SelfCounts | None:
        """At a setting in a state; None where nothing counts exactly. Raises what ``counted``
        does."""
        if self._kept is not None:
            return self._kept.at(setting.point, state)
        if self._collector is None:
            return None
        return counted(self._session, self._collector, setting, state)


class KeptFunctions(msgspec.Struct, frozen=True):
    """The file. ``runs``: of which runs it is (``fingerprint``). Setting ``point[s]`` in the state
    ``state[s]`` has the rows ``offsets[s]`` to ``offsets[s + 1]``: each a number of ``functions``,
    and int64[K] of ``counts``; ``there``: bool[S, K], which kernels have a result there. ``seat``
    and ``seat_delta``: int64[S, K, 2], as ``KeptSeats`` has them of all ``functions``."""

    runs: str
    labels: Sequence[str]
    functions: Sequence[Function]
    point: NDArray[np.int64]
    state: NDArray[np.uint32]
    there: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    function: NDArray[np.uint32]
    counts: NDArray[np.int64]
    seat: NDArray[np.int64]
    seat_delta: NDArray[np.int64]

    @staticmethod
    def of(
        runs: str, labels: Sequence[str], found: Mapping[tuple[int, int], SelfCounts]
    ) -> "KeptFunctions":
        """``found``: by point and state. ``labels``: of all kernels that can have a result."""
        numbers: dict[Function, int] = {}
        columns = {label: column for column, label in enumerate(labels)}
        there = np.zeros((len(found), len(labels)), np.bool_)
        rows: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        counts = [np.empty((0, len(labels)), np.int64)]
        seat = np.full((len(found), len(labels), 2), -1, np.int64)
        seat_delta = np.zeros(seat.shape, np.int64)
        for at, one in enumerate(found.values()):
            own = [columns[label] for label in one.labels]
            there[at, own] = True
            ids = [numbers.setdefault(function, len(numbers)) for function in one.functions]
            rows.append(np.array(ids, np.uint32))
            wide = np.zeros((len(ids), len(labels)), np.int64)
            wide[:, own] = one.counts
            counts.append(wide)
            if one.seats is not None:
                seated = one.seats.functions
                here = [numbers.setdefault(function, len(numbers)) for function in seated]
                seat[at, own] = np.array([*here, -1], np.int64)[one.seats.number]
                seat_delta[at, own] = one.seats.delta
        return KeptFunctions(
            runs=runs,
            labels=labels,
            functions=list(numbers),
            point=np.array([point for point, _ in found], np.int64),
            state=np.array([state for _, state in found], np.uint32),
            there=there,
            offsets=np.cumsum([0, *map(len, rows[1:])]).astype(np.int64),
            function=np.concatenate(rows),
            counts=np.concatenate(counts),
            seat=seat,
            seat_delta=seat_delta,
        )

    def at(self, point: int, state: int = 0) -> SelfCounts | None:
        """At the setting with that point in a state; None where there is none."""
        where = np.flatnonzero((self.point == point) & (self.state == state))
        if not len(where):
            return None
        at = int(where[0])
        rows = slice(int(self.offsets[at]), int(self.offsets[at + 1]))
        columns = np.flatnonzero(self.there[at])
        labels = [self.labels[column] for column in columns.tolist()]
        number, delta = self.seat[at, columns], self.seat_delta[at, columns]
        return SelfCounts(
            [self.functions[number] for number in self.function[rows].tolist()],
            labels,
            self.counts[rows][:, columns],
            KeptSeats(labels, self.functions, number, delta),
        )

    def save(self, path: Path) -> None:
        """Write it whole or not at all. Raises OSError."""
        strings: dict[str, int] = {"": 0}

        def column(values: Iterable[str]) -> NDArray[np.uint32]:
            return np.array(
                [strings.setdefault(text, len(strings)) for text in values], np.uint32
            ).reshape(-1)

        columns: dict[str, NDArray[np.generic]] = {
            "format": np.array([FORMAT], np.uint32),
            "runs": column_file.of_texts([self.runs]),
            "labels": column_file.of_texts(self.labels),
            "name": column(one.name for one in self.functions),
            "object": column(one.object for one in self.functions),
            "declared": column(one.file for one in self.functions),
            "reason": column(one.reason for one in self.functions),
            "in_kernel": np.array([one.in_kernel for one in self.functions], np.bool_),
            "point": self.point,
            "state": self.state,
            "there": self.there.reshape(-1),
            "offsets": self.offsets,
            "function": self.function,
            "counts": self.counts.reshape(-1),
            "seat": self.seat.reshape(-1),
            "seat_delta": self.seat_delta.reshape(-1),
        }
        columns["strings"] = column_file.of_texts(list(strings))
        column_file.write(path, columns)

    @staticmethod
    def load(path: Path) -> "KeptFunctions":
        """Read what ``save`` wrote. Safe for a file from a stranger. Raises SessionError when it is
        missing, damaged or of another version."""
        return column_file.load(path, _decode, _DTYPES)


def keep(session: Session) -> None:
    """Sum the functions of every setting of a session that counts exactly, and write them into it;
    the caller has locked it. Raises what ``counted`` does, and OSError."""
    collector = exact_collector(session)
    runs = fingerprint(session)
    if collector is None or not any(
        run.collector == collector and run.failure is None for run in session.manifest.runs
    ):
        return
    before = FunctionCounts.of(session)
    if before.kept:
        return
    labels = [kernel.label for kernel in session.compared]
    found = {
        (one.point, 0): replace(
            counted(session, collector, one), seats=_seats(session, collector, one)
        )
        for one in settings(session.manifest)
    }
    ran = {(run.point, run.state) for run in session.manifest.runs if run.state}
    found |= {
        (one.point, state): counted(session, collector, one, state)
        for one in settings(session.manifest)
        for state in sorted(state for point, state in ran if point == one.point)
    }
    made = KeptFunctions.of(runs, labels, found)
    if made.counts.nbytes >= column_file.MAX_BYTES // 2:
        return  # Reports sum it as they need it.
    session.write(_FILE, made.save)
    session.save(msgspec.structs.replace(session.manifest, functions=_FILE))


def _seats(session: Session, collector: str, setting: Setting) -> KeptSeats | None:
    """Those of an exact collector's first metric; None where the base has no result there, or
    callers are not known."""
    try:
        comparisons = Recordings(session, setting).of_collector(collector)
    except SessionError:
        return None
    return KeptSeats.of(comparisons[0]) if comparisons else None


def fits(session: Session, runs: str, labels: Sequence[str]) -> bool:
    """Whether what was kept of ``runs`` (``fingerprint``) and kernels is of a session as it is."""
    known = {one.label for one in session.compared}
    return runs == fingerprint(session) and set(labels) <= known


def fingerprint(session: Session) -> str:
    """Identifies the runs whose functions are summed and the chains that name them: others have
    another one."""
    manifest = session.manifest
    collector = exact_collector(session)
    runs = [
        (run.id, run.kernel, run.point, run.started, run.measured)
        for run in manifest.runs
        if run.collector == collector and run.failure is None
    ]
    kernels = [(one.label, one.build_id, _size(session, one.symbols)) for one in manifest.kernels]
    points = [(one.parameters, one.cpus, one.ops, one.shorter) for one in manifest.points]
    folds = [sorted(session.folds)] if session.folds else []
    return hashlib.sha256(msgspec.json.encode([runs, kernels, points, *folds])).hexdigest()


def _size(session: Session, relative: str | None) -> int:
    try:
        return session.place(relative).stat().st_size if relative else 0
    except (OSError, SessionError):
        return 0


def _decode(columns: column_file.Columns) -> KeptFunctions:
    """Raises ValueError, LookupError where columns do not fit."""
    column_file.check_format(columns, FORMAT)
    strings = column_file.texts(columns["strings"])
    labels = column_file.texts(columns["labels"])
    if len(set(labels)) != len(labels):
        raise ValueError("a label twice")
    texts = zip(*(columns[name].tolist() for name in ("name", "object", "declared")), strict=True)
    functions = [
        Function(strings[name], strings[owner], strings[file], bool(kernel), strings[reason])
        for (name, owner, file), kernel, reason in zip(
            texts, columns["in_kernel"].tolist(), columns["reason"].tolist(), strict=True
        )
    ]
    offsets, function = columns["offsets"], columns["function"]
    point, state = columns["point"], columns["state"]
    if len(state) != len(point):
        raise ValueError("state has not as many rows as point")
    if len(offsets) != len(point) + 1 or offsets[0] != 0 or offsets[-1] != len(function):
        raise ValueError("offsets does not span function")
    if any(end < start for start, end in pairwise(offsets.tolist())):
        raise ValueError("offsets descends")
    if len(function) and int(function.max()) >= len(functions):
        raise ValueError(f"function points past the {len(functions)} rows that there are")
    seat, seat_delta = _decoded_seats(columns, len(point), len(labels), len(functions))
    return KeptFunctions(
        runs=column_file.texts(columns["runs"])[0],
        labels=labels,
        functions=functions,
        point=point.astype(np.int64),
        state=state.astype(np.uint32),
        there=columns["there"].reshape(len(point), len(labels)).astype(np.bool_),
        offsets=offsets.astype(np.int64),
        function=function.astype(np.uint32),
        counts=columns["counts"].reshape(len(function), len(labels)).astype(np.int64),
        seat=seat,
        seat_delta=seat_delta,
    )


def _decoded_seats(
    columns: column_file.Columns, settings: int, labels: int, functions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Raises ValueError where columns do not fit."""
    seat, delta = (
        columns[name].reshape(settings, labels, 2).astype(np.int64)
        for name in ("seat", "seat_delta")
    )
    if seat.size and not -1 <= int(seat.min()) <= int(seat.max()) < functions:
        raise ValueError(f"seat points past the {functions} functions that there are")
    return seat, delta
