"""The session folder: a manifest beside the raw files of every run. See ``docs/session.md``."""

import contextlib
import fcntl
import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.atomic import write_atomic
from profdiff.collectors.counts import CallTree, Counts
from profdiff.errors import InputError, SessionError
from profdiff.manifest import SCHEMA, Collector, Kernel, Manifest, Run

_MANIFEST = "manifest.json"
_MAX_MANIFEST = 256 * 2**20
# A place is an address and, in user space, the instruction there: 8 + 16 bytes.
PLACE = np.dtype([("address", "<u8"), ("code", "V16")])


class Session:
    """A session folder. ``manifest`` is what its file says; ``save`` replaces both."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @staticmethod
    def open(folder: Path) -> "Session":
        """Read a session. Raises SessionError when it is none, damaged, hostile or of a newer
        schema."""
        path = folder / _MANIFEST
        try:
            if path.stat().st_size > _MAX_MANIFEST:
                raise SessionError(f"{path} is too large to be a manifest")
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise SessionError(
                f"{folder} is no session: it has no {_MANIFEST} (profdiff record makes one)"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        return Session(folder, _decode(path, data))

    @staticmethod
    def create(folder: Path, manifest: Manifest) -> "Session":
        """Make a new session. Raises InputError when the folder holds something else."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"-o {folder}: a file of that name is in the way") from error
        foreign = [entry.name for entry in folder.iterdir() if entry.name != ".lock"]
        if foreign:
            raise InputError(
                f"-o {folder}: the folder is not empty and no session: name another one"
            )
        session = Session(folder, manifest)
        session.save(manifest)
        return session

    def save(self, manifest: Manifest) -> None:
        """Write ``manifest``, whole or not at all. Raises OSError."""
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomic(self.folder / _MANIFEST, data + b"\n")
        self.manifest = manifest

    def path(self, relative: str) -> Path:
        """The path of a file of the session. Raises SessionError when a symbolic link leads out
        of the folder (the manifest's own rules exclude ``..``)."""
        path = self.folder / relative
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise SessionError(f"{relative} leads out of the session folder: refused")
        return path

    def read(self, run: Run, what: str) -> bytes | None:
        """The content of a run's file (``stdout``, ``kallsyms`` …), uncompressed; None if the run
        has none. Raises SessionError when it cannot be read."""
        relative = run.files.get(what)
        if relative is None:
            return None
        path = self.path(relative)
        try:
            if path.suffix == ".gz":
                return _gunzip(path)
            return path.read_bytes()
        except (OSError, EOFError) as error:
            raise SessionError(f"cannot read {path}: {error}") from error

    def finished(self, label: str, collector: Collector) -> list[Run]:
        """The runs of a kernel by one collector that gave a result, in order."""
        return [
            run
            for run in self.manifest.runs
            if run.kernel == label and run.collector == collector and run.failure is None
        ]

    def kernel(self, label: str) -> Kernel:
        """The kernel with that label. Raises KeyError."""
        return next(kernel for kernel in self.manifest.kernels if kernel.label == label)

    def run_counts(self, run: Run) -> Counts:
        """What a finished run counted. Raises SessionError."""
        if "counts" not in run.files:
            raise SessionError(f"run {run.id} has no counts")
        return Counts.load(self.path(run.files["counts"]))

    def places(self, label: str) -> NDArray[np.void]:
        """All places that executed in any finished exact run of a kernel: PLACE[N], sorted.

        Raises SessionError.
        """
        runs = self.finished(label, "exact")
        found = [_places(self.run_counts(run)) for run in runs]
        return np.unique(np.concatenate(found)) if found else np.empty(0, PLACE)

    def counts(self, run: Run, places: NDArray[np.void]) -> NDArray[np.int64]:
        """Counts of a run, int64[N], one for each of ``places`` (which contain all of the run's).

        Raises SessionError.
        """
        counts = self.run_counts(run)
        column = np.zeros(len(places), np.int64)
        column[np.searchsorted(places, _places(counts))] = counts.count
        return column

    def call_tree(self, run: Run, places: NDArray[np.void]) -> CallTree | None:
        """Who called whom in a run, if that was recorded; its places are rows of ``places`` (which
        contain all of the run's).

        Raises SessionError.
        """
        counts = self.run_counts(run)
        if counts.calls is None:
            return None
        return counts.calls.placed(np.searchsorted(places, _places(counts)))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other recorders out. Raises InputError when one is at work."""
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self.folder} is being recorded by another process") from None
            yield

    def run_folder(self, run_id: str) -> Path:
        """An empty folder for a run that is about to start; a run that never ended left one behind,
        which goes."""
        folder = self.path(f"runs/{run_id}")
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder


def is_session(folder: Path) -> bool:
    """Whether ``folder`` holds a manifest."""
    return (folder / _MANIFEST).is_file()


def _places(counts: Counts) -> NDArray[np.void]:
    places = np.empty(len(counts.address), PLACE)
    places["address"] = counts.address
    places["code"] = counts.code.view("V16").reshape(-1)
    return places


def place_columns(places: NDArray[np.void]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Addresses, uint64[N], and code, uint8[N, 16], of ``places``."""
    address = np.ascontiguousarray(places["address"])
    code = np.ascontiguousarray(places["code"]).view(np.uint8).reshape(-1, 16)
    return address, code


def _gunzip(path: Path) -> bytes:
    with gzip.open(path) as file:
        data = file.read(_MAX_MANIFEST + 1)
    if len(data) > _MAX_MANIFEST:
        raise SessionError(f"{path} unpacks to more than {_MAX_MANIFEST >> 20} MiB: refused")
    return data


def _decode(path: Path, data: bytes) -> Manifest:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            known = SCHEMA.rpartition("/")[0]
            if schema.rpartition("/")[0] == known:
                raise SessionError(
                    f"{path} has schema {schema}, this profdiff reads {SCHEMA}: use a newer one"
                )
            raise SessionError(f"{path} is no manifest of a profdiff session (schema {schema!r})")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"{path} is damaged or not a manifest: {error}") from error
    labels = [kernel.label for kernel in manifest.kernels]
    if len(set(labels)) != len(labels):
        raise SessionError(f"{path} names a kernel twice")
    ids = [run.id for run in manifest.runs]
    if len(set(ids)) != len(ids) or not {run.kernel for run in manifest.runs} <= set(labels):
        raise SessionError(f"{path} has runs that do not fit its kernels")
    return manifest


class _Schema(msgspec.Struct):
    schema: str
