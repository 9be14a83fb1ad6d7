"""The text of a session's report, kept: ``record`` makes it at its end, where it knows all that the
text is made of, and ``report`` shows it as long as nothing of that has changed."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from profdiff import __version__
from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder, cache_path
from profdiff.base.errors import MissingError
from profdiff.reports.form import ReportOptions, Subject
from profdiff.session.session import Session
from profdiff.symbolization._native import checksum

# To read more than this of a session would take longer than to report it.
_MOST_BYTES, _MOST_FILES = 32 * 2**20, 2000
# As many texts are kept, of some kilobytes each.
_MOST_KEPT = 100
_PROGRAM = Path(__file__).parent.parent


def session_text(session: Session, at: str | None, asked: ReportOptions) -> str:
    """The report of ``session`` at a setting (None: ``choose`` chooses), for standard output.
    Raises what ``LazyFindings`` does."""
    asked = asked.for_text("-")
    key = _key(session, at, asked)
    if key is None:
        return _made(session, at, asked)
    with suppress(OSError, ValueError):
        told, _, text = cache_path("reports", key).read_text().partition("\n")
        if told == checksum(text.encode()):
            return text
    text = _made(session, at, asked)
    # Somebody may have recorded into it meanwhile.
    if _is_whole(session) and key == _key(session, at, asked):
        with suppress(MissingError, OSError):
            _keep(cache_folder("reports") / key, text)
    return text


def keep(session: Session) -> None:
    """Make the text that ``profdiff report`` shows here without options. Raises as
    ``session_text``."""
    if _key(session, None, ReportOptions()) is not None:
        session_text(session, None, ReportOptions())


def _is_whole(session: Session) -> bool:
    """Whether a report needs nothing of this machine: the session keeps the names and the code of
    all that was counted."""
    from profdiff.profile.kept_functions import FunctionCounts

    code = [session.place(one.code) if one.code else None for one in session.compared]
    return (
        len(session.profiling) == 1
        and FunctionCounts.of(session).kept
        and all(path is not None and path.is_file() for path in code)
    )


def _made(session: Session, at: str | None, asked: ReportOptions) -> str:
    from profdiff.evidence.findings import LazyFindings
    from profdiff.reports.forms import session_text as made

    return made(Subject(session, lambda: LazyFindings.of(session, at, asked.metric), asked), "-")


def _keep(path: Path, text: str) -> None:
    data = text.encode()
    write_atomic(path, f"{checksum(data)}\n".encode() + data, durable=False)
    every = sorted(path.parent.iterdir(), key=lambda one: one.lstat().st_mtime)
    for old in every[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)


def _key(session: Session, at: str | None, asked: ReportOptions) -> str | None:
    """Identifies all that the text is made of: every byte of the session, what is asked for, and
    this program. None for a session that is too large, or has more than files and folders."""
    import hashlib

    digest = hashlib.sha256(repr((__version__, at, asked)).encode())
    size = 0
    try:
        for path, found in _files(str(_PROGRAM), linked=True):
            digest.update(repr((path, found.st_size, found.st_mtime_ns)).encode())
        for number, (path, found) in enumerate(_files(str(session.folder), linked=False)):
            size += found.st_size
            if number == _MOST_FILES or size > _MOST_BYTES:
                return None
            data = bounded.read(Path(path), _MOST_BYTES)
            digest.update(repr((os.path.relpath(path, session.folder), len(data))).encode())
            digest.update(data)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _files(folder: str, *, linked: bool) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder, but for what Python compiled. ``linked``: symbolic links are
    followed. Raises OSError, and ValueError for what is neither a file nor a folder."""
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as found:
            entries = sorted(found, key=lambda one: one.name)
        for entry in entries:
            if entry.is_dir(follow_symlinks=linked):
                folders += [entry.path] if entry.name != "__pycache__" else []
            elif entry.is_file(follow_symlinks=linked):
                yield entry.path, entry.stat()
            else:
                raise ValueError(entry.path)
