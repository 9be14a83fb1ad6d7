"""Files of our own making that are the same in several places, kept once on the disk."""

import os
import shutil
from pathlib import Path

from profdiff.base.atomic import open_atomic


def link_or_copy(source: Path, path: Path) -> None:
    """Make ``path``, which does not exist, the file ``source``: a second name of it, or a copy
    where the file system has no such thing. Never for a user's file: who writes into one changes
    the other. Raises OSError."""
    try:
        # Not of what a link leads to.
        os.link(source, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        with source.open("rb") as file, open_atomic(path, durable=False) as copy:
            shutil.copyfileobj(file, copy)
