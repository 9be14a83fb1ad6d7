"""A traced program as a workload: its system calls one after the other, by one process of a guest,
with files as the trace shows them (``collectors/guest/replay.c`` executes the script).

The script's grammar: ``P PATH`` (escaped, numbered from 0), ``D F L V M E N O`` PATH-NUMBER ...: a
folder, a file with size and bytes that are read, a link, a device, proc, entries of a folder, what
is not there, a descriptor from before; ``W PATH-NUMBER``: the current folder; ``C NAME FAILS RESULT
ARGUMENT...``: a call, whose arguments are values, paths, slots of descriptors, and places in
regions of memory; ``X SLOT``: a close() that the trace lacks, at the end of a process.
"""

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from urllib.parse import quote_from_bytes

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.recording.replay_calls import (
    CALLS,
    DESCRIPTOR,
    ERRORS,
    FORKS,
    LENGTH,
    Memory,
    OpenFile,
    Process,
    Slots,
    TracedCall,
    count,
    learn,
    read,
    string,
    value,
)
from profdiff.recording.replay_tree import LeftOutError, Tree, normal
from profdiff.session.manifest import Replayed

_MAX_BUFFER = 16 << 20
_PIPE, _NONBLOCK = 65536, 0o4000
_MAX_PROCESSES, _MAX_REASONS = 4096, 500
# Those whose buffer is as large as they ask; a kernel fills at most 64 KiB for all others.
_SIZED = {"read", "write", "pread64", "pwrite64", "getdents64", "getrandom"}
_PAIR = re.compile(r"\[([0-9]{1,7})(?:<[^<>]*>)?, ([0-9]{1,7})(?:<[^<>]*>)?\]")
_FCNTL = {"F_DUPFD", "F_DUPFD_CLOEXEC", "F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL"}


