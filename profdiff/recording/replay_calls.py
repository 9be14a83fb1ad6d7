"""The system calls that a replay knows, with what their arguments are, and x86-64's constants as
strace writes them."""

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.recording.replay_tree import LeftOutError, Tree

_MAX_LINE, _MAX_CALLS, _MAX_BEGUN, _MAX_BEGUN_TEXT = 1 << 20, 200_000, 4096, 8192
HEAD = (
    r" *(?:\[pid +(\d{1,10})(?:<[^<>]{0,64}>)?\] +|(\d{1,10})(?:<[^<>]{0,64}>)? +)?"
    r"(?:(?:(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)|(\d{1,12}\.\d{1,9})) +)?"
    r"(?:\[ *[0-9a-f?]+\] +){0,2}(?:<\.\.\. (\w{1,40}) resumed>|([a-z_]\w{0,39})\()"
)
"""How strace begins a line, also with -r, -t, -n, -i and -Y. Groups: a process in two forms; hours,
minutes and seconds, or plain seconds; a call that goes on, or one that begins."""
_HEAD = re.compile(HEAD, re.ASCII)
# strace escapes < and > in a path. Without them here, no line takes more than linear time.
_RESULT = re.compile(r"\) *= (\?|-?\w{1,40}(?:<[^<>]*>)?(?: E[A-Z0-9]{1,30})?)", re.ASCII)
_UNFINISHED = "<unfinished ...>"
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}
_SIGN = re.compile(r'["<,()\[\]{}]|/\*')


class TracedCall(NamedTuple):
    """``begins``: it has no result yet, as a process that starts another has not when that one's
    calls come first."""

    pid: int
    name: str
    arguments: list[str]
    result: str
    begins: bool = False

    @property
    def error(self) -> str:
        """The name of its error, "" if it succeeded."""
        return self.result.partition(" ")[2] if self.result.startswith("-1 ") else ""


def read(path: Path) -> Iterator[TracedCall]:
    """The calls in the order of their ends. Raises InputError, also for a file without any."""
    begun: dict[int, tuple[str, str]] = {}
    number = 0
    try:
        with bounded.open_regular(path) as file:
            for data in iter(partial(file.readline, _MAX_LINE), b""):
                for call in _calls(data.decode("utf-8", "surrogateescape"), begun):
                    number += not call.begins
                    if number > _MAX_CALLS:
                        raise InputError(f"{path} has over {_MAX_CALLS:,} calls: replay a part")
                    yield call
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if not number:
        raise InputError(f"{path} has no system calls: give what strace -f -o FILE writes")


def _calls(line: str, begun: dict[int, tuple[str, str]]) -> Iterator[TracedCall]:
    head = _HEAD.match(line)
    if head is None:
        return
    first, other, *_, resumed, begins = head.groups()
    pid, name = int(first or other or 0), resumed or begins
    rest = line[head.end() :].rstrip("\n")
    if resumed:
        was, before = begun.pop(pid, ("", ""))
        if was != name:
            return
        rest = f"{before} {rest}"
    elif rest.endswith(_UNFINISHED):
        if len(begun) < _MAX_BEGUN:
            begun[pid] = name, rest.removesuffix(_UNFINISHED)[:_MAX_BEGUN_TEXT]
            yield TracedCall(pid, name, arguments(begun[pid][1]), "?", True)
        return
    ends = list(_RESULT.finditer(rest))
    if ends:
        yield TracedCall(pid, name, arguments(rest[: ends[-1].start()]), ends[-1][1])


def arguments(text: str) -> list[str]:
    """The arguments of a call, split where commas are in no string, list or structure."""
    found, depth, start, at = [], 0, 0, 0
    while sign := _SIGN.search(text, at):
        at, letter = sign.end(), sign[0]
        if letter == '"':
            string = _STRING.match(text, at - 1)
            at = string.end() if string else len(text)
        elif letter in ("/*", "<"):
            # strace -y: 3</a/file>.
            close = "*/" if letter == "/*" else ">"
            end = text.find(close, at - 1)
            at = end + len(close) if end >= 0 else len(text)
        elif letter != ",":
            depth += 1 if letter in "([{" else -1
        elif depth == 0:
            found.append(text[start : at - 1].strip())
            start = at
    last = text[start:].strip()
    return [*found, last] if last else found


def string(text: str) -> str | None:
    """The text of a string that is whole; None for what is none."""
    found = _STRING.fullmatch(text)
    if found is None:
        return None
    # A letter's bytes are written one by one.
    data = _ESCAPE.sub(_escaped, found[1]).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape")


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "01234567":
        value = int(code, 8) & 0xFF
    elif code[0] == "x" and len(code) == 3:
        value = int(code[1:], 16)
    else:
        return _LETTERS.get(code, code)
    return bytes([value]).decode("utf-8", "surrogateescape")


