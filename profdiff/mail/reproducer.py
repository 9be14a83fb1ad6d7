"""What another person needs to see the same: the workload's source, where it is short."""

from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError, SessionError
from profdiff.session.session import Session

MAX_LINES = 120
_MAX_SIZE = 16 * 1024


@dataclass(frozen=True)
class Reproducer:
    """``text``: the source, None if it is longer than MAX_LINES or 16 KiB."""

    name: str
    text: str | None

    @staticmethod
    def read(path: Path) -> "Reproducer":
        """The source in a file. Raises InputError when it cannot be read or is not text."""
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_SIZE + 1)
        except OSError as error:
            raise InputError(f"--reproducer {path}: {error.strerror}") from error
        if b"\0" in data:
            raise InputError(f"--reproducer {path} is a binary: name its source")
        text = data.decode(errors="replace")
        short = len(data) <= _MAX_SIZE and len(text.splitlines()) <= MAX_LINES
        return Reproducer(path.name, text if short else None)

    @staticmethod
    def of(session: Session) -> "Reproducer | None":
        """The source that the session keeps: a script, or what was compiled; None if it keeps
        neither. A name in a manifest is not looked up outside the session: who made the manifest
        may be a stranger, who would like to read that file in a mail."""
        workload = session.manifest.workload
        kept = workload.source
        if workload.kind == "script" and workload.files:
            kept = workload.files[0].path
        try:
            path = session.path(kept) if kept else None
            found = Reproducer.read(path) if path else None
        except (InputError, SessionError):
            return None
        name = Path(workload.argv[0]).name if workload.argv else ""
        return Reproducer(name, found.text) if found else None
