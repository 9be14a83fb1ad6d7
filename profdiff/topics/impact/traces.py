"""How often a program made each system call, as traces of several tools tell. A file is read line
by line: how large it is does not matter."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.recording.replay_calls import HEAD
from profdiff.session import opened
from profdiff.session.manifest import Run
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.state import SYSTEM_CALL, is_count, run_facts
from profdiff.symbolization._native import NativeError, PerfData, is_perf_data

# What is longer is not a call that anyone prints; what is behind that in a line is not read.
_MAX_LINE = 64 * 2**10
# Different calls by size and outcome, and calls that have begun.
_MAX_CALLS, _MAX_BEGUN = 100_000, 65_536
_DAY = 86_400.0
# Tracepoints are named for functions of the kernel (fs/stat.c: SYSCALL_DEFINE2(newfstat, ...)), and
# perf trace has names of its own (tools/perf/builtin-trace.c).
_NAMES = {
    **{"newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname"},
    **{"sendfile64": "sendfile", "umount": "umount2", "fstatat": "newfstatat"},
    **{"pread": "pread64", "pwrite": "pwrite64", "prlimit": "prlimit64"},
}
# Calls whose result is their size, and whose second argument is.
_BY_RESULT = {"read", "pread64", "write", "pwrite64", "recvfrom", "sendto", "sendfile", "getrandom"}
_BY_LENGTH = {"mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "msync", "mlock"}
SIZED = _BY_RESULT | _BY_LENGTH

_STRACE = re.compile(HEAD.encode())
_PERF_TRACE = re.compile(
    rb" *(?:(\d{1,12}\.\d{1,9})|\?) \( *(?:\d[\d.]* ms *)?\): (?:.{1,20}/\d{1,10} +)?"
    rb"(?:\.\.\. \[continued\]: )?([a-z_]\w{0,39})\("
)
_PERF_SCRIPT = re.compile(
    rb" (\d{1,12}\.\d{1,9}): +(?:\d+ +)?(?:raw_syscalls:sys_enter: NR (\d{1,4}) |"
    rb"syscalls:sys_enter_(\w{1,40}):)"
)
_BPFTRACE = re.compile(rb"@\w{0,40}\[(?:[^\]]*[ ,:])?(?:sys_enter_)?(\w{1,40})\]: (\d{1,18})\s*$")
_STRACE_TABLE = re.compile(
    rb" *[\d.]+ +[\d.]+ +\d+ +(\d{1,18}) +(?:(\d{1,18}) +)?([a-z_]\w{0,39})\s*$"
)
_PERF_TABLE = re.compile(
    rb" +([a-z_]\w{0,39}) +(\d{1,18})(?: +(\d{1,18}))?(?: +\d+\.\d+){4} +[\d.]+%\s*$"
)
_LENGTH = re.compile(rb"(?:^[^,:]*, |\blen: )(0x[0-9a-f]{1,16}|\d{1,20})\b")
_NUMBER = re.compile(r"syscall_0x([0-9a-f]{1,4})|[0-9]{1,4}")
_SIZE = re.compile(rb"\d{1,20}(?![\dx])")


class Call(NamedTuple):
    """``bits``: how many its size in bytes has, None where the trace does not tell."""

    name: str
    bits: int | None = None
    failed: bool = False


class Trace(msgspec.Struct, frozen=True):
    """``tool``: what made it; ``seconds``: how long it lasts by its own times, None without any."""

    name: str
    tool: str
    counts: Counter[Call]
    seconds: float | None

    @staticmethod
    def read(path: Path, numbers: dict[str, str]) -> "Trace":
        """The calls in a trace, a perf.data file, or a session. ``numbers``: names of calls by
        x86-64's numbers. Raises InputError, SessionError."""
        if path.is_dir():
            return _of_session(path)
        try:
            if path.is_file() and is_perf_data(str(path)):
                return _of_perf_data(path)
            with bounded.open_regular(path) as file:
                return _Reader(numbers).read(file, path.name)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except NativeError as error:
            raise InputError(str(error)) from error


