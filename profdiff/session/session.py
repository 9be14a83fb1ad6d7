"""The session folder: a manifest beside the raw files of every run. See ``docs/session.md``."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec

from profdiff import __version__
from profdiff.base import bounded, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import ProfdiffError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.records import Text
from profdiff.session.held import MANIFEST, TITLES, Held, inside, refuse_occupied, refuse_several
from profdiff.session.inlines import folded
from profdiff.session.manifest import SCHEMA, Kernel, Manifest, Point, Run
from profdiff.session.schemas import first, second

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
        self._unfolded = unfolded
        self._loaded = lru_cache(_LOADED)(lambda load, relative: load(self.path(relative)))

    @staticmethod
    def open(folder: Path) -> "Session":
        """Read a session. Raises SessionError when it is none, damaged, hostile or of a newer
        schema, InputError for a folder with several sessions, which names them."""
        path = inside(folder, MANIFEST)
        try:
            data = bounded.read_json(path, _MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            refuse_several(folder)
            raise SessionError(
                f"{folder} is not a session: it has no {MANIFEST} (profdiff record makes one)"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        return Session(folder, _decode(path, data))

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
        """Write ``manifest``, whole or not at all. Raises OSError."""
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomic(self.folder / MANIFEST, data + b"\n")
        self.manifest = manifest
        self._loaded.cache_clear()

    def path(self, relative: str) -> Path:
        """The path of a file or folder of the session, which need not exist. Raises SessionError
        when a symbolic link leads out of the folder (the manifest's own rules exclude ``..``), and
        for what would block its reader: a FIFO, a device."""
        return inside(self.folder, relative)

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
        folder = self.path(f"runs/{run_id}")
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder


def _decode(path: Path, data: bytes) -> Manifest:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema not in _DECODERS:
            raise SessionError(_unknown(path, data, schema))
        manifest = _DECODERS[schema](data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"{path} is damaged or not a manifest: {error}") from error
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
        else ("record again, or use the version that recorded it")
    )
    return units.printable(
        f"{path} has schema {schema}, recorded by {recorder}; this one, {__version__}, reads "
        f"{', '.join(sorted(_DECODERS))}: {what}"
    )


def _has_shorter(manifest: Manifest, point: Point) -> bool:
    """Whether what is subtracted from a point, if anything is, is there and has fewer ops."""
    if point.shorter is None:
        return True
    if point.shorter >= len(manifest.points):
        return False
    return (manifest.points[point.shorter].ops or 0) < (point.ops or 0)


_DECODERS: Mapping[str, Callable[[bytes], Manifest]] = {
    SCHEMA: partial(msgspec.json.decode, type=Manifest),
    second.SECOND_SCHEMA: second.decode,
    first.FIRST_SCHEMA: first.decode,
}


class _Schema(msgspec.Struct):
    schema: str
    profdiff: Text = ""