class Script:
    """What is replayed of a trace, as it grows."""

    def __init__(self) -> None:
        self.tree = Tree()
        self._lines: list[str] = []
        self._processes: dict[int, Process] = {}
        self._forking: list[tuple[int, bool]] = []
        self._slots = Slots()
        self._memory = Memory(self.tree)
        self._buffer = 1 << 16
        self._folder: str | None = None
        self._runner_folder = ""
        self.left_out: Counter[str] = Counter()
        self.calls = 0
        self._own: dict[str, Callable[[TracedCall, Process], None]] = {
            **{"mmap": self._mmap, "mremap": self._mremap, "brk": self._brk},
            **{"close": self._close, "pipe": self._pair, "pipe2": self._pair},
            **{"socketpair": self._pair, "dup2": self._dup, "dup3": self._dup},
        }

    def add(self, call: TracedCall) -> None:
        """One call more, or the reason why not."""
        process = self._process(call.pid)
        if call.name in FORKS:
            self._fork(call, process)
        if call.begins:
            return
        self.calls += 1
        try:
            self._add(call, process)
        except (LeftOutError, IndexError) as error:
            reason = f"{call.name}, cut" if isinstance(error, IndexError) else str(error)
            known = reason in self.left_out or len(self.left_out) < _MAX_REASONS
            self.left_out[reason if known else "others"] += 1
            if call.name == "close" and call.arguments:
                self._drop(process, call.arguments[0])
        if call.name == "execve" and not call.error:
            self._exec(process)
        elif call.name == "exit_group":
            for number in list(process.files):
                self._drop(process, str(number))

    @property
    def replayed(self) -> Replayed:
        """How much of the trace is replayed."""
        left = dict(self.left_out.most_common())
        return Replayed(calls=self.calls, replayed=self.calls - sum(left.values()), left_out=left)

    def text(self) -> str:
        """The script. Raises InputError where nothing is replayed, or files are too large."""
        if not self._lines:
            raise InputError("nothing of the trace can be replayed")
        start = self._folder or "/work"
        self.tree.exists(start, folder=True)
        folder = self.tree.number(start if self.tree.folder(start) else "/")
        tree = self.tree.lines()
        paths = [f"P {quote_from_bytes(path.encode(errors='surrogateescape'))}" for path in
                 self.tree.paths]  # fmt: skip
        numbers = len(paths), len(tree), self._slots.number, self._memory.regions, len(self._lines)
        head = " ".join(map(str, ("profdiff-replay 1", *numbers, self._buffer)))
        lines = [head, *paths, f"W {folder}", *tree]
        return "\n".join([*lines, *self._lines, ""])

    def _process(self, pid: int) -> Process:
        if pid not in self._processes:
            if len(self._processes) >= _MAX_PROCESSES:
                raise InputError(f"the trace has more than {_MAX_PROCESSES:,} processes")
            begun, shares = self._forking[-1] if self._forking else (0, True)
            # Before a trace tells of a second process, it tells no number of the first.
            parent = self._processes.get(begun)
            if parent is None:
                self._processes[pid] = Process(self._folder or "/work")
            else:
                self._processes[pid] = parent if shares else self._child(parent)
        return self._processes[pid]

    def _child(self, parent: Process) -> Process:
        for one in parent.files.values():
            one.names += 1
        return Process(parent.folder, dict(parent.files))

    def _fork(self, call: TracedCall, process: Process) -> None:
        shares = "CLONE_FILES" in " ".join(call.arguments)
        self._forking = [one for one in self._forking if one[0] != call.pid]
        if call.begins:
            self._forking.append((call.pid, shares))
            return
        found = re.match(r"[0-9]{1,10}\b", call.result)
        child = int(found[0]) if found else 0
        if child and child not in self._processes and len(self._processes) < _MAX_PROCESSES:
            self._processes[child] = process if shares else self._child(process)

    def _exec(self, process: Process) -> None:
        for number, one in list(process.files.items()):
            if one.closes_at_exec:
                self._drop(process, str(number))
        process.regions, process.breaks = [], None

    def _drop(self, process: Process, text: str, *, closes: bool = True) -> None:
        """Free a number. ``closes``: close the file, too, if it has no other."""
        found = DESCRIPTOR.fullmatch(text)
        if found and found[1].isdigit() and (one := process.files.pop(int(found[1]), None)):
            one.names -= 1
            if not one.names and closes:
                self._lines.append(f"X {one.slot}")
                self._slots.free(one.slot)

    def _add(self, call: TracedCall, process: Process) -> None:
        if call.result.startswith("?"):
            raise LeftOutError(call.name)
        if call.error and call.error not in ERRORS:
            raise LeftOutError(f"{call.name} with {call.error}")
        if call.name in self._own:
            self._own[call.name](call, process)
            return
        if call.name not in CALLS:
            raise LeftOutError(call.name)
        if call.name.endswith("xattr") and not call.error and value(call.result):
            raise LeftOutError(f"{call.name} that finds some")
        letters, _, result = CALLS[call.name].partition(">")
        self._sizes(call, letters)
        if call.name == "fcntl" and call.arguments[1] not in _FCNTL:
            raise LeftOutError("fcntl with another command")
        words, opened, paths = self._words(call, process, letters)
        if call.name == "eventfd2" or "F_SETFL" in call.arguments[1:2]:
            number = 1 if call.name == "eventfd2" else 2
            words[number] = f"v{int(words[number][1:]) | _NONBLOCK}"
        self._flow(call, opened)
        for path in paths:
            self._check(path, call.error)
        learn(self.tree, call, opened, paths)
        made = "-"
        if not call.error and (result or "F_DUPFD" in " ".join(call.arguments)):
            made = f"f{self._opened(call, process, opened, paths)}"
        if not call.error and call.name in ("chdir", "fchdir"):
            self._runner_folder = process.folder = (
                paths[0] if paths else (opened or OpenFile(0)).path or "/"
            )
        self._emit(call.name, bool(call.error), made, words)

    def _emit(self, name: str, fails: bool, result: str, words: Iterable[str]) -> None:
        self._lines.append(f"C {name} {int(fails)} {result} {' '.join(words)}".rstrip())

    def _sizes(self, call: TracedCall, letters: str) -> None:
        if len(call.arguments) < len(letters.rstrip("n1")):
            raise LeftOutError(f"{call.name}, cut")
        if "b" in letters:
            sized = [text for text, letter in zip(call.arguments, letters, strict=False)
                     if letter == "n"]  # fmt: skip
            largest = max((value(text) for text in sized[:1]), default=0)
            if call.name in _SIZED:
                self._grow(largest, call.name)

    def _grow(self, size: int, name: str) -> None:
        if not 0 <= size <= _MAX_BUFFER:
            raise LeftOutError(f"{name} of more than 16 MiB")
        self._buffer = max(self._buffer, size)

    def _words(
        self, call: TracedCall, process: Process, letters: str
    ) -> tuple[list[str], OpenFile | None, list[str]]:
        words: list[str] = []
        opened: OpenFile | None = None
        paths: list[str] = []
        folder: OpenFile | None = None
        for text, letter in zip(call.arguments, letters, strict=False):
            if letter == "D":
                folder = None
                if text.startswith("AT_FDCWD"):
                    words.append("v-100")
                    self._current(process, text)
                else:
                    folder = self._file(process, text, call.name)
                    words.append(f"f{folder.slot}")
            elif letter == "p":
                path = string(text)
                if (path is None and text != "NULL") or "\0" in (path or ""):
                    raise LeftOutError(f"{call.name}, cut")
                empty = not path
                if empty and folder is None:
                    raise LeftOutError(f"{call.name} without a path")
                base = (folder.path if folder else process.folder) or "/"
                whole, left = self.tree.resolve(posixpath.join(base, path or ""))
                if empty and folder:
                    opened = folder
                    words.append(f"p{self.tree.number('')}")
                    continue
                moved = folder is None and process.folder != self._runner_folder
                words.append(f"p{self.tree.number(whole if moved else path or '')}")
                paths.append(whole)
                for place in left if not call.error else ():
                    self._check(place)
                    self.tree.folder(place)
            elif letter == "f":
                opened = self._file(process, text, call.name)
                words.append(f"f{opened.slot}")
            elif letter == "r":
                start, size = value(text), value(call.arguments[1])
                unmaps = call.name == "munmap" and not call.error
                words.append(self._memory.place(process, start, size, call.name, unmaps=unmaps))
            elif letter == "s":
                words.append(f"p{self.tree.number(string(text) or '')}")
            elif letter == "b":
                words.append("v0" if text == "NULL" else "b")
            elif letter == "i":
                total = sum(map(int, LENGTH.findall(text)))
                self._grow(total, call.name)
                words.append(f"i{total}")
            else:
                words.append("v1" if letter == "1" else f"v{value(text)}")
        return words, opened, paths

    def _current(self, process: Process, text: str) -> None:
        """The folder in which a process is, where strace -y tells."""
        found = DESCRIPTOR.fullmatch(text)
        if self._folder is None:
            known = normal(found[2]) if found and (found[2] or "").startswith("/") else "/work"
            self._folder = self._runner_folder = known
            for one in self._processes.values():
                one.folder = known
            self.tree.folder(known)

    def _file(self, process: Process, text: str, name: str) -> OpenFile:
        found = DESCRIPTOR.fullmatch(text)
        if not found or not found[1].isdigit():
            raise LeftOutError(f"{name}, cut")
        one = process.files.get(int(found[1]))
        if one is None:
            path = found[2] or ""
            if not path.startswith("/") or path.startswith(("/dev/pts", "/dev/tty")):
                raise LeftOutError(f"{name} of a descriptor from before, or that is not replayed")
            path, _ = self.tree.resolve(path)
            self._check(path)
            one = process.files[int(found[1])] = OpenFile(self._slots.take(fresh=True), path)
            self.tree.exists(path)
            self.tree.before(path, one.slot)
        return one

    def _check(self, path: str, error: str = "") -> None:
        if reason := self.tree.refusal(path, fails=bool(error)):
            raise LeftOutError(reason)

    def _flow(self, call: TracedCall, opened: OpenFile | None) -> None:
        """What is in a pipe: who reads must not wait for what is not replayed."""
        if opened is None or opened.held is None or call.error:
            return
        if call.name not in ("read", "readv", "write", "writev"):
            return
        moved = min(value(call.result), count(call))
        if call.name.startswith("read"):
            if not 0 < moved <= opened.held[0]:
                raise LeftOutError("read of a pipe whose writer is not replayed")
            opened.held[0] -= moved
        elif opened.held[0] + moved > _PIPE:
            raise LeftOutError("write to a pipe whose reader is not replayed")
        else:
            opened.held[0] += moved

    def _opened(
        self, call: TracedCall, process: Process, opened: OpenFile | None, paths: Sequence[str]
    ) -> int:
        """The slot of the descriptor that a call made."""
        number = value(call.result)
        self._drop(process, str(number))
        one = OpenFile(self._slots.take(), paths[0] if paths else opened.path if opened else None)
        if opened and not paths:
            one.at, one.held = opened.at, opened.held
        text = " ".join(call.arguments)
        one.closes_at_exec = "CLOEXEC" in text
        process.files[number] = one
        return one.slot

    def _close(self, call: TracedCall, process: Process) -> None:
        one = self._file(process, call.arguments[0] if call.arguments else "", "close")
        if one.names > 1:
            raise LeftOutError("close of a descriptor that another process has")
        self._drop(process, call.arguments[0], closes=False)
        self._slots.free(one.slot)
        self._emit("close", bool(call.error), "-", [f"f{one.slot}"])

    def _dup(self, call: TracedCall, process: Process) -> None:
        old = self._file(process, call.arguments[0], call.name)
        number = value(call.arguments[1])
        target = process.files.get(number)
        if target is old:
            raise LeftOutError(f"{call.name} of a descriptor to itself")
        more = [f"v{value(call.arguments[2])}"] if call.name == "dup3" else []
        free = target is None or target.names > 1
        slot = self._slots.take() if free or target is None else target.slot
        self._drop(process, str(number), closes=False)
        made = copy(old)
        made.slot, made.names, made.closes_at_exec = slot, 1, "CLOEXEC" in call.arguments[-1]
        process.files[number] = made
        self._emit(call.name, False, f"f{slot}", [f"f{old.slot}", f"t{slot}", *more])

    def _pair(self, call: TracedCall, process: Process) -> None:
        text = " ".join(call.arguments)
        found = _PAIR.search(text)
        if call.error or not found or (call.name == "socketpair" and "AF_UNIX" not in text):
            raise LeftOutError(call.name)
        if call.name == "socketpair":
            # What one end writes, the other reads; both directions are told as one.
            words = [f"v{value(one)}" for one in call.arguments[:3]]
            words = [words[0], f"v{value(call.arguments[1]) | _NONBLOCK}", words[2], "b"]
            name = "socketpair"
        else:
            flags = value(call.arguments[1]) if call.name == "pipe2" else 0
            name, words = "pipe2", ["b", f"v{flags | _NONBLOCK}"]
        for number in found.groups():
            self._drop(process, number)
        held, closes = [0], "CLOEXEC" in text
        ends = [OpenFile(self._slots.take(), None, 1, held=held, closes_at_exec=closes)
                for _ in "ab"]  # fmt: skip
        process.files |= zip(map(int, found.groups()), ends, strict=True)
        self._emit(name, False, f"d{ends[0].slot},{ends[1].slot}", words)

    def _mmap(self, call: TracedCall, process: Process) -> None:
        file = None
        if len(call.arguments) == 6 and "MAP_ANONYMOUS" not in call.arguments[3]:
            file = self._file(process, call.arguments[4], "mmap")
        result, words = self._memory.mmap(call, process, file)
        self._emit("mmap", False, result, words)

    def _mremap(self, call: TracedCall, process: Process) -> None:
        self._emit("mremap", False, *self._memory.mremap(call, process))

    def _brk(self, call: TracedCall, process: Process) -> None:
        self._emit("brk", False, "-", [self._memory.brk(call, process)])


def written(trace: Path, folder: Path) -> tuple[Path, Replayed]:
    """The script of a trace, in a folder of its own below ``folder``. Raises InputError."""
    script = Script()
    for call in read(trace):
        script.add(call)
    text = script.text().encode()
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", trace.stem).lstrip(".")[:60] or "trace"
    file = folder / hashlib.sha256(text).hexdigest()[:16] / f"{name}.replay"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, text, durable=False)
    return file, script.replayed