def _of_session(path: Path) -> Trace:
    """The calls that a session's workload made on its base, at its first point."""
    found = opened.open(path)
    if not isinstance(found, Session):
        raise InputError(f"{path} has several sessions: name one")
    first = settings(found.manifest)[0].point
    base = found.manifest.kernels[0].label
    counts: Counter[Call] = Counter()
    for run in found.manifest.runs:
        if run.kernel == base and run.point == first and not counts:
            counts.update({Call(name): number for name, number in calls_of(found, run).items()})
    if not counts:
        raise InputError(f"{path} does not have its program's system calls: trace it with strace")
    return Trace(path.name, "profdiff", counts, None)


def calls_of(session: Session, run: Run) -> dict[str, int]:
    """How often the command of a run makes each system call; nothing where that is not known."""
    facts = run_facts(session, run)
    return {
        name.removeprefix(SYSTEM_CALL): int(value)
        for name, value in facts.items()
        if name.startswith(SYSTEM_CALL) and is_count(value)
    }


def _of_perf_data(path: Path) -> Trace:
    """By the names of its tracepoints: a sample's own data is not read."""
    data = PerfData.open(str(path))
    counts: Counter[Call] = Counter()
    for event, weight in zip(data.entry_event.tolist(), data.entry_weight.tolist(), strict=True):
        _, found, name = data.events[event].name.partition("syscalls:sys_enter_")
        if found:
            counts[Call(_named(name))] += weight
    if counts:
        return Trace(path.name, "perf record", counts, None)
    if any(event.name == "raw_syscalls:sys_enter" for event in data.events):
        raise InputError(
            f"{path.name} has the numbers of system calls in data that profdiff does not read: "
            f"give what 'perf script -i {path.name}' prints"
        )
    raise InputError(f"{path.name} has no system calls: perf record -e 'syscalls:sys_enter_*'")


