"""Whether a session's command comes from this user: what a stranger's session names is not run
unseen.

What tells is kept outside the session, where who made the session could not write.
"""

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec
import platformdirs

from profdiff.base.errors import InputError
from profdiff.base.terminal import printable
from profdiff.session.manifest import Manifest


def remember(folder: Path, manifest: Manifest) -> None:
    """Note that this user records the session in ``folder`` on this machine. Where that cannot be
    written, the user is asked another time."""
    note = _note(folder, manifest)
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        note.touch()


def is_own(folder: Path, manifest: Manifest) -> bool:
    """Whether this user recorded that session, with that command, in that folder."""
    return _note(folder, manifest).exists()


def own_repository(folder: Path, manifest: Manifest, named: str, option: str) -> Path:
    """The repository that the manifest of the session in ``folder`` names, where it may be read
    unasked: this user recorded the session here, and the name leads to a folder itself, outside of
    the session. Raises InputError, which says what to name with ``option`` instead."""
    told = printable(named)
    if not is_own(folder, manifest):
        raise InputError(
            f"the session names {told}, which is not read unasked, as you did not record the "
            f"session here: name the repository with {option}"
        )
    path = Path(named)
    if not path.is_dir():
        raise InputError(
            f"the kernels were built from {told}, which is not here: name a copy with {option}"
        )
    real = path.resolve()
    if real != path or real.is_relative_to(folder.resolve()):
        raise InputError(
            f"{told} is reached by a link, or lies in the session: name the repository with "
            f"{option}"
        )
    return path


def _note(folder: Path, manifest: Manifest) -> Path:
    told = [str(folder.resolve()), manifest.created, manifest.workload.argv]
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
    root = os.environ.get("PROFDIFF_STATE") or platformdirs.user_state_dir("profdiff")
    return Path(root) / "sessions" / digest
