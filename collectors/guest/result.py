"""What a run left, whichever collector made it, and how its end is judged.

What a kernel's console says of why it failed: the cause, not what followed from it.

The lines are those of lib/bug.c, kernel/panic.c, mm/oom_kill.c, init/initramfs.c, init/do_mounts.c,
and what the architectures name.
"""

import gzip
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from profdiff.base.atomic import open_atomic
from profdiff.base.errors import InputError
from profdiff.base.metric import WALL_TIME
from profdiff.base.terminal import last_line, read_end, short
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.records import (
    ABSENT,
    NOT_THERE,
    Clock,
    Failure,
    Instructions,
    Measured,
    Sampling,
    Window,
)
from profdiff.collectors.workload.usage import Usage, parse_usage

# How a workload says that the kernel lacks what it calls: what the kernel's selftests exit with
# (tools/testing/selftests/kselftest.h, KSFT_SKIP), besides ``NOT_THERE``.
_SKIPPED = 4
# Large text is compressed.
_COMPRESSED = ("kallsyms", "config", "dmesg")


@dataclass(frozen=True)
class Left:
    """What a run left in ``folder``: ``files`` there, by what they are; or why it left nothing.
    ``options`` are the collector's. ``emulated``: in a guest without a processor of its own;
    ``has_marks``: the program holds marks."""

    folder: Path
    files: dict[str, str]
    failure: Failure | None
    options: Mapping[str, Any]
    emulated: bool
    has_marks: bool

    def path(self, what: str) -> Path:
        """Where a file is. Raises KeyError."""
        return self.folder / self.files[what]

    def read(self, what: str) -> bytes:
        """A file whole; empty if there is none. Raises OSError."""
        return self.path(what).read_bytes() if what in self.files else b""

    def end(self, what: str) -> bytes:
        """A file's end, however long it is; empty if there is none. Raises OSError."""
        return read_end(self.path(what)) if what in self.files else b""

    def executions(self) -> list[Usage]:
        """Each execution of the workload by the agent. Raises OSError."""
        return parse_usage(self.read("usage"), self.read("stdout"))

    def wall_time(self) -> list[Measured]:
        """The time of each execution, as one metric; nothing where the agent did not tell. Raises
        OSError."""
        told = [
            execution.values for execution in self.executions() if "wall_ns" in execution.values
        ]
        walls = [float(values["wall_ns"]) for values in told]
        one = WALL_TIME
        return [Measured(one.name, one.unit, one.better, True, walls)] if walls else []


@dataclass(frozen=True)
class Result:
    """A finished run: the files to keep, why it failed if it did, and what it says of itself.
    ``remarks``: what a reader of its values must know, a clause each."""

    files: Mapping[str, str]
    exit_status: int | None = None
    failure: Failure | None = None
    window: Window | None = None
    sampling: Sampling | None = None
    instructions: Instructions | None = None
    clock: Clock | None = None
    measured: list[Measured] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def agents_result(left: Left, measure: Callable[[Left], list[Measured]]) -> Result:
    """The result where the agent ran the workload, ``measure``d if that went well. Raises
    OSError."""
    if left.failure:
        return Result(left.files, failure=left.failure)
    status, failure = exit_status(left.end("status"))
    if failure is None and status is None:
        reason = last_line(left.end("stderr")) or "the agent did not say why"
        failure = Failure("protocol", f"the workload did not run: {reason}")
    result = Result(left.files, status, failure and with_output(failure, left, status))
    if failure:
        return result
    result = replace(result, window=Window(kind="command", count=len(left.executions())))
    try:
        return replace(result, measured=measure(left))
    except InputError as error:
        return replace(result, failure=Failure("metric", str(error)))


def take_files(folder: Path, names: Iterable[str], called: Mapping[str, str]) -> dict[str, str]:
    """What a run sent to ``folder``: what it is (``called`` so where that is not its name), to its
    name there. Raises OSError."""
    files: dict[str, str] = {}
    for name in sorted(names):
        path = folder / name
        files[called.get(name, name)] = f"{name}.gz" if name in _COMPRESSED else name
        if name in _COMPRESSED:
            with (
                path.open("rb") as plain,
                open_atomic(folder / f"{name}.gz") as file,
                gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
            ):
                shutil.copyfileobj(plain, packed, 1 << 20)
            path.unlink()
    return files


def guest_files(folder: Path) -> dict[str, str]:
    """What QEMU itself left in ``folder``; the channel has been read and goes."""
    (folder / "channel").unlink(missing_ok=True)
    own = {"console": "console.log", "qemu-stderr": "qemu.stderr"}
    return {what: name for what, name in own.items() if (folder / name).exists()}


def too_few_cpus(told: Path, cpus: int) -> Failure | None:
    """Why a run is not a result of a guest with so many vCPUs, which ``told`` how many it used; the
    file goes. None where that is right, or not known. Raises OSError."""
    text = read_end(told).strip()
    told.unlink()
    if not re.fullmatch(rb"[0-9]{1,4}", text) or (used := int(text)) >= cpus:
        return None
    return Failure(
        "boot",
        f"the kernel used {used} of {cpus} vCPUs: give it a config with CONFIG_SMP=y and a "
        "CONFIG_NR_CPUS that is large enough, or name fewer with --cpus",
    )