class _Reader:
    """Reads lines; each kind of line counts by itself."""

    def __init__(self, numbers: dict[str, str]) -> None:
        self._numbers = numbers
        self._counts = {kind: Counter[Call]() for kind in _KINDS}
        self._begun: dict[bytes, tuple[bytes, bytes]] = {}
        self._first: float | None = None
        self._last: float | None = None
        self._days = 0.0

    def read(self, file: BinaryIO, name: str) -> Trace:
        """Raises InputError for a file without a call."""
        kinds: list[Callable[[_Reader, bytes], bool]] = list(_KINDS.values())
        for line in _lines(file):
            for kind in kinds:
                if kind(self, line):
                    if kind is not kinds[0]:
                        # Most lines are as the one before.
                        kinds.remove(kind)
                        kinds.insert(0, kind)
                    break
        for call, arguments in self._begun.values():
            self._add("strace", call, arguments, b"")
        known = set(self._numbers.values())
        for tool, counts in self._counts.items():
            if any(call.name in known for call in counts):
                timed = self._first is not None and self._last is not None
                seconds = (self._last or 0) - (self._first or 0) if timed else 0
                return Trace(name, tool, counts, seconds or None)
        raise InputError(
            f"{name} has no known system call: give what strace -f -tt, strace -c, "
            "perf trace, perf script or bpftrace writes"
        )

    def _strace(self, line: bytes) -> bool:
        found = _STRACE.match(line)
        if found is None:
            return False
        pid, other, hours, minutes, seconds, plain, resumed, name = found.groups()
        pid = pid or other or b""
        if hours:
            self._at(int(hours) * 3600 + int(minutes) * 60 + float(seconds) + self._days)
        elif plain:
            value = float(plain)
            # -r has the time since the call before, -ttt that since 1970.
            self._at(value if value >= 1e6 else (self._last or 0) + value)
        rest = line[found.end() :]
        if resumed:
            # Without -o, the only process has no pid until there are two.
            if pid not in self._begun and self._begun.get(b"", (b"",))[0] == resumed:
                pid = b""
            begun = self._begun.pop(pid, (b"", b""))
            self._add("strace", resumed, *_ended(begun[1] + rest))
        elif rest.endswith(b"<unfinished ...>\n"):
            if len(self._begun) < _MAX_BEGUN:
                self._begun[pid] = name, rest[:256]
        else:
            self._add("strace", name, *_ended(rest))
        return True

    def _perf_trace(self, line: bytes) -> bool:
        found = _PERF_TRACE.match(line)
        if found is None:
            return False
        rest = line[found.end() :]
        arguments, result = _ended(rest)
        # Without a result it has begun; another line is about its end.
        if result:
            if found[1]:
                self._at(float(found[1]) / 1000)
            self._add("perf trace", found[2], arguments, result)
        return True

    def _perf_script(self, line: bytes) -> bool:
        found = _PERF_SCRIPT.search(line[:512])
        if found is None:
            return False
        self._at(float(found[1]))
        self._add("perf script", found[2] or found[3], b"", b"")
        return True

    def _bpftrace(self, line: bytes) -> bool:
        found = _BPFTRACE.match(line)
        if found is not None:
            self._add("bpftrace", found[1], b"", b"", int(found[2]))
        return found is not None

    def _strace_table(self, line: bytes) -> bool:
        found = _STRACE_TABLE.match(line)
        if found is not None and found[3] != b"total":
            self._add_row("strace -c", found[3], found[1], found[2])
        return found is not None

    def _perf_table(self, line: bytes) -> bool:
        found = _PERF_TABLE.match(line)
        if found is not None:
            self._add_row("perf trace -s", found[1], found[2], found[3])
        return found is not None

    def _add_row(self, kind: str, name: bytes, calls: bytes, errors: bytes | None) -> None:
        failed = min(int(errors or 0), int(calls))
        self._add(kind, name, b"", b"", int(calls) - failed)
        self._add(kind, name, b"", b"-1", failed)

    def _add(
        self, kind: str, name: bytes, arguments: bytes, result: bytes, number: int = 1
    ) -> None:
        text = name.decode("ascii", "replace")
        if number_of := _NUMBER.fullmatch(text):
            value = int(number_of[1], 16) if number_of[1] else int(text)
            text = self._numbers.get(str(value), text)
        text = _named(text)
        # A call that a signal interrupts: "= ? ERESTARTSYS (To be restarted ...)".
        failed = result.startswith((b"-", b"? E"))
        size = None
        if text in _BY_RESULT and not failed:
            found = _SIZE.match(result)
            size = int(found[0]) if found else None
        elif text in _BY_LENGTH and (length := _LENGTH.search(arguments[:256])):
            size = int(length[1], 16 if length[1].startswith(b"0x") else 10)
        counts = self._counts[kind]
        if number:
            counts[Call(text, None if size is None else size.bit_length(), failed)] += number
        if len(counts) > _MAX_CALLS:
            raise InputError(f"more than {_MAX_CALLS:,} different calls: this file is not a trace")

    def _at(self, seconds: float) -> None:
        if self._first is None:
            self._first = seconds
        elif self._last is not None and seconds < self._last - _DAY / 2:
            # The clock of -tt has passed midnight.
            self._days += _DAY
            seconds += _DAY
        self._last = max(seconds, self._last or seconds)


# What a line can be; where a file has several, the first of them tells all calls.
_KINDS: dict[str, Callable[[_Reader, bytes], bool]] = {
    "strace": _Reader._strace,
    "perf trace": _Reader._perf_trace,
    "perf script": _Reader._perf_script,
    "bpftrace": _Reader._bpftrace,
    "strace -c": _Reader._strace_table,
    "perf trace -s": _Reader._perf_table,
}


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Each line, of a long one its beginning."""
    inside = False
    for piece in iter(partial(file.readline, _MAX_LINE), b""):
        if not inside:
            yield piece
        inside = not piece.endswith(b"\n")


def _ended(rest: bytes) -> tuple[bytes, bytes]:
    """The arguments of a call and what it returned, "" where that is not there."""
    arguments, equals, result = rest.rpartition(b" = ")
    return (arguments, result[:32]) if equals else (rest, b"")


def _named(name: str) -> str:
    return _NAMES.get(name, name)
