"""The session that a command means where none is named."""

from pathlib import Path

from profdiff.base.errors import SessionError


def newest(folder: Path) -> Path:
    """The session in ``folder`` whose manifest was written last. Raises SessionError."""
    from profdiff.session.folder import is_session

    sessions = [entry for entry in folder.iterdir() if entry.is_dir() and is_session(entry)]
    if is_session(folder):
        sessions.append(folder)
    if not sessions:
        raise SessionError(
            "no session in this folder: name one, or create one with profdiff record"
        )
    return max(sessions, key=lambda entry: (entry / "manifest.json").stat().st_mtime)
