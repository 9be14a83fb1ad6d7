"""How much each function executed itself in every cell of a session, kept in it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.cell import Cell, exact_collector
from profdiff.profile.function_identity import Function, match
from profdiff.profile.kept_cells import KeptCells, Sums, fingerprint
from profdiff.profile.runs import median_run
from profdiff.profile.seat import KeptSeats
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.symbolization import column_file


class SelfCounts(msgspec.Struct, frozen=True):
    """``counts``: int64[F, K] of F functions, also those that stand for unresolved addresses, and
    the K kernels of ``labels``, which have a result. ``seats``: where they are known."""

    functions: Sequence[Function]
    labels: Sequence[str]
    counts: NDArray[np.int64]
    seats: KeptSeats | None = None


def counted(cell: Cell) -> SelfCounts:
    """What ``Comparison.self_`` and ``Comparison.unresolved`` have of a collector's first metric;
    only functions that executed something themselves. Raises SessionError, and InputError for a
    damaged debug ELF."""
    found = {
        label: _of_kernel(cell.addresses(label)) for label, (_, long) in cell.runs.items() if long
    }
    matched = match([functions for functions, _ in found.values()])
    counts = np.zeros((len(matched.functions), len(found)), np.int64)
    for column, ((_, own), rows) in enumerate(zip(found.values(), matched.numbers, strict=True)):
        np.add.at(counts[:, column], np.asarray(rows, np.int64), own)
    some = np.flatnonzero(counts.any(axis=1))
    functions = [matched.functions[row] for row in some.tolist()]
    return SelfCounts(functions, list(found), counts[some])


def _of_kernel(addresses: Addresses) -> tuple[list[Function], NDArray[np.int64]]:
    """The functions, and int64[F] of the run with the (lower) median total, as a comparison
    chooses it."""
    counts = addresses.counts[:, :, 0]
    picked = counts[:, median_run(counts.sum(axis=0))]
    functions = addresses.functions
    leaf = functions.frames[functions.offsets[1:].astype(np.int64) - 1].astype(np.int64)
    result = np.zeros(len(functions.functions), np.int64)
    np.add.at(result, leaf, picked)
    # What only called others, or cancelled out, is not a row.
    some = np.flatnonzero(result)
    return [functions.functions[row] for row in some.tolist()], result[some]


class FunctionCounts:
    """What each function executed itself, by setting. ``kept``: it is read from the session, and no
    recording is; otherwise ``at`` sums a setting when it is asked for."""

    def __init__(self, session: Session, kept: "KeptFunctions | None") -> None:
        self._session, self._kept = session, kept
        self._collector = exact_collector(session)

    @staticmethod
    def of(session: Session) -> "FunctionCounts":
        """The counts of a session. A file that is damaged or does not fit the runs is not used."""
        return FunctionCounts(session, KeptFunctions.of(session))

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
        return counted(Cell(self._session, self._collector, setting, state))


class KeptFunctions(KeptCells, frozen=True, dict=True):
    """``name``, ``object``, ``declared`` and ``reason``, rows of ``strings``, and ``in_kernel`` are
    of the ``functions``. Cell s has the rows ``offsets[s]`` to ``offsets[s + 1]``: each a number of
    ``functions``, and int64[K] of ``counts``; ``there``: bool[S, K], which kernels have a result
    there. ``seat`` and ``seat_delta``: int64[S, K, 2], as ``KeptSeats`` has them of all
    ``functions``."""

    NAME: ClassVar[str] = "functions"
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        **KeptCells.SHAPES,
        **dict.fromkeys(("object", "declared", "reason", "in_kernel"), ("name",)),
        "there": ("point", "labels"),
        "counts": ("function", "labels"),
        "seat": ("point", "labels", 2),
        "seat_delta": ("point", "labels", 2),
    }
    ROWS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("name", "object", "declared", "reason"), "strings"),
        "function": "name",
    }

    strings: list[str]
    name: NDArray[np.uint32]
    object: NDArray[np.uint32]
    declared: NDArray[np.uint32]
    reason: NDArray[np.uint32]
    in_kernel: NDArray[np.bool_]
    there: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    function: NDArray[np.uint32]
    counts: NDArray[np.int64]
    seat: NDArray[np.int64]
    seat_delta: NDArray[np.int64]

    @staticmethod
    def of_cells(
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
        strings: dict[str, int] = {"": 0}

        def column(texts: Iterable[str]) -> NDArray[np.uint32]:
            return np.array([strings.setdefault(text, len(strings)) for text in texts], np.uint32)

        return KeptFunctions(
            runs=runs,
            labels=list(labels),
            name=column(number.name for number in numbers),
            object=column(number.object for number in numbers),
            declared=column(number.file for number in numbers),
            reason=column(number.reason for number in numbers),
            in_kernel=np.array([number.in_kernel for number in numbers], np.bool_),
            strings=list(strings),
            point=np.array([point for point, _ in found], np.int64),
            state=np.array([state for _, state in found], np.uint32),
            there=there,
            offsets=np.cumsum([0, *map(len, rows[1:])]).astype(np.int64),
            function=np.concatenate(rows),
            counts=np.concatenate(counts),
            seat=seat,
            seat_delta=seat_delta,
        )

    @cached_property
    def functions(self) -> list[Function]:
        """Those of all cells."""
        texts = (
            [self.strings[row] for row in rows.tolist()]
            for rows in (self.name, self.object, self.declared, self.reason)
        )
        each = zip(*texts, self.in_kernel.tolist(), strict=True)
        return [
            Function(name, owner, file, kernel, reason)
            for name, owner, file, reason, kernel in each
        ]

    def at(self, point: int, state: int = 0) -> SelfCounts | None:
        """At the setting with that point in a state; None where there is none."""
        at = self.row(point, state)
        if at is None:
            return None
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

    def check(self) -> None:
        super().check()
        offsets = self.offsets.tolist()
        if len(offsets) != len(self.point) + 1 or (offsets[0], offsets[-1]) != (
            0,
            len(self.function),
        ):
            raise ValueError("offsets does not span function")
        if any(end < start for start, end in pairwise(offsets)):
            raise ValueError("offsets descends")
        if self.seat.size and not -1 <= int(self.seat.min()) <= int(self.seat.max()) < len(
            self.name
        ):
            raise ValueError(f"seat points past the {len(self.name)} functions that there are")


class FunctionSums(Sums):
    """What each function executed itself, summed cell by cell."""

    kept = KeptFunctions

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found: dict[tuple[int, int], SelfCounts] = {}

    def add(self, cell: Cell) -> None:
        """With the seats of the changes in the plain state."""
        comparison = None if cell.state else cell.comparison
        found = counted(cell)
        if comparison is not None:
            found = replace(found, seats=KeptSeats.of(comparison))
        self._found[cell.setting.point, cell.state] = found

    def sum(self) -> KeptFunctions | None:
        """None for too many: reports sum them as they need them."""
        if not self._found:
            return None
        labels = [kernel.label for kernel in self.session.compared]
        made = KeptFunctions.of_cells(fingerprint(self.session), labels, self._found)
        return made if made.counts.nbytes < column_file.MAX_BYTES // 2 else None