_PAGE, _MAX_REGION, _MAX_SLOTS = 4096, 1 << 40, 20_000

# x86-64's; what stands behind an equals sign is not a flag.
_FLAGS = """
    O_RDONLY=0 O_WRONLY=1 O_RDWR=2 O_CREAT=0o100 O_EXCL=0o200 O_NOCTTY=0o400 O_TRUNC=0o1000
    O_APPEND=0o2000 O_NONBLOCK=0o4000 O_DSYNC=0o10000 O_LARGEFILE=0o100000 O_DIRECTORY=0o200000
    O_NOFOLLOW=0o400000 O_NOATIME=0o1000000 O_CLOEXEC=0o2000000 O_SYNC=0o4010000 O_PATH=0o10000000
    O_TMPFILE=0o20200000 PROT_NONE=0 PROT_READ=1 PROT_WRITE=2 PROT_EXEC=4 MAP_SHARED=1
    MAP_PRIVATE=2 MAP_FIXED=16 MAP_ANONYMOUS=32 MAP_DENYWRITE=0x800 MAP_NORESERVE=0x4000
    MAP_STACK=0x20000 MREMAP_MAYMOVE=1 MADV_NORMAL=0 MADV_RANDOM=1 MADV_SEQUENTIAL=2
    MADV_WILLNEED=3 MADV_DONTNEED=4 MADV_FREE=8 MADV_HUGEPAGE=14 MADV_NOHUGEPAGE=15 MADV_COLD=20
    MADV_PAGEOUT=21 SEEK_SET=0 SEEK_CUR=1 SEEK_END=2 SEEK_DATA=3 SEEK_HOLE=4 AT_FDCWD=-100
    AT_SYMLINK_NOFOLLOW=0x100 AT_REMOVEDIR=0x200 AT_EACCESS=0x200 AT_NO_AUTOMOUNT=0x800
    AT_EMPTY_PATH=0x1000 AT_STATX_SYNC_AS_STAT=0 AT_STATX_DONT_SYNC=0x4000 STATX_BASIC_STATS=0x7FF
    STATX_ALL=0xFFF STATX_TYPE=1 STATX_MODE=2 STATX_NLINK=4 STATX_UID=8 STATX_GID=16 STATX_ATIME=32
    STATX_MTIME=64 STATX_CTIME=128 STATX_INO=256 STATX_SIZE=512 STATX_BLOCKS=1024 STATX_BTIME=2048
    STATX_MNT_ID=4096 F_OK=0 R_OK=4 W_OK=2 X_OK=1 F_DUPFD=0 F_GETFD=1 F_SETFD=2 F_GETFL=3 F_SETFL=4
    F_DUPFD_CLOEXEC=1030 FD_CLOEXEC=1 AF_UNIX=1 SOCK_STREAM=1 SOCK_DGRAM=2 SOCK_SEQPACKET=5
    SOCK_CLOEXEC=0o2000000 SOCK_NONBLOCK=0o4000 POSIX_FADV_NORMAL=0 POSIX_FADV_RANDOM=1
    POSIX_FADV_SEQUENTIAL=2 POSIX_FADV_WILLNEED=3 POSIX_FADV_DONTNEED=4 RENAME_NOREPLACE=1
    GRND_NONBLOCK=1 GRND_INSECURE=4 RLIMIT_STACK=3 RLIMIT_NOFILE=7 RLIMIT_AS=9 RLIMIT_DATA=2
    RLIMIT_CORE=4 RUSAGE_SELF=0 RUSAGE_CHILDREN=-1 EFD_CLOEXEC=0o2000000 EFD_NONBLOCK=0o4000
    EPOLL_CLOEXEC=0o2000000 FALLOC_FL_KEEP_SIZE=1 NULL=0
"""
VALUES = {
    name: int(number, 0) for name, _, number in (word.partition("=") for word in _FLAGS.split())
}
# By letters: D a folder's descriptor, p a path, n a number, f a descriptor, b what is filled or
# written, s a name, i a vector, r a place in memory; behind > the result: f a descriptor.
_ARGUMENTS = """
    open=pnn>f openat=Dpnn>f creat=pn>f read=fbn write=fbn pread64=fbnn pwrite64=fbnn readv=fi1
    writev=fi1 stat=pb lstat=pb fstat=fb newfstatat=Dpbn statx=Dpnnb access=pn faccessat=Dpn
    faccessat2=Dpnn readlink=pbn readlinkat=Dpbn getdents64=fbn lseek=fnn munmap=rn mprotect=rnn
    madvise=rnn unlink=p unlinkat=Dpn rmdir=p mkdir=pn mkdirat=Dpn rename=pp renameat=DpDp
    renameat2=DpDpn link=pp chmod=pn fchmod=fn truncate=pn ftruncate=fn fallocate=fnnn fsync=f
    fdatasync=f chdir=p fchdir=f getcwd=bn umask=n dup=f>f fadvise64=fnnn statfs=pb fstatfs=fb
    uname=b sysinfo=b getrandom=bnn getrusage=nb times=b getrlimit=nb prlimit64=nnnb eventfd2=nn>f
    epoll_create1=n>f fcntl=fnn getxattr=psbn lgetxattr=psbn listxattr=pbn llistxattr=pbn getpid=
    getppid= gettid= getuid= geteuid= getgid= getegid= getpgrp= sched_yield=
"""
CALLS = {name: letters for name, _, letters in (w.partition("=") for w in _ARGUMENTS.split())}
WRITES = {"write", "pwrite64", "writev", "ftruncate", "fallocate"}
CHANGES = {"mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2"}
CHANGES |= {"link", "creat", "truncate"}
FORKS = {"fork", "vfork", "clone", "clone3"}
# A guest gives these for the same reason as the machine did.
ERRORS = {"ENOENT", "EEXIST", "EINVAL", "ESPIPE", "EISDIR", "ENOTEMPTY", "ENODATA", "EOPNOTSUPP"}
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|\d{1,20})", re.ASCII)
_OCTAL = re.compile(r"-?0[0-7]+")
DESCRIPTOR = re.compile(r"(\d{1,7}|AT_FDCWD)(?:<(.*)>(?:\(deleted\))?)?", re.DOTALL | re.ASCII)
LENGTH = re.compile(r"iov_len=(\d{1,12})", re.ASCII)
STATUS = re.compile(
    r"S_IF(REG|DIR|LNK)(?:(?!S_IF).)*?(?:st|stx)_size=(\d{1,18})", re.DOTALL | re.ASCII
)
_ENTRIES = re.compile(r"/\* (\d{1,7}) entries", re.ASCII)


