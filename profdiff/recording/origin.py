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


def _note(folder: Path, manifest: Manifest) -> Path:
    told = [str(folder.resolve()), manifest.created, manifest.workload.argv]
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
    root = os.environ.get("PROFDIFF_STATE") or platformdirs.user_state_dir("profdiff")
    return Path(root) / "sessions" / digest
