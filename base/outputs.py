"""Files that a user names: where a name leads, and files that are written all or not at all.

Where a path leads that a user writes.
"""

import contextlib
import errno
import os
import select
import stat
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from profdiff.base import terminal
from profdiff.base.atomic import keep_mode, open_unfinished

# As many links Linux follows, one behind the other.
_LINKS = 40
_REFUSED = {
    stat.S_IFDIR: (errno.EISDIR, "it is a folder: name a file"),
    stat.S_IFSOCK: (errno.ENXIO, "it is a socket: name a file"),
    # Nobody means to write a report over a file system.
    stat.S_IFBLK: (errno.EINVAL, "it is a block device: name a file"),
}


def write_outputs(
    files: Iterable[tuple[Path, bytes]], *, durable: bool = False, make_folders: bool = False
) -> None:
    """Write files that a user named, each whole, and all of them or none: a file takes the place of
    the one that was there, behind links, with its mode and its owner. Open files of ours
    (/dev/stdout), devices and FIFOs are written to. ``durable``: as ``open_atomic`` has it.

    Raises OSError, which names a path; all files are then as they were, but for those that were
    written to. A file that has another name, too, is another one afterwards.
    """
    unfinished: dict[Path, Path] = {}
    folders: list[Path] = []
    through: list[tuple[Path, bytes]] = []
    path = Path()
    try:
        for path, data in files:
            place = _place(path)
            if place is None:
                through.append((path, data))
                continue
            if make_folders:
                _make(place.parent, folders)
            if place in unfinished:
                raise OSError(errno.EEXIST, "another file goes there, too", str(path))
            file, unfinished[place] = open_unfinished(place)
            with file:
                file.write(data)
                keep_mode(place, file)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        for path, data in through:
            _write_through(path, data)
        for path, temporary in unfinished.items():
            temporary.replace(path)
    except BaseException as error:
        for temporary in unfinished.values():
            temporary.unlink(missing_ok=True)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise _about(path, error) from error
        raise


def descriptor(path: Path) -> int | None:
    """The number of the open file of ours that a path leads to, as /dev/stdout does; None for
    others. Opened anew, such a file would be written from its beginning."""
    own = {os.path.realpath(f"/proc/{us}/fd") for us in ("self", "thread-self")}
    for _ in range(_LINKS):
        folder = os.path.realpath(path.parent)
        path = Path(folder, path.name)
        if not path.is_symlink():
            return None
        if folder in own:
            return int(path.name)
        path = path.parent / path.readlink()
    return None


def _place(path: Path) -> Path | None:
    """The file that ``path`` leads to and that is there or can be made; None for what is written to
    as it is. Raises OSError for what is neither."""
    if descriptor(path) is not None:
        return None
    # Not before the kernel has followed the links: it does not follow everybody's
    # (fs.protected_symlinks).
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path))
    if refused := _REFUSED.get(stat.S_IFMT(found.st_mode)):
        raise OSError(*refused, str(path))
    place = Path(os.path.realpath(path))
    # A link of /proc leads to files that have no name any more.
    if not stat.S_ISREG(found.st_mode) or not place.exists() or not place.samefile(path):
        return None
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return place


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder with its parents, and note those that were not there."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not folder.is_dir():
        _make(folder.parent, made)
        folder.mkdir()
        made.append(folder)


def _write_through(path: Path, data: bytes) -> None:
    number = descriptor(path)
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | os.O_TRUNC
    opened = os.open(path, flags) if number is None else os.dup(number)
    with os.fdopen(opened, "wb", buffering=0) as file:
        if file.isatty():
            data = terminal.cleaned(data.decode(errors="backslashreplace")).encode()
        _write(file, data)


def _write(file: FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written = file.write(left)
        if written is None:
            # Who gave us the file wants it so.
            select.select([], [file], [])
        else:
            left = left[written:]


def _about(path: Path, error: OSError) -> OSError:
    """``error`` with what was named, or a folder on the way, instead of a file beside it."""
    named = Path(str(error.filename or path))
    folder = Path(os.path.realpath(path)).parent
    why = error.strerror or str(error)
    if error.errno == errno.ENOENT and not folder.is_dir():
        why = f"there is no folder {folder}"
    return OSError(error.errno, why, str(named if named in path.parents else path))


def place_of(path: str) -> Path:
    """Where ``path`` leads; ``~nobody/`` is a folder's name. A shell leaves ``~`` behind = as it
    is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
