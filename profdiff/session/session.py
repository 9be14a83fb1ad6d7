"""The session folder: a manifest beside the raw files of every run. See ``docs/session.md``."""

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec
from msgspec.structs import replace

from profdiff import __version__
from profdiff.base import bounded, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import CONVERT, ProfdiffError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.records import DAMAGED, Text
from profdiff.session import checksums as sums
from profdiff.session.held import (
    MANIFEST,
    TITLES,
    Held,
    inside,
    no_session,
    refuse_occupied,
    refuse_several,
)
from profdiff.session.inlines import folded
from profdiff.session.manifest import SCHEMA, Kernel, Manifest, Point, Run

# The largest manifest, and the largest file of a run except recordings and counts.
_MAX_FILE = 256 * 2**20
# So many files stay loaded: symbols and code of two kernels, functions and events.
_LOADED = 6
Made = TypeVar("Made")


class Recording(ABC):
    """What ``opened.open`` returns. ``held``: which kind it is."""

    held: ClassVar[Held]
    folder: Path

    @property
    def title(self) -> str:
        """``a session``, ``a suite``."""
        return TITLES[self.held]

    @property
    def stem(self) -> str:
        """What files made of it are called."""
        return self.folder.resolve().name.removesuffix(".profdiff")

    @abstractmethod
    def sessions(self) -> "Mapping[str, Session]":
        """Those that have been begun, in order, by name: "" for one that is not a part. Raises
        SessionError."""


