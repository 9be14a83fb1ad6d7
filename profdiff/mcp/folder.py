"""The folder that a server shows, and what is recorded below it."""

import os
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.units import printable
from profdiff.session.held import held

_MAX_PATH = 4096
# How deep recordings lie below the folder, and how many entries of folders are looked at.
_MAX_DEPTH, _MAX_ENTRIES = 4, 20_000


class Folder:
    """``top``: without symbolic links."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        if not self.top.is_dir():
            raise InputError(f"{top} is not a folder")

    def path(self, name: str) -> Path:
        """Where ``name`` leads from the top. Raises InputError where that is not below it, be it by
        a symbolic link."""
        if "\0" in name or len(name) > _MAX_PATH:
            raise InputError("this is not the name of a file")
        path = Path(os.path.realpath(self.top / name))
        if not path.is_relative_to(self.top):
            raise InputError(f"{printable(name)} leads out of the folder that is served: refused")
        return path

    def name(self, path: Path) -> str:
        """What ``path`` finds it by."""
        return str(path.relative_to(self.top))

    def recorded(self, below: Path) -> Iterator[Path]:
        """The recordings in a folder below the top, by name, few levels deep: not those that are
        parts of another one, nor any behind a symbolic link."""
        looked = 0
        folders = [(below, 0)]
        while folders:
            folder, depth = folders.pop()
            if held(folder):
                yield folder
                continue
            try:
                entries = sorted(os.scandir(folder), key=lambda one: one.name, reverse=True)
            except OSError:
                continue
            looked += len(entries)
            if depth < _MAX_DEPTH and looked <= _MAX_ENTRIES:
                folders += [
                    (Path(entry.path), depth + 1)
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                ]
