"""make, run so that it ends with us, with a log; and what its log says.

How building a kernel fails.

What a build shows while it goes on: a bar of make's steps on a terminal, two lines elsewhere.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from profdiff.base.errors import InputError
from profdiff.base.git import Watch
from profdiff.base.terminal import printable, tell
from profdiff.base.units import shorten

_POLL = 0.2
# Its standard input ends with us, however we end; then the group's processes do. The group is its
# argument.
_WATCHER = 'read -r _; kill -KILL "-$1"'
# What changes a build, or is for another make.
_LEFT_OUT = re.compile(
    r"MAKE.*|MFLAGS|GNUMAKEFLAGS|KBUILD.*|K(C|A|CPP|RUST)FLAGS|LD(FLAGS_.*)?|(HOST)?(CC|CXX|AS|AR|NM"
    r"|LD|OBJCOPY|OBJDUMP|STRIP|READELF)|(HOST)?(C|CXX|CPP|LD)FLAGS|ARCH|SUBARCH|CROSS_COMPILE.*"
    r"|LLVM(_IAS)?|LOCALVERSION|SOURCE_DATE_EPOCH|INSTALL.*|[VWCMO]|SRCARCH|GIT_.*|KCONFIG_.*"
)
_STEP = re.compile(rb"^  ([A-Z][A-Z0-9_+]*) +(\[[A-Z]\] +)?(\S+)", re.MULTILINE)
# Compilers and linkers, the config's programs, then make's own words of what failed.
_ERRORS = (
    re.compile(r"^.*?: (?:fatal )?error: .+$", re.MULTILINE),
    re.compile(r"^.*(?:undefined reference to|undefined symbol:|multiple definition of) .+$", re.M),
    re.compile(r"^.*(?:: not found|: command not found|cannot find -l\S+).*$", re.MULTILINE),
    re.compile(r"^\*\*\* .*\w.*$", re.MULTILINE),
    re.compile(r"^.*?(?:ERROR|[Ee]rror): .+$", re.MULTILINE),
    re.compile(r"^\S+: \*\*\* .+$", re.MULTILINE),
)
# What a machine lacks, where an error says that something is not there.
_ABSENT = re.compile(r"not found|No such file|cannot find|not installed")
_PACKAGES = {
    "libelf.h": "libelf-dev",
    "gelf.h": "libelf-dev",
    "-lelf": "libelf-dev",
    "openssl/": "libssl-dev",
    "-lcrypto": "libssl-dev",
    "flex: ": "flex",
    "bison: ": "bison",
    " bc: ": "bc",
    "pahole: ": "dwarves",
}
# As gcc, clang, make, sh, bash and linkers say that a process of theirs was killed, or found no
# memory.
_KILLED = re.compile(
    r"^(?:.*Killed signal terminated program.*|.*terminated with signal 9.*|.*\*\*\* \[.*\] Killed"
    r"|.*unable to execute command: Killed.*|(?:\S*sh: .*)?\bKilled\b(?: .*)?"
    r"|.*(?:virtual memory exhausted|LLVM ERROR: out of memory|: out of memory allocating).*"
    r"|.*(?:Cannot allocate memory|: memory exhausted))$",
    re.MULTILINE,
)
# An object file, or a program that the build made, that a killed build or a full disk damaged; not
# what a source's own error says (mm/a.c:1:1: error: ...).
_DAMAGED = re.compile(
    r"^(?!.*\.(?:[chSs]|lds|rs):\d+)(?:"
    r".*\.(?:o|a|ko)\b.*(?:not recognized|truncated|too short|malformed|corrupt|past the end|"
    r"unexpected end|unknown file type|invalid ELF)"
    r"|.*(?:cannot execute binary file|Exec format error).*"
    r"|.*(?:\.cmd|auto\.conf):\d+: \*\*\* missing separator)",
    re.MULTILINE,
)
_MAX_LINE = 300
_MIN_FREE = 1 << 20

Seen = Callable[[int, str], None]


def supervised(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    *,
    lock: int,
    seen: Seen | None = None,
    of_git: bool = False,
) -> int:
    """Run ``command`` in ``folder`` with what it says at the end of ``log``; its exit status.

    ``lock``: a descriptor that its processes keep open, so that what it locks stays locked as long
    as one of them lives. ``seen`` is told how many steps make did, and the file of the last one.
    ``of_git``: it has git's time limits, and raises Stuck.
    """
    start = log.stat().st_size if log.exists() else 0
    with log.open("ab") as output, log.open("rb") as said:
        said.seek(start)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=environment,
            process_group=0,
            pass_fds=[lock],
        )
        rest = b""
        limits = Watch(process.pid) if of_git else None
        try:
            with _watched(process.pid):
                ended = False
                while not ended:
                    ended = process.poll() is not None
                    lines, _, rest = (rest + said.read()).rpartition(b"\n")
                    found = _STEP.findall(lines)
                    if found and seen:
                        seen(len(found), printable(found[-1][2].decode(errors="replace")))
                    if not ended:
                        time.sleep(_POLL)
                        if limits:
                            limits.look()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        return process.returncode


@contextlib.contextmanager
def _watched(group: int) -> Iterator[None]:
    """A process group that does not outlive this process, within the block."""
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", _WATCHER, "sh", str(group)], stdin=subprocess.PIPE, process_group=0
    )
    try:
        yield
    finally:
        watcher.kill()
        watcher.wait()
        if watcher.stdin:
            watcher.stdin.close()


def clean_environment() -> dict[str, str]:
    """This process's, without what changes a build, and with what makes it the same everywhere."""
    kept = {name: value for name, value in os.environ.items() if not _LEFT_OUT.fullmatch(name)}
    return kept | {
        "LC_ALL": "C",
        "TZ": "UTC",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
        "KBUILD_BUILD_USER": "profdiff",
        "KBUILD_BUILD_HOST": "profdiff",
        "KBUILD_BUILD_VERSION": "1",
        "SOURCE_DATE_EPOCH": "1767225600",
        "CCACHE_NOHASHDIR": "1",
        # Known by the files that the compiler says it read, instead of preprocessing each first.
        "CCACHE_DEPEND": "1",
    }