class Session(Recording):
    """A session folder. ``manifest`` is what its file says; ``save`` replaces both. ``unfolded``:
    its kernels are shown one by one, inlined functions where they are known."""

    held = "session"

    def __init__(self, folder: Path, manifest: Manifest, *, unfolded: bool = False) -> None:
        self.folder = folder
        self.manifest = manifest
        # By path: a clause of what is wrong with files that were looked at, "" for nothing.
        self._looked: dict[str, str] = {}
        # Files of the runs that are left out.
        self._left_out: set[str] = set()
        # Files that are named without a checksum, which saving does not give them.
        self._unclaimed: set[str] = set()
        self._unfolded = unfolded
        self._loaded = lru_cache(_LOADED)(lambda load, relative: load(self.path(relative)))

    @staticmethod
    def open(folder: Path, *, lengths: bool = False) -> "Session":
        """Read a session, without the results of runs whose recording is damaged; where only
        ``lengths`` are looked at, what tells more of a file is told to who reads it. Raises
        SessionError when it is none, damaged, hostile or of another schema, InputError for a folder
        with several sessions, which names them."""
        session = Session._read(folder)
        session.leave_out(lengths=lengths)
        return session

    @staticmethod
    def _read(folder: Path) -> "Session":
        path = inside(folder, MANIFEST)
        try:
            data = bounded.read_json(path, _MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            refuse_several(folder)
            raise SessionError(no_session(folder)) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        session = Session(folder, _decode(path, data))
        named = sums.referenced(session.manifest)
        session._unclaimed = named - session.manifest.checksums.keys()
        return session

    def leave_out(self, *, lengths: bool = False) -> None:
        """Look at the files of all runs that have a result, together, and at what sums them up."""
        before, known = self.manifest, self.manifest.checksums
        whole = {before.functions, before.events}
        files = {name: known[name] for name in sums.of_results(before) | whole if name in known}
        if lengths:
            whole |= sums.other_lengths(self.folder, files).keys()
            files = {name: file for name, file in files.items() if name in whole}
        damaged = sums.damage(self.folder, files)
        self._looked |= dict.fromkeys(files, "") | damaged
        self.manifest = sums.without(before, damaged)
        for run, now in zip(before.runs, self.manifest.runs, strict=True):
            if now.failure != run.failure:
                self._left_out.update(run.files.values())

    @staticmethod
    def create(folder: Path, manifest: Manifest) -> "Session":
        """Make a new session. Raises InputError when the folder holds something else, OSError."""
        refuse_occupied(folder)
        folder.mkdir(parents=True, exist_ok=True)
        session = Session(folder, manifest)
        session.save(manifest)
        return session

    @property
    def command(self) -> Sequence[str]:
        """The command line that recorded it."""
        return self.manifest.command

    def sessions(self) -> "dict[str, Session]":
        """The one that it is."""
        return {"": self}

    def save(self, manifest: Manifest) -> None:
        """Write ``manifest`` with the checksums of files that it did not name before, whole or not
        at all. Raises OSError."""
        named = sums.referenced(manifest)
        known = {name: checksum for name, checksum in manifest.checksums.items() if name in named}
        new = sums.checksums(self.folder, named - known.keys() - self._unclaimed)
        self._looked |= dict.fromkeys(new, "")
        manifest = replace(manifest, checksums=known | new, checksum=None)
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
        write_atomic(self.folder / MANIFEST, sums.signed(data))
        self.manifest = manifest
        self._loaded.cache_clear()

    def place(self, relative: str) -> Path:
        """The path of a file or folder of the session, which need not exist, nor be whole. Raises
        SessionError when a symbolic link leads out of the folder (the manifest's own rules exclude
        ``..``), and for what would block its reader: a FIFO, a device."""
        return inside(self.folder, relative)

    def path(self, relative: str) -> Path:
        """The path of a file that is going to be read. Raises SessionError as ``place``, and for a
        file that is not as it was written; one that is gone is for its reader to miss."""
        path = self.place(relative)
        if relative not in self._looked:
            known = self.manifest.checksums.get(relative)
            there = known is not None and os.path.lexists(path)
            wrong = sums.damage(self.folder, {relative: known}) if known and there else {}
            self._looked[relative] = wrong.get(relative, "")
        if why := self._looked.get(relative):
            raise SessionError(f"{path} {why}")
        return path

    def whole(self, relative: str) -> Path | None:
        """The path of a file that is there and as it was written, where there is another way to
        learn what is in it; ``not_used`` tells of a damaged one. Raises SessionError as ``place``.
        """
        place = self.place(relative)
        try:
            return self.path(relative) if place.is_file() else None
        except SessionError:
            return None

    def write(self, relative: str, save: Callable[[Path], None]) -> None:
        """``save`` a file of the session, which is whole or as it was; saving the manifest that
        names it gives it its checksum. Raises what ``save`` does, SessionError, OSError."""
        path = self.place(relative)
        self.disclaim([relative])
        path.parent.mkdir(exist_ok=True)
        save(path)
        self._unclaimed.discard(relative)
        self._looked.pop(relative, None)

    def disclaim(self, files: Iterable[str]) -> None:
        """Say nothing more of files that are about to be written anew: who is killed between one of
        them and the manifest leaves no damage. Raises OSError."""
        old = self.manifest.checksums.keys() & set(files)
        if old:
            self._unclaimed |= old
            left = {
                name: checksum
                for name, checksum in self.manifest.checksums.items()
                if name not in old
            }
            self.save(replace(self.manifest, checksums=left))

    @property
    def left_out(self) -> dict[str, str]:
        """By its id, which file of a run is damaged that therefore counts as failed, and how."""
        return {
            run.id: run.failure.message
            for run in self.manifest.runs
            if run.failure is not None and run.failure.kind == DAMAGED
        }

    @property
    def not_used(self) -> dict[str, str]:
        """Other files that were asked for so far and are damaged, with a clause of how."""
        bad = {name: why for name, why in self._looked.items() if why}
        return {name: why for name, why in bad.items() if name not in self._left_out}

    @property
    def damaged(self) -> list[str]:
        """A clause for each run that is left out, and each other damaged file."""
        runs = [f"run {name} is left out: {why}" for name, why in self.left_out.items()]
        return [*runs, *(f"{name} {why} (not used)" for name, why in self.not_used.items())]

    def loaded(self, load: Callable[[Path], Made], relative: str) -> Made:
        """What ``load`` makes of a file that belongs to the manifest as it is: many settings ask
        for the same few files. Raises what ``path`` and ``load`` do."""
        made: Made = self._loaded(load, relative)
        return made

    def read(self, run: Run, what: str) -> bytes | None:
        """The content of a run's file (``stdout``, ``kallsyms`` …), uncompressed; None if the run
        has none. Raises SessionError when it cannot be read."""
        relative = run.files.get(what)
        if relative is None:
            return None
        path = self.path(relative)
        try:
            data = bounded.read(path, _MAX_FILE)
            return bounded.gunzip(data, _MAX_FILE) if path.suffix == ".gz" else data
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise SessionError(f"cannot read {path}: {error}") from error

    def head(self, run: Run, what: str, limit: int) -> bytes | None:
        """The first ``limit`` bytes of a run's file that is not compressed; None if the run has
        none, or it cannot be read."""
        if what not in run.files:
            return None
        try:
            return bounded.head(self.path(run.files[what]), limit)
        except (OSError, SessionError):
            return None

    def finished(self, label: str, collector: str, state: int = 0) -> list[Run]:
        """The runs of a kernel by one collector in one state that gave a result, in order."""
        return [
            run
            for run in self.manifest.runs
            if (run.kernel, run.collector, run.state) == (label, collector, state)
            and run.failure is None
        ]

    @property
    def compared(self) -> list[Kernel]:
        """The kernels that there are, but the base's twin."""
        return self.manifest.compared

    @property
    def profiling(self) -> list[str]:
        """The session's collectors that tell functions apart."""
        return [name for name in self.manifest.collectors if registry.collector(name).profiles]

    @property
    def folds(self) -> frozenset[str]:
        """The objects whose inlined functions are not shown, since one of the kernels that are
        compared lacks them; none of a session that is ``unfolded``."""
        return frozenset() if self._unfolded else frozenset(folded(self.compared))

    def kernel(self, label: str) -> Kernel:
        """The kernel with that label. Raises KeyError."""
        return next(kernel for kernel in self.manifest.kernels if kernel.label == label)

    def run_folder(self, run_id: str) -> Path:
        """An empty folder for a run that is about to start; a run that never ended left one behind,
        which goes."""
        folder = self.place(f"runs/{run_id}")
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder


def _decode(path: Path, data: bytes) -> Manifest:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            raise SessionError(_unknown(path, data, schema))
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"{path} is damaged or not a manifest: {error}") from error
    if not sums.is_whole(data, manifest.checksum):
        raise SessionError(f"{path} is damaged: its content is not what was written")
    manifest = replace(manifest, checksum=None)
    labels = [kernel.label for kernel in manifest.kernels]
    if len(set(labels)) != len(labels):
        raise SessionError(f"{path} names a kernel twice")
    ids = [run.id for run in manifest.runs]
    if len(set(ids)) != len(ids) or not {run.kernel for run in manifest.runs} <= set(labels):
        raise SessionError(f"{path} has runs that do not fit its kernels")
    if manifest.kernels[0].hole:
        raise SessionError(f"{path}: the base was not built")
    holes = {kernel.label for kernel in manifest.kernels if kernel.hole}
    if ran := [run.kernel for run in manifest.runs if run.kernel in holes]:
        raise SessionError(f"{path} has runs of {ran[0]}, which was not built")
    if not all(_has_shorter(manifest, point) for point in manifest.points):
        raise SessionError(f"{path} has points whose lengths do not fit")
    for name in {*manifest.collectors, *(run.collector for run in manifest.runs)}:
        try:
            registry.collector(name)
        except ProfdiffError as error:
            raise SessionError(f"{path}: {error}") from error
    return manifest


def _unknown(path: Path, data: bytes, schema: str) -> str:
    """Why a manifest of this schema cannot be read. Raises msgspec.DecodeError."""
    known, _, today = SCHEMA.rpartition("/")
    name, _, number = schema.rpartition("/")
    if name != known or not (number.isascii() and number.isdecimal()):
        return f"{path} is not the manifest of a profdiff session (schema {schema!r})"
    by = msgspec.json.decode(data, type=_Schema).profdiff
    recorder = f"profdiff {by}" if by else "another profdiff"
    what = (
        "use a newer one"
        if len(number) > len(today) or number > today
        else f"record again, or {CONVERT}"
    )
    return units.printable(
        f"{path} has schema {schema}, recorded by {recorder}; this one, {__version__}, reads "
        f"{SCHEMA}: {what}"
    )


def _has_shorter(manifest: Manifest, point: Point) -> bool:
    """Whether what is subtracted from a point, if anything is, is there and has fewer ops."""
    if point.shorter is None:
        return True
    if point.shorter >= len(manifest.points):
        return False
    return (manifest.points[point.shorter].ops or 0) < (point.ops or 0)


class _Schema(msgspec.Struct):
    schema: str
    profdiff: Text = ""
