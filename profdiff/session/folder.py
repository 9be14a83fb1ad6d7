"""The session folder: a manifest beside the raw files of every run. See ``docs/session.md``."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from profdiff import __version__
from profdiff.base import bounded, units
from profdiff.base.atomic import remove_unfinished, write_atomic
from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.records import Text
from profdiff.session import first_schema, second_schema
from profdiff.session.kinds import KINDS, Kind
from profdiff.session.manifest import SCHEMA, Kernel, Manifest, Point, Run

_MANIFEST = "manifest.json"
SUITE_FILE = "suite.json"
"""What makes a folder one of a suite (``session.suite``)."""

# Of the manifest, and of each file that a run left but recordings and counts.
_MAX_FILE = 256 * 2**20
# As many of a folder's sessions are named in a message.
_NAMED = 8


class Session:
    """A session folder. ``manifest`` is what its file says; ``save`` replaces both."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @staticmethod
    def open(folder: Path) -> "Session":
        """Read a session. Raises SessionError when it is none, damaged, hostile or of a newer
        schema, InputError for a folder with several sessions, which names them."""
        path = inside(folder, _MANIFEST)
        try:
            data = bounded.read(path, _MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            if is_several(folder):
                raise InputError(_several(folder)) from None
            if is_suite(folder):
                raise InputError(_suite(folder)) from None
            raise SessionError(
                f"{folder} is not a session: it has no {_MANIFEST} (profdiff record makes one)"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        return Session(folder, _decode(path, data))

    @staticmethod
    def create(folder: Path, manifest: Manifest) -> "Session":
        """Make a new session. Raises InputError when the folder holds something else, OSError."""
        Session.refuse_occupied(folder)
        folder.mkdir(parents=True, exist_ok=True)
        session = Session(folder, manifest)
        session.save(manifest)
        return session

    @staticmethod
    def refuse_occupied(folder: Path) -> None:
        """Raise InputError unless a session can be made in ``folder``: it is absent, or empty."""
        kind = kind_of(folder)
        if is_session(folder) or kind or is_suite(folder):
            held = f"sessions of several {kind.plural}" if kind else "a session"
            held = "a suite" if is_suite(folder) else held
            raise InputError(
                f"-o {folder}: the folder is not empty, it holds {held}: name another one"
            )
        try:
            foreign = [entry.name for entry in folder.iterdir() if entry.name != ".lock"]
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise InputError(f"-o {folder}: a file of that name is in the way") from None
        if foreign:
            raise InputError(
                f"-o {folder}: the folder is not empty and no session: name another one"
            )

    def save(self, manifest: Manifest) -> None:
        """Write ``manifest``, whole or not at all. Raises OSError."""
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomic(self.folder / _MANIFEST, data + b"\n")
        self.manifest = manifest

    def path(self, relative: str) -> Path:
        """The path of a file or folder of the session, which need not exist. Raises SessionError
        when a symbolic link leads out of the folder (the manifest's own rules exclude ``..``), and
        for what would block its reader: a FIFO, a device."""
        return inside(self.folder, relative)

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


_held: set[Path] = set()
"""The folders that this process records into."""


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[None]:
    """Keep other recorders out of a session's folder, of one with several sessions, or of a
    suite's with all its parts, which is made if absent; what a killed one left half written goes.
    Raises InputError when one is at work, OSError."""
    if not (is_session(folder) or is_several(folder) or is_suite(folder)):
        Session.refuse_occupied(folder)
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    # A suite is a part's folder's, or that of the several that it is one of.
    suite = next((one for one in (place.parent, place.parent.parent) if is_suite(one)), None)
    with contextlib.ExitStack() as locks:
        if suite and suite not in _held:
            # With others that record other parts of it.
            locks.enter_context(_locked(suite, fcntl.LOCK_SH))
        locks.enter_context(_locked(folder, fcntl.LOCK_EX))
        for name in ("", "kernels", "symbols", "workload"):
            remove_unfinished(folder / name)
        _held.add(place)
        locks.callback(_held.discard, place)
        yield


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Raises InputError when another recorder is at work, SessionError, OSError."""
    # A stranger's session may have a link or a FIFO of that name.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / ".lock", flags, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise SessionError(
            f"{folder / '.lock'} is a link, which profdiff never makes: delete it"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder} is being recorded by another process") from None
        yield
    finally:
        os.close(descriptor)


def inside(folder: Path, relative: str) -> Path:
    """A path in ``folder``. Raises SessionError as ``Session.path``."""
    path = folder / relative
    try:
        inside = path.resolve(strict=False).is_relative_to(folder.resolve())
        special = path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, RuntimeError) as error:
        raise SessionError(f"cannot read {path}: {error}") from error
    if not inside:
        raise SessionError(f"{path} leads out of the session folder: refused")
    if special:
        raise SessionError(f"{path} is neither a file nor a folder: refused")
    return path


def is_session(folder: Path) -> bool:
    """Whether ``folder`` holds a manifest."""
    return (folder / _MANIFEST).is_file()


def kind_of(folder: Path) -> Kind | None:
    """What the sessions in ``folder`` differ by; None unless it holds several, and is none itself
    (``several``)."""
    if is_session(folder) or is_suite(folder):
        return None
    return next((kind for kind in KINDS if (folder / kind.file).is_file()), None)


def is_several(folder: Path) -> bool:
    """Whether ``folder`` holds a session for each of several architectures, or compilers."""
    return kind_of(folder) is not None


def is_suite(folder: Path) -> bool:
    """Whether ``folder`` holds a suite: a part for each of several workloads."""
    return (folder / SUITE_FILE).is_file() and not is_session(folder)


def _suite(folder: Path) -> str:
    """Why such a folder is no session."""
    parts = sorted(entry.name for entry in folder.iterdir() if is_session(entry))
    told = " or ".join(str(folder / name) for name in parts[:_NAMED])
    return f"{folder} holds a suite: name one of its workloads{f', {told}' if told else ''}"


def _several(folder: Path) -> str:
    """Why such a folder is no session."""
    kind = kind_of(folder)
    parts = [entry.name for entry in folder.iterdir() if is_session(entry)]
    known = sorted(filter(kind.knows, parts), key=kind.order) if kind else []
    told = [str(folder / name) for name in known][:_NAMED]
    named = f"name one of them: {' or '.join(told)}" if told else "none is recorded yet"
    plural = kind.plural if kind else "kinds"
    return f"{folder} holds a session for each of several {plural}: {named}"


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
    second_schema.SECOND_SCHEMA: second_schema.decode,
    first_schema.FIRST_SCHEMA: first_schema.decode,
}


class _Schema(msgspec.Struct):
    schema: str
    profdiff: Text = ""