def is_full(log: Path) -> bool:
    """Whether there was no room: the log says so, or there is none to write it."""
    said = "No space left on device" in log.read_text(errors="replace")
    return said or shutil.disk_usage(log.parent).free < _MIN_FREE


def is_damaged(log: Path) -> bool:
    """Whether what an earlier build left is to blame, not the source."""
    return bool(_DAMAGED.search(log.read_text(errors="replace")))


def lacking(log: Path) -> str:
    """What this machine lacks, memory or a package, if that is why it failed; else ""."""
    if killed := _KILLED.search(log.read_text(errors="replace")):
        said = printable(killed[0].strip())[:_MAX_LINE]
        return f"a process ran out of memory or was killed ({said})"
    said = first_error(log)
    return said if _package(said) else ""


def steps(log: Path) -> int:
    """How many of its steps make said in ``log``."""
    return len(_STEP.findall(log.read_bytes()))


def first_error(log: Path) -> str:
    """The first error in a log, in one line, with the package that mends it where one does."""
    text = log.read_text(errors="replace")
    for pattern in _ERRORS:
        if match := pattern.search(text):
            line = match[0].strip().removeprefix("../").removeprefix("*** ")
            package = _package(line)
            return printable(line)[:_MAX_LINE] + (
                f" (apt-get install {package})" if package else ""
            )
    last = [line for line in text.splitlines() if line.strip()]
    return printable(last[-1])[:_MAX_LINE] if last else "make gives no reason"


def _package(line: str) -> str:
    """The package that has what ``line`` says is not there; else ""."""
    if not _ABSENT.search(line):
        return ""
    return next((name for sign, name in _PACKAGES.items() if sign in line), "")


class BuildError(InputError):
    """The source does not build. ``log``: all that was said; ``first``: the first error of it."""

    def __init__(self, message: str, log: Path, first: str) -> None:
        super().__init__(message)
        self.log, self.first = log, first


class UnfitError(InputError):
    """The config, or what the source has of it, lacks what a guest needs."""


class DoesNotApply(InputError):  # noqa: N818 - a result that bisect looks for, as well as an error
    """A patch does not apply to the source, or a commit does not revert."""


_FILE = 40


class BuildProgress:
    """``label``: what is built. ``steps`` and ``seconds``: what such a build took before, 0 if
    nobody knows. ``quiet``: say nothing."""

    def __init__(self, label: str, about: str, steps: int, seconds: float, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from profdiff.base.console import CleanConsole

        self._label, self._quiet, self._started = label, quiet, time.monotonic()
        self._bar: Progress | None = None
        took = f"; the last such build took {duration(seconds)}" if seconds else ""
        if not quiet:
            tell(f"{label}: building {about}{took}")
        console = CleanConsole(stderr=True)
        if console.is_terminal and not quiet:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed} of {task.total}" if steps else "{task.completed}"),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._bar.add_task(label, total=steps or None)

    def seen(self, steps: int, file: str) -> None:
        """make did so many more ``steps``, the last of them on ``file``."""
        if self._bar:
            (task,) = self._bar.tasks
            done = task.completed + steps
            total = task.total if task.total is None else max(task.total, done)
            shown = f"{self._label}: {shorten(file, _FILE)}"
            self._bar.update(task.id, completed=done, total=total, description=shown)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()
        if not self._quiet and kind is None:
            tell(f"{self._label}: built in {duration(time.monotonic() - self._started)}")


def duration(seconds: float) -> str:
    """Seconds in words: ``8 s``, ``12.5 min``."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
