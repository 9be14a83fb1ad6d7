"""The files that a traced program met, as they were before: made anew in a guest."""

import posixpath
from dataclasses import dataclass

from profdiff.base.errors import InputError

_MAX_PATHS, _MAX_NAME, _MAX_ENTRIES = 100_000, 4096, 20_000
_MAX_SIZE, _MAX_READ = 1 << 40, 256 << 20
# What a guest's proc has for everybody, and nobody waits for.
_PROC = (
    *("/proc/self/", "/proc/sys/vm/", "/proc/sys/kernel/", "/proc/filesystems", "/proc/meminfo"),
    *("/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/uptime", "/proc/loadavg"),
    "/proc/mounts",
)
_DEVICES = {"/dev/null": (1, 3), "/dev/zero": (1, 5), "/dev/full": (1, 7)}
_DEVICES |= {"/dev/random": (1, 8), "/dev/urandom": (1, 9)}


@dataclass
class _File:
    """``kind``: None for what need only exist; "N" for what is not there."""

    kind: str | None = None
    size: int = 0
    read: int = 0
    entries: int = 0
    target: str = ""


class Tree:
    """Files by path. What the trace makes or changes tells nothing of what was before."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._numbers: dict[str, int] = {}
        self._files: dict[str, _File] = {}
        self._changed: set[str] = set()
        self._before: list[tuple[str, int]] = []

    def number(self, path: str) -> int:
        """That of a path as a call has it. Raises InputError for too many."""
        if path not in self._numbers:
            if len(self.paths) >= _MAX_PATHS or len(path) > _MAX_NAME:
                raise InputError(f"the trace has more than {_MAX_PATHS:,} paths, or a longer one")
            self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return self._numbers[path]

    def refusal(self, path: str, *, fails: bool) -> str | None:
        """Why a call with ``path`` is not replayed."""
        for place in ("/proc", "/sys", "/dev"):
            if path == place or path.startswith(f"{place}/"):
                known = path in _DEVICES or path.startswith(_PROC) or (fails and place != "/proc")
                return None if known else f"files of {place}"
        return None

    def folder(self, path: str) -> None:
        """A folder is there, with those above it."""
        while path and path != "/":
            one = self._files.setdefault(path, _File())
            if path in self._changed:
                return
            one.kind = one.kind if one.kind == "L" else "D"
            path = posixpath.dirname(path)

    def exists(self, path: str, *, folder: bool = False) -> None:
        """Something is there."""
        if path == "/" or self._is_new(path):
            return
        self.folder(posixpath.dirname(path))
        one = self._files.setdefault(path, _File())
        if one.kind == "N":
            one.kind = None
        if folder and one.kind != "L":
            one.kind = "D"

    def before(self, path: str, slot: int) -> None:
        """A descriptor of ``path`` is open from the start."""
        self._before.append((path, slot))

    def failed(self, path: str, error: str, call: str) -> None:
        """What an error tells."""
        if error == "ENOENT" and path not in self._files and not self._is_new(path):
            self._files[path] = _File("N")
        elif error in ("EEXIST", "EISDIR", "ENOTEMPTY"):
            self.exists(path, folder=error != "EEXIST" or call.startswith("mkdir"))
        elif error in ("ENODATA", "EOPNOTSUPP") or call.startswith("readlink"):
            self.exists(path)

    def created(self, path: str) -> None:
        """The trace makes it, if it is not there."""
        if path not in self._files and not self._is_new(path):
            self.folder(posixpath.dirname(path))
            if path not in _DEVICES:
                self._files[path] = _File("N")
        self._changed.add(path)

    def changed(self, path: str) -> None:
        """It is not as before from here on."""
        if path not in self._files and not self._is_new(path):
            self._files[path] = _File("N")
        self._changed.add(path)

    def link(self, path: str, target: str | None) -> None:
        """A symbolic link, whose file has what is known of it."""
        self.exists(path)
        one = self._files.get(path)
        if one and target and not self._is_new(path) and one.kind != "D" and path not in _DEVICES:
            one.kind, one.target = "L", target
            aim = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if aim != path and self.refusal(aim, fails=False) is None:
                self.exists(aim)
                self.read(aim, one.read)
                self.mapped(aim, one.size)

    def status(self, path: str, kind: str, size: int) -> None:
        """What stat() said."""
        one = self._plain(path)
        if one and kind == "DIR":
            one.kind = "D"
        elif one and kind == "REG" and one.kind != "D":
            one.kind, one.size = "F", min(size, _MAX_SIZE)

    def entries(self, path: str, number: int) -> None:
        """So many names are in a folder, beside its own two."""
        if one := self._plain(path):
            one.kind, one.entries = "D", max(one.entries, min(number - 2, _MAX_ENTRIES))

    def read(self, path: str, end: int) -> None:
        """Somebody reads up to ``end``."""
        one = self._plain(path)
        if one and one.kind != "D":
            one.read = max(one.read, min(end, _MAX_SIZE))

    def mapped(self, path: str, end: int) -> None:
        """Somebody maps up to ``end``, which need not be the file's size."""
        one = self._plain(path)
        if one and one.kind is None:
            one.size = max(one.size, min(end, _MAX_SIZE))

    def _plain(self, path: str) -> _File | None:
        one = self._files.get(path)
        while one and one.kind == "L" and (aim := self._files.get(
            posixpath.normpath(posixpath.join(posixpath.dirname(path), one.target))
        )) not in (None, one):  # fmt: skip
            return aim if aim.kind != "L" else None
        return None if one is None or self._is_new(path) or one.kind in ("N", "L") else one

    def _is_new(self, path: str) -> bool:
        """Whether the trace has made or changed it, or a folder above."""
        while path and path != "/":
            if path in self._changed:
                return True
            path = posixpath.dirname(path)
        return False

    def lines(self) -> list[str]:
        """The script's. Raises InputError where it reads too much."""
        lines, links = [], []
        total = sum(one.read for one in self._files.values() if one.kind != "D")
        if total > _MAX_READ:
            raise InputError(
                f"the trace reads {total >> 20:,} MiB of files, more than {_MAX_READ >> 20} MiB, "
                "which a guest would hold: replay a part of it"
            )
        inside: dict[str, int] = {}
        for path, one in self._files.items():
            if one.kind != "N":
                above = posixpath.dirname(path)
                inside[above] = inside.get(above, 0) + 1
        if any(path.startswith("/proc/") for path in self._files):
            lines += [f"D {self.number('/proc')}", f"M {self.number('/proc')}"]
        for path in sorted(self._files, key=lambda path: path.count("/")):
            one, number = self._files[path], self.number(path)
            if path in _DEVICES:
                lines.append(f"V {number} {_DEVICES[path][0]} {_DEVICES[path][1]}")
            elif path.startswith("/proc"):
                continue
            elif one.kind == "N":
                lines.append(f"N {number}")
            elif one.kind == "L":
                links.append(f"L {number} {self.number(one.target)}")
            elif one.kind == "D":
                lines.append(f"D {number}")
            else:
                lines.append(f"F {number} {max(one.size, one.read)} {one.read}")
        for path, one in self._files.items():
            more = one.entries - inside.get(path, 0)
            if one.kind == "D" and more > 0:
                lines.append(f"E {self.number(path)} {more}")
        flags = {True: 0o200000, False: 2}
        lines += links
        for path, slot in self._before:
            folder = path in self._files and self._files[path].kind == "D"
            lines.append(f"O {self.number(path)} {slot} {flags[folder]}")
        return lines
