"""What a session keeps of the cells of its exact runs, as a file that the manifest names: a report
over many cells then reads no recording."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import SessionError
from profdiff.profile.cell import Cell, cells, exact_collector
from profdiff.profile.runs import held
from profdiff.session.held import symbols_file
from profdiff.session.session import Session
from profdiff.symbolization import column_file


class KeptCells(column_file.Record, frozen=True):
    """``runs``: of which runs it is (``fingerprint``); ``labels``: of all kernels that can have a
    result. Row s is of the setting ``point[s]`` in the state ``state[s]``. ``NAME``: of the
    manifest's field, and of the file."""

    NAME: ClassVar[str]
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {"state": ("point",)}

    runs: str
    labels: list[str]
    point: NDArray[np.int64]
    state: NDArray[np.uint32]

    @classmethod
    def of(cls, session: Session) -> Self | None:
        """Those of a session; None without a file that fits its runs, and where it is damaged."""
        relative = getattr(session.manifest, cls.NAME)
        try:
            kept = session.loaded(cls.load, relative) if relative else None
        except SessionError:
            return None
        return kept if kept is not None and kept.fits(session) else None

    def fits(self, session: Session) -> bool:
        """Whether it is of a session as it is."""
        known = {one.label for one in session.compared}
        return self.runs == fingerprint(session) and set(self.labels) <= known

    def check(self) -> None:
        super().check()
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("a label twice")

    def row(self, point: int, state: int) -> int | None:
        """That of the setting with a point in a state; None where there is none."""
        found = np.flatnonzero((self.point == point) & (self.state == state))
        return int(found[0]) if len(found) else None

    def states(self, point: int) -> list[int]:
        """The varied states that the setting with a point was seen in."""
        return sorted({int(one) for one in self.state[self.point == point]} - {0})

    def write(self, session: Session) -> None:
        """Keep it in the session, which the caller has locked. Raises OSError."""
        file = symbols_file("", self.NAME)
        session.write(file, self.save)
        session.save(msgspec.structs.replace(session.manifest, **{self.NAME: file}))


class Sums(ABC):
    """What is going to be kept of the cells of a session. ``kept``: what it makes."""

    kept: ClassVar[type[KeptCells]]

    def __init__(self, session: Session) -> None:
        self.session = session

    @abstractmethod
    def add(self, cell: Cell) -> None:
        """Sum one more. Raises InputError, SessionError."""

    @abstractmethod
    def sum(self) -> KeptCells | None:
        """All of them; None where there is nothing to keep, or too much."""


def keep(session: Session, kinds: Sequence[type[Sums]]) -> None:
    """Sum all cells of a session at once, and write what it lacks into it; the caller has locked
    it. Raises InputError for a damaged debug ELF, SessionError, OSError."""
    lacking = [kind(session) for kind in kinds if kind.kept.of(session) is None]
    with held(session):
        for cell in cells(session) if lacking else ():
            for one in lacking:
                one.add(cell)
    for one in lacking:
        if kept := one.sum():
            kept.write(session)


def fingerprint(session: Session) -> str:
    """Identifies the runs that are summed and the chains that name their functions: others have
    another one."""
    manifest = session.manifest
    collector = exact_collector(session)
    runs = [
        (run.id, run.kernel, run.point, run.started, run.measured)
        for run in manifest.runs
        if run.collector == collector and run.failure is None
    ]
    kernels = [
        (kernel.label, kernel.build_id, _size(session, kernel.symbols))
        for kernel in manifest.kernels
    ]
    points = [(point.parameters, point.cpus, point.ops, point.shorter) for point in manifest.points]
    folds = [sorted(session.folds)] if session.folds else []
    return hashlib.sha256(msgspec.json.encode([runs, kernels, points, *folds])).hexdigest()


def _size(session: Session, relative: str | None) -> int:
    try:
        return session.place(relative).stat().st_size if relative else 0
    except (OSError, SessionError):
        return 0
