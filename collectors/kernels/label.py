"""What a kernel is called in a session."""

import re
from pathlib import Path

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def is_label(text: str) -> bool:
    """Whether ``text`` can be a kernel's label."""
    return _LABEL.fullmatch(text) is not None


def label_of(name: str) -> str:
    """A label of the characters of ``name``."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:60] or "kernel"


def name_of(path: str) -> str:
    """The name of the file or folder that ``path`` leads to."""
    name = Path(path).name
    return name if name not in ("", "..") else Path(path).resolve().name
