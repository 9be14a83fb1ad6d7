"""The session that a command means where none is named."""

from pathlib import Path

from profdiff.base.errors import SessionError


def newest(folder: Path) -> Path:
    """What was recorded last in ``folder``: a session, a suite, or a folder of several sessions,
    which are one with their parts. Raises SessionError."""
    from profdiff.session.folder import is_several, is_suite

    # In the folder of several sessions, all of them are meant.
    parts = is_several(folder) or is_suite(folder)
    places = [folder] if parts else [*folder.iterdir(), folder]
    times = {place: time for place in places if (time := _last_written(place)) is not None}
    if not times:
        raise SessionError(
            "no session in this folder: name one, or create one with profdiff record"
        )
    return max(times, key=lambda place: times[place])


def _last_written(folder: Path) -> float | None:
    """When what is recorded in ``folder`` was last written, in seconds since 1970; None: there is
    nothing."""
    from profdiff.session.folder import SUITE_FILE, is_session, is_suite, kind_of

    if is_suite(folder):
        every = [folder / SUITE_FILE, *folder.glob("*/manifest.json")]
        every += folder.glob("*/*/manifest.json")
        return max(file.stat().st_mtime for file in every)
    if is_session(folder):
        return (folder / "manifest.json").stat().st_mtime
    kind = kind_of(folder)
    if kind is None:
        return None
    files = [folder / kind.file, *folder.glob("*/manifest.json")]
    return max(file.stat().st_mtime for file in files)
