"""The session that a command means where none is named."""

from pathlib import Path

from profdiff.base.errors import SessionError


def newest(folder: Path) -> Path:
    """What was recorded last in ``folder``: a session, parts, or a suite, which are one with their
    parts. Raises SessionError."""
    from profdiff.session.held import held

    # In the folder of parts, all of them are meant.
    whole = held(folder) in ("parts", "suite")
    places = [folder] if whole else [*folder.iterdir(), folder]
    times = {place: time for place in places if (time := _last_written(place)) is not None}
    if not times:
        raise SessionError(
            "no session in this folder: name one, or create one with profdiff record"
        )
    return max(times, key=lambda place: times[place])


def _last_written(folder: Path) -> float | None:
    """When what is recorded in ``folder`` was last written, in seconds since 1970; None: there is
    nothing."""
    from profdiff.session.held import held, says_so

    has, first = held(folder), says_so(folder)
    if has is None or first is None:
        return None
    depth = {"session": (), "parts": ("*",), "suite": ("*", "*/*")}[has]
    files = [manifest for one in depth for manifest in folder.glob(f"{one}/manifest.json")]
    return max(file.stat().st_mtime for file in [first, *files])
