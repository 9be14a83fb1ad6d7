"""What a kernel's console says of why it failed: the cause, not what followed from it.

The lines are those of lib/bug.c, kernel/panic.c, mm/oom_kill.c, init/initramfs.c, init/do_mounts.c,
and what the architectures name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.messages import read_end, short

_LINES = 12
_PANIC = "Kernel panic - not syncing: "
# In front of every line: the time, and with CONFIG_PRINTK_CALLER who printed it.
_STAMP = re.compile(r"^(?:\[[^\]]{1,40}\]\s?)+")
_OOPS = re.compile(
    "|".join(
        [
            "BUG: |kernel BUG at |Oops: |Unable to handle kernel ",
            *(one.oops for one in ARCHITECTURES),
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
_FAULT = re.compile(
    rf"(?:{'|'.join(one.fault for one in ARCHITECTURES)})([A-Za-z_][\w.]{{0,100}})\+0x"
)
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
    shown = list(console[first : first + _LINES])
    if end is not None and end >= first + _LINES:
        shown[-1] = console[end]
    text = panic if panic is not None and start is None else short(lines[first])
    silent = out_of_memory or _KILLED.match(lines[first]) or _BEFORE.match(lines[first])
    return Trouble(text, None if silent else _function(lines[first : first + _NEAR]), panic, shown)


def _function(lines: Sequence[str]) -> str | None:
    """The function in which an oops happened, else the innermost function of the call trace that
    does not report the failure itself. Frames behind "?" may be left over from earlier calls."""
    for line in lines:
        if found := _FAULT.match(line):
            return found[1]
    for line in lines:
        found = _FRAME.match(line)
        if found and not _REPORTERS.fullmatch(found[1]):
            return found[1]
    return None
