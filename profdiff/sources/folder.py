"""A source tree in a folder: whatever its files and links say, nothing outside of it is read."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from profdiff.base.bounded import read
from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.sources import blobs


class Folder(msgspec.Struct, frozen=True):
    """``path``: without links. ``_read``: the objects that git would call the files."""

    path: Path
    _read: dict[str, str] = msgspec.field(default_factory=dict)

    def content(self, file: str) -> bytes | None:
        """The content of a file, None where the tree has no such regular file, or one larger than
        64 MiB."""
        if not blobs.inside(file):
            return None
        try:
            real = (self.path / file).resolve(strict=True)
            if not real.is_relative_to(self.path):
                return None
            content = read(real, blobs.LARGEST)
        except (OSError, RuntimeError):  # a circle of links is a RuntimeError
            return None
        # A file's name in git, which is not a signature.
        name = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        self._read[file] = name.hexdigest()
        return content

    def changed(self) -> list[str]:
        """Those of the files read that differ from the newest commit, where the folder is a git
        work tree. git compares nothing itself: it would run the filters that the tree names."""
        if not self._read or not (self.path / ".git").exists():
            return []
        try:
            git = Git.open(self.path)
            said = git.run("ls-tree", "-r", "-z", "HEAD", "--", *sorted(self._read))
        except InputError:
            return []
        known = dict(_objects(said.decode(errors="surrogateescape").split("\0")[:-1]))
        return [file for file, name in sorted(self._read.items()) if known.get(file, name) != name]


def _objects(rows: Iterable[str]) -> Iterable[tuple[str, str]]:
    """(file, object) of each row of ``MODE TYPE OBJECT<tab>FILE``; of SHA-1 only."""
    for row in rows:
        words, _, file = row.partition("\t")
        name = words.split(" ")[-1]
        if len(name) == 40:
            yield file, name