def value(text: str) -> int:
    """A number, or flags. Raises LeftOutError for what is not known here."""
    text = text.split("<")[0].split(" /*")[0].strip()
    total = 0
    for word in text.split("|"):
        if _NUMBER.fullmatch(word):
            number = int(word, 8 if _OCTAL.fullmatch(word) else 16 if "x" in word else 10)
        elif word in VALUES:
            number = VALUES[word]
        else:
            raise LeftOutError("arguments that are not known")
        total |= number
    if not -(1 << 63) <= total < 1 << 64:
        raise LeftOutError("arguments that are not known")
    return total - (1 << 64) if total >= 1 << 63 else total


def count(call: TracedCall) -> int:
    """How many bytes a call of read or write asks for."""
    if call.name.endswith("v"):
        return sum(map(int, LENGTH.findall(call.arguments[1])))
    return value(call.arguments[2])


@dataclass
class OpenFile:
    """An open file. ``names``: how many descriptors it has, of all processes; ``at``: where it is
    read, and how many entries a folder has told so far; ``held``: how many bytes are in a pipe,
    whose two ends share it, else None."""

    slot: int
    path: str | None = None
    names: int = 1
    at: list[int] = field(default_factory=lambda: [0, 0])
    held: list[int] | None = None
    closes_at_exec: bool = False


class Slots:
    """Numbers of descriptors, of which the lowest that is free comes first."""

    def __init__(self) -> None:
        self.number = 0
        self._free: list[int] = []

    def take(self, *, fresh: bool = False) -> int:
        """A slot, if ``fresh`` one that no call had before. Raises InputError for too many."""
        if self._free and not fresh:
            return heapq.heappop(self._free)
        if self.number >= _MAX_SLOTS:
            raise InputError(f"the trace has more than {_MAX_SLOTS:,} files open: replay a part")
        self.number += 1
        return self.number - 1

    def free(self, slot: int) -> None:
        """A slot whose descriptor is closed."""
        heapq.heappush(self._free, slot)


@dataclass
class Process:
    """``regions``: start, end and number of what is mapped; ``breaks``: where its break begins."""

    folder: str
    files: dict[int, OpenFile] = field(default_factory=dict)
    regions: list[tuple[int, int, int]] = field(default_factory=list)
    breaks: tuple[int, int] | None = None


