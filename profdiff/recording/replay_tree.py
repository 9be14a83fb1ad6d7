"""The files that a traced program met, as they were before: made anew in a guest."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from profdiff.base.errors import InputError

_MAX_PATHS, _MAX_NAME, _MAX_PARTS, _MAX_LINKS = 100_000, 4096, 255, 40
_MAX_TEXT = 64 << 20
_MAX_ENTRIES, _MAX_ALL_ENTRIES = 20_000, 200_000
_MAX_SIZE, _MAX_READ = 1 << 40, 256 << 20
# What a guest's proc has for everybody, and nobody waits for.
_PROC = (
    *("/proc/self/", "/proc/sys/vm/", "/proc/sys/kernel/", "/proc/filesystems", "/proc/meminfo"),
    *("/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/uptime", "/proc/loadavg"),
    "/proc/mounts",
)
# What they lead to is the guest's, and may wait.
_OTHERS = ("/proc/self/fd/", "/proc/self/task/")
_DEVICES = {"/dev/null": (1, 3), "/dev/zero": (1, 5), "/dev/full": (1, 7)}
_DEVICES |= {"/dev/random": (1, 8), "/dev/urandom": (1, 9)}


class LeftOutError(Exception):
    """A call is not replayed; the text says why."""


def normal(path: str) -> str:
    """An absolute path that begins with one slash, without ``.`` and ``..``."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _upwards(path: str) -> Iterator[str]:
    """An absolute path and the folders above it, but not the root."""
    while len(path) > 1:
        yield path
        path = path[: path.rfind("/")]


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
        self._relative: set[str] = set()
        self._text = 0

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
                return None if known and not path.startswith(_OTHERS) else f"files of {place}"
        return None

    def resolve(self, path: str, *, last: bool = False) -> tuple[str, list[str]]:
        """Where an absolute path leads by the known links, the ``last`` part's too; and the folders
        that it leaves by ``..``. Raises LeftOutError for a path that is too long, or a circle."""
        at, left, links = "", list[str](), 0
        if len(path) > _MAX_NAME or path.count("/") > _MAX_PARTS:
            raise LeftOutError("a path that is too long")
        parts = path.split("/")[::-1]
        while parts:
            part = parts.pop()
            if part == "..":
                left.append(at or "/")
                at = at[: at.rfind("/")]
            elif part not in ("", "."):
                place = f"{at}/{part}"
                one = self._link(place)
                if one and (last or any(parts)):
                    links += 1
                    parts += one.target.split("/")[::-1]
                    at = "" if one.target.startswith("/") else at
                    if links > _MAX_LINKS or len(parts) > _MAX_NAME:
                        raise LeftOutError("a path with too many links")
                else:
                    at = place
                    if len(at) > _MAX_NAME:
                        raise LeftOutError("a path that is too long")
        return at or "/", left

    def _link(self, path: str) -> _File | None:
        one = self._files.get(path)
        return one if one and one.kind == "L" and path not in self._changed else None

    def holds_links(self, path: str) -> bool:
        """Whether it is or has a link that leads elsewhere if the trace moves it."""
        return path in self._relative

    def folder(self, path: str) -> bool:
        """A folder is there, with those above it, unless the trace makes it. Whether it is."""
        if self._is_new(path):
            return False
        for place in _upwards(path):
            one = self._at(place)
            one.kind = one.kind if one.kind == "L" else "D"
        return True

    def _at(self, path: str) -> _File:
        if path not in self._files:
            self._count(path)
            self._files[path] = _File()
        return self._files[path]

    def _count(self, path: str) -> None:
        self._text += len(path)
        if len(self._files) >= _MAX_PATHS or self._text > _MAX_TEXT:
            raise InputError(f"the trace has more than {_MAX_PATHS:,} files, or longer names")

    def exists(self, path: str, *, folder: bool = False) -> None:
        """Something is there."""
        if path == "/" or self._is_new(path):
            return
        self.folder(posixpath.dirname(path))
        one = self._at(path)
        if one.kind == "N":
            one.kind = None
        if folder and one.kind != "L":
            one.kind = "D"
        elif folder and (aim := self._aim(path)) != path:
            self.folder(aim)

    def before(self, path: str, slot: int) -> None:
        """A descriptor of ``path`` is open from the start."""
        self._before.append((path, slot))

    def failed(self, path: str, error: str, call: str) -> None:
        """What an error tells."""
        if error == "ENOENT" and path != "/" and path not in self._files and not self._is_new(path):
            self._at(path).kind = "N"
        elif error in ("EEXIST", "EISDIR", "ENOTEMPTY"):
            self.exists(path, folder=error != "EEXIST" or call.startswith("mkdir"))
        elif error in ("ENODATA", "EOPNOTSUPP") or call.startswith("readlink"):
            self.exists(path)

    def created(self, path: str) -> None:
        """The trace makes it, if it is not there."""
        if path not in self._files and not self._is_new(path):
            self.folder(posixpath.dirname(path))
        if path in _DEVICES:
            self.exists(path)
        else:
            self.changed(path)

    def changed(self, path: str) -> None:
        """It is not as before from here on."""
        if path != "/" and path not in self._files and not self._is_new(path):
            self._at(path).kind = "N"
        if path != "/" and path not in self._changed:
            self._count(path)
            self._changed.add(path)

    def link(self, path: str, target: str | None) -> None:
        """A symbolic link, whose file has what is known of it. Raises LeftOutError for one that
        leads where calls are not replayed."""
        if not target or path.startswith("/proc/"):
            self.exists(path)
            return
        aim, _ = self.resolve(posixpath.join(posixpath.dirname(path), target), last=True)
        if reason := self.refusal(aim, fails=False):
            raise LeftOutError(reason)
        self.exists(path)
        one = self._files.get(path)
        if one and not self._is_new(path) and one.kind != "D" and path not in _DEVICES:
            one.kind, one.target = "L", target
            if not target.startswith("/"):
                self._relative.update(_upwards(path))
            if aim != path:
                self.exists(aim)
                self.read(aim, one.read)
                self.mapped(aim, one.size)

    def _aim(self, path: str) -> str:
        """The file that a path means, by links; the path itself in a circle."""
        try:
            return self.resolve(path, last=True)[0]
        except LeftOutError:
            return path

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
        path = self._aim(path)
        one = self._files.get(path)
        return None if one is None or self._is_new(path) or one.kind in ("N", "L") else one

    def _is_new(self, path: str) -> bool:
        """Whether the trace has made or changed it, or a folder above."""
        return any(place in self._changed for place in _upwards(path))

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
            elif path == "/proc" or path.startswith("/proc/"):
                continue
            elif one.kind == "N":
                lines.append(f"N {number}")
            elif one.kind == "L":
                links.append(f"L {number} {self.number(one.target)}")
            elif one.kind == "D":
                lines.append(f"D {number}")
            else:
                lines.append(f"F {number} {max(one.size, one.read)} {one.read}")
        free = _MAX_ALL_ENTRIES
        for path, one in self._files.items():
            more = min(one.entries - inside.get(path, 0), free)
            if one.kind == "D" and more > 0:
                free -= more
                lines.append(f"E {self.number(path)} {more}")
        flags = {True: 0o200000, False: 2}
        lines += links
        for path, slot in self._before:
            folder = path in self._files and self._files[path].kind == "D"
            lines.append(f"O {self.number(path)} {slot} {flags[folder]}")
        return lines