def exit_status(text: bytes) -> tuple[int | None, Failure | None]:
    """The workload's exit status from the agent's words, and its failure if it is one."""
    if not text:
        return None, None
    what, _, value = text.decode(errors="replace").strip().partition(" ")
    # As wait(2) gives them.
    number = int(value) if re.fullmatch(r"[0-9]{1,3}", value) else None
    if what == "exit" and number is not None:
        failed = Failure("workload", f"the workload ended with exit status {number}")
        return number, failed if number else None
    if what == "signal" and number is not None:
        return None, Failure("workload", f"the workload was killed by signal {number}")
    if what == "exec":
        reason = short(value)
        return None, Failure("workload", f"the guest cannot execute the workload: {reason}")
    return None, Failure("protocol", "no exit status was reported")


def with_output(failure: Failure, left: Left, status: int | None) -> Failure:
    """A failure of the workload's with what it said last, and what a guest's kernel had against it;
    none of its own if it said that the kernel lacks what it calls. Raises OSError."""
    if failure.kind != "workload":
        return failure
    text = last_line(left.end("stderr"))
    if status == _SKIPPED and text.startswith(NOT_THERE):
        return Failure(ABSENT, text)
    message = f"{failure.message} ({text})" if text else failure.message
    cause = trouble(read(left.path("console"))) if "console" in left.files else None
    if cause is None:
        return Failure(failure.kind, message, failure.console)
    return Failure(failure.kind, f"{message}; the kernel says: {cause}", cause.lines)


CONSOLE_LINES = 12
_PANIC = "Kernel panic - not syncing: "
# In front of every line: the time, and with CONFIG_PRINTK_CALLER who printed it.
_STAMP = re.compile(r"^(?:\[[^\]]{1,40}\]\s?)+")
_OOPS = re.compile(
    "|".join(
        [
            "BUG: |kernel BUG at |Oops: |Unable to handle kernel ",
            *(architecture.oops for architecture in ARCHITECTURES),
        ]
    )
)
_STUCK = re.compile(r"watchdog: BUG: |rcu: INFO: .{0,40}stalls? ")
# What lets a kernel panic of something else, at its start and later.
_BEFORE = re.compile(
    r"traps: init\[1\]|init\[1\]: |check access for rdinit=|Initramfs unpacking failed|"
    r"Failed to execute /init"
)
_KILLED = re.compile(r"Out of memory: Killed process |Memory cgroup out of memory: Killed ")
_NO_MEMORY = re.compile(r"System is deadlocked on memory|Out of memory")
_FAULTS = "|".join(architecture.fault for architecture in ARCHITECTURES)
_FAULT = re.compile(rf"(?:{_FAULTS})([A-Za-z_][\w.]{{0,100}})\+0x")
_FRAME = re.compile(r"\s+([A-Za-z_][\w.]{0,100})\+0x[0-9a-f]+/0x")
# How the kernel reports, and what runs beneath every report.
_REPORTERS = re.compile(
    r"(__|v|nmi_)?panic|dump_(stack(_lvl)?|backtrace)|show_stack|(__)?die(_body)?|oops_end"
)
# How far behind its first line an oops or a call trace names a function.
_NEAR = 60


@dataclass(frozen=True)
class Trouble:
    """``text``: the cause as the kernel says it; ``function``: where it was, if the kernel says;
    ``panic``: what it panicked of, None if it did not; ``lines``: of the console, with both."""

    text: str
    function: str | None
    panic: str | None
    lines: list[str]

    def __str__(self) -> str:
        """``TEXT, in FUNCTION() (then: PANIC)``."""
        where = f", in {self.function}()" if self.function else ""
        then = f" (then: {self.panic})" if self.panic and self.panic != self.text else ""
        return f"{self.text}{where}{then}"


def read(path: Path) -> list[str]:
    """The lines of a console that are not blank, at most the last MiB; none of an absent file.
    Raises OSError."""
    try:
        data = read_end(path, 1 << 20)
    except FileNotFoundError:
        return []
    text = data.decode(errors="replace").replace("\r", "")
    # Escape sequences of firmware and control characters do not belong on a terminal.
    text = re.sub(r"\x1b\[[0-9;?=]*[A-Za-z]|[^\n\t -~]", "", text)
    return [line for line in text.splitlines() if line.strip()]


def trouble(console: Sequence[str]) -> Trouble | None:
    """Why a kernel failed that wrote ``console``; None if it does not say."""
    lines = [_STAMP.sub("", line) for line in console]
    end = next((n for n, line in enumerate(lines) if line.startswith(_PANIC)), None)
    panic = None if end is None else short(lines[end].removeprefix(_PANIC))
    before = range(len(lines) if end is None else end)
    out_of_memory = panic is not None and _NO_MEMORY.match(panic)
    wanted = [_OOPS, _STUCK, _KILLED] if panic is None else [_OOPS, _STUCK, _BEFORE]
    start = None
    for pattern in () if out_of_memory else wanted:
        if start is None:
            start = next((n for n in before if pattern.match(lines[n])), None)
    if start is None and end is None:
        return None
    first = end if start is None else start
    assert first is not None  # noqa: S101 - one of both is known
    shown = list(console[first : first + CONSOLE_LINES])
    if end is not None and end >= first + CONSOLE_LINES:
        shown[-1] = console[end]
    text = panic if panic is not None and start is None else short(lines[first])
    silent = out_of_memory or _KILLED.match(lines[first]) or _BEFORE.match(lines[first])
    return Trouble(text, None if silent else _function(lines[first : first + _NEAR]), panic, shown)


def _function(lines: Sequence[str]) -> str | None:
    """The function in which an oops happened, else the innermost function of the call trace that
    does not report the failure itself. Frames behind "?" may be left over from earlier calls."""
    for line in lines:
        if match := _FAULT.match(line):
            return match[1]
    for line in lines:
        match = _FRAME.match(line)
        if match and not _REPORTERS.fullmatch(match[1]):
            return match[1]
    return None
