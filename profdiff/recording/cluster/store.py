"""A node's files by their content: what travelled there stays there, and is checked when it is
used."""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError

# What a node keeps, in bytes. What was used last stays.
MOST = 32 << 30
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Store:
    """The folder ``root`` with a file for each content, named by its sha256."""

    def __init__(self, root: Path, most: int = MOST) -> None:
        self.root = root
        self._most = most
        # What shows that the files that this process has read are still the same.
        self._checked: dict[str, tuple[int, int]] = {}

    def lacking(self, digests: Iterable[str]) -> list[str]:
        """Those of ``digests`` that are not here."""
        return [one for one in digests if not self._path(one).is_file()]

    def keep(self, digest: str, data: bytes) -> None:
        """Keep ``data``. Raises InputError when they are not of ``digest``, OSError."""
        if hashlib.sha256(data).hexdigest() != digest:
            raise InputError(f"what arrived is not what was sent ({digest[:16]})")
        self.root.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path(digest), data, durable=False)
        self._trim(digest)

    def link(self, digest: str, target: Path) -> None:
        """Make ``target`` the file, which it stays if the store lets it go. Raises
        FileNotFoundError when it is damaged, which removes it, OSError."""
        path = self._path(digest)
        status = path.stat()
        # Once in a process: restored states are large. Links and use change the inode's times.
        mark = (status.st_ino, status.st_size)
        if self._checked.get(digest) != mark:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest:
                path.unlink(missing_ok=True)
                # As one that is gone: it is sent again, and the node is none the worse for it.
                raise FileNotFoundError(f"the file {digest[:16]} was damaged and is sent again")
            self._checked[digest] = mark
        os.utime(path)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"{digest!r} is not a sha256")
        return self.root / digest

    def _trim(self, newest: str) -> None:
        """Remove what was not used for the longest time, until the rest is within bounds."""
        known = []
        for path in self.root.iterdir():
            if _DIGEST.fullmatch(path.name) and path.name != newest:
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    known.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in known) + self._path(newest).stat().st_size
        for _, size, path in sorted(known):
            if total > self._most:
                path.unlink(missing_ok=True)
                total -= size
