"""Where a path leads that a user writes."""

from pathlib import Path


def place_of(path: str) -> Path:
    """Where ``path`` leads; ``~nobody/`` is a folder's name. A shell leaves ``~`` behind = as it
    is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