class Memory:
    """What replayed calls map: regions, by numbers, and the program's break."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.regions = 0
        self._end = 0

    def place(
        self, process: Process, start: int, length: int, name: str, *, unmaps: bool = False
    ) -> str:
        """A place in a region. ``unmaps``: the region is gone if the place is all of it."""
        for first, end, number in reversed(process.regions):
            if first <= start and start + length <= end:
                if unmaps and first == start and start + length > end - _PAGE:
                    process.regions.remove((first, end, number))
                return f"r{number}:{start - first}"
        raise LeftOutError(f"{name} of memory that no replayed call maps")

    def mmap(
        self, call: TracedCall, process: Process, file: OpenFile | None
    ) -> tuple[str, list[str]]:
        """Result and arguments, ``file`` being the one that is mapped."""
        if call.error or len(call.arguments) < 6:
            raise LeftOutError("mmap that fails")
        start, length, protection, flags, _, offset = call.arguments[:6]
        size, result = value(length), value(call.result)
        if not 0 < size <= _MAX_REGION:
            raise LeftOutError("mmap of more than 1 TiB")
        words = [f"v{size}", f"v{value(protection)}", f"v{value(flags)}"]
        if file is None:
            words += ["v-1", "v0"]
        else:
            words += [f"f{file.slot}", f"v{value(offset)}"]
            if file.path:
                self._tree.mapped(file.path, value(offset) + size)
        if "MAP_FIXED" in flags:
            return "-", [self.place(process, value(start), size, "mmap"), *words]
        return self._region(process, result, size), ["v0", *words]

    def _region(self, process: Process, start: int, size: int) -> str:
        size = -(-size // _PAGE) * _PAGE
        process.regions.append((start, start + size, self.regions))
        self.regions += 1
        return f"m{self.regions - 1},{size}"

    def mremap(self, call: TracedCall, process: Process) -> tuple[str, list[str]]:
        """The same of mremap()."""
        words = call.arguments
        if call.error or len(words) != 4 or "MREMAP_FIXED" in words[3]:
            raise LeftOutError("mremap")
        start, old, size = map(value, words[:3])
        same = (one for one in process.regions if one[0] == start and one[1] <= start + old + _PAGE)
        known = next(same, None)
        if known is None or not 0 < size <= _MAX_REGION:
            raise LeftOutError("mremap of memory that no replayed call maps")
        result = value(call.result)
        process.regions.remove(known)
        made = self._region(process, result, size)
        return made, [f"r{known[2]}:0", f"v{old}", f"v{size}", "v1"]

    def brk(self, call: TracedCall, process: Process) -> str:
        """The argument of brk()."""
        result = value(call.result)
        asked = value(call.arguments[0])
        if asked and process.breaks is None:
            raise LeftOutError("brk of memory that another process began")
        if process.breaks is None or not asked:
            process.breaks = result, self._end
            return "v0"
        begin, own = process.breaks
        to = own + result - begin
        grows = asked == result and 0 <= to < _MAX_REGION >> 10
        if not grows:
            raise LeftOutError("brk that fails, or of another process")
        self._end = to
        return f"k{to}"


def learn(tree: Tree, call: TracedCall, opened: OpenFile | None, paths: Sequence[str]) -> None:
    """Put into ``tree`` what a call tells of files before the trace, and what it changes."""
    name, text = call.name, " ".join(call.arguments)
    if call.error:
        for path in paths:
            tree.failed(path, call.error, name)
        return
    whole = paths[0] if paths else opened.path if opened else None
    if name in ("open", "openat", "creat") and ("O_CREAT" in text or name == "creat"):
        tree.created(paths[0])
    elif name.startswith(("rename", "link")) and any(map(tree.holds_links, paths)):
        raise LeftOutError(f"{name} of a symbolic link")
    elif name in CHANGES:
        for path in paths[:1] if name not in ("mkdir", "mkdirat") else ():
            tree.exists(path, folder=name == "rmdir" or "AT_REMOVEDIR" in text)
        for path in paths:
            tree.created(path) if name in ("mkdir", "mkdirat") else tree.changed(path)
    elif name.startswith("readlink") and paths:
        tree.link(paths[0], string(call.arguments[-2]))
    else:
        folder = name == "chdir" or "O_DIRECTORY" in text
        for path in paths:
            tree.exists(path, folder=folder)
    if whole is None:
        return
    if status := STATUS.search(text):
        tree.status(whole, status[1], int(status[2]))
    if opened is None:
        return
    if name == "getdents64" and (entries := _ENTRIES.search(text)):
        opened.at[1] += int(entries[1])
        tree.entries(whole, opened.at[1])
    moved = value(call.result)
    if name in WRITES:
        tree.changed(whole)
    if name in ("read", "readv", "write", "writev"):
        opened.at[0] += moved
        if name.startswith("read"):
            tree.read(whole, opened.at[0])
    elif name == "pread64":
        tree.read(whole, value(call.arguments[3]) + moved)
    elif name == "lseek":
        opened.at[0] = moved
        opened.at[1] = opened.at[1] if moved else 0
