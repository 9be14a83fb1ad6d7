"""One guest: a QEMU process from its start to its result, polled from a single thread.

How much time a process had to do its work: when it computed or slept. What it waited for a
processor that others had is not in it, so that a limit means the same on a busy machine.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from profdiff.base.terminal import last_line, read_end
from profdiff.collectors.guest import result
from profdiff.collectors.guest.archive import ArchiveError
from profdiff.collectors.guest.delivery import MAX_ARCHIVE, GuestChannel
from profdiff.collectors.records import Failure

# What a guest may write to the files of its serial ports, and make QEMU complain of.
_MAX_BYTES = {"channel": MAX_ARCHIVE, "console.log": 256 << 20, "qemu.stderr": 64 << 20}
# A disk without room for so many bytes is full.
_MIN_FREE = 1 << 20
# A guest's own time is looked at as often, in seconds. A guest that gets less than a tenth of what
# it wants of a machine is given up.
_LOOK = 1.0
_STARVED = 10
# How the plugin begins its lines (collectors/tcg-plugin/core/src/memory.rs).
_PLUGIN = "profdiff plugin: "


class GuestRun:
    """A running guest. ``folder`` receives console.log and the channel."""

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        timeout: float,
        at: Path | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Start QEMU, in the folder ``at`` if its arguments have names that are relative to it; it
        inherits ``descriptors``. ``timeout`` is in seconds of the guest's own time for the whole
        run, and a tenth of what it may take by the wall. Raises OSError."""
        self._folder = folder
        self._timeout = timeout
        self._channel = GuestChannel(folder / "channel")
        self._stderr_path = folder / "qemu.stderr"
        self._timed_out = False
        self._flooded: str | None = None
        self._started = time.monotonic()
        self.wall_seconds = 0.0
        # Should this process be killed, its guests go too.
        setpriv = shutil.which("setpriv")
        wrapper = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        with self._stderr_path.open("wb") as stderr:
            self._process = subprocess.Popen(
                [*wrapper, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=at,
                pass_fds=descriptors,
            )
        self._own_time = OwnTime(self._process.pid)
        self._looked = self._own_seconds = 0.0
        self._end = _when_ended(self._process.pid)

    @property
    def listening(self) -> Sequence[int]:
        """File descriptors: where one of them can be read, ``poll`` has something to do."""
        return [] if self._end is None else [self._end]

    @property
    def phase(self) -> str:
        """boot (of a machine: connecting), settle, measure or collect."""
        return self._channel.phase

    def poll(self) -> bool:
        """Look after the guest; True when it has ended."""
        self._channel.poll()
        ended = self._process.poll() is not None
        self.wall_seconds = time.monotonic() - self._started
        if not ended:
            self._timed_out = self._is_slow()
            self._flooded = next(
                (name for name in _MAX_BYTES if self._size(name) > _MAX_BYTES[name]), None
            )
            if self._timed_out or self._flooded:
                self.stop()
                ended = True
        if ended:
            self._close()
        return ended

    def _is_slow(self) -> bool:
        """Whether it had all the time that it may have."""
        if self.wall_seconds - self._looked >= min(_LOOK, self._timeout / 10):
            self._looked = self.wall_seconds
            self._own_seconds = self._own_time.at(self.wall_seconds)
        return self._own_seconds > self._timeout or self.wall_seconds > _STARVED * self._timeout

    def _close(self) -> None:
        if self._end is not None:
            os.close(self._end)
        self._end = None

    def _size(self, name: str) -> int:
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return 0

    def stop(self) -> None:
        """End QEMU, so that the plugin writes what it has; kill it if it does not listen."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def _received(self, members: Mapping[str, int]) -> set[str] | None:
        """Put what the guest sent into the folder: its names, None if it sent nothing. Raises
        ArchiveError, OSError."""
        return self._channel.archive(self._folder, members)

    def result(self, members: Mapping[str, int]) -> set[str] | Failure:
        """The names of those of ``members`` that the guest sent, which are in the folder now, or
        why there are none. Call once it has ended. Raises OSError, also when the disk is full."""
        self._channel.poll()
        status = self._process.wait()
        reason = last_line(read_end(self._stderr_path))
        lines = result.read(self._folder / "console.log")
        trouble = result.trouble(lines)
        tail = trouble.lines if trouble else lines[-result.CONSOLE_LINES :]
        if self._timed_out:
            limit = f"{self._timeout:g} s"
            if self._own_seconds <= self._timeout:
                limit = f"{self.wall_seconds:.0f} s, of which it had {self._own_seconds:.0f} s"
            slow = f"the guest did not finish within {limit} ({_WHERE[self.phase]})"
            advice = "raise --timeout, or see the console's last lines"
            why = f"the kernel says: {trouble}" if trouble else advice
            return Failure("timeout", f"{slow}: {why}", tail)
        if self._flooded:
            most = _MAX_BYTES[self._flooded] >> 20
            return Failure(
                "protocol", f"the guest wrote more than {most} MiB to its {self._flooded}", tail
            )
        if status != 0 and reason.startswith(_PLUGIN):
            return Failure("qemu", reason.removeprefix(_PLUGIN), tail)
        broken = ""
        try:
            names = self._received(members)
        except ArchiveError as error:
            names, broken = None, f" whole ({error})"
        if names is not None:
            return names
        # QEMU drops what it cannot write, and ends in any way without saying why.
        need_room(self._folder)
        if trouble and trouble.panic is not None:
            started = self.phase != "boot"
            kind = "panic" if started else "boot"
            what = "the kernel panicked" if started else "the kernel panicked while booting"
            return Failure(kind, f"{what}: {trouble}", tail)
        if status < 0:
            killed = f"QEMU was killed by signal {-status} ({signal.strsignal(-status)})"
            return Failure("qemu", f"{killed}: {reason}" if reason else killed, tail)
        if status != 0:
            advice = ": give it less --memory" if "Cannot allocate memory" in reason else ""
            told = f"QEMU failed: {reason or f'exit status {status}'}{advice}"
            return Failure("qemu", told, tail)
        if self.phase == "boot":
            return Failure(
                "boot", f"the guest ended before init started: {_why(trouble, lines)}", tail
            )
        return Failure(
            "protocol",
            f"the guest ended in phase {self.phase} without sending its files{broken}",
            tail,
        )


_WHERE = {
    "boot": "while booting",
    "restore": "while the machine was restored",
    "settle": "while settling",
    "measure": "while the workload ran",
    "collect": "while shutting down",
}


def _when_ended(pid: int) -> int | None:
    """A descriptor that can be read when the process has ended; None where there are none."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _why(trouble: result.Trouble | None, lines: Sequence[str]) -> str:
    """Why a guest ended without a panic before its init ran."""
    if trouble:
        return str(trouble)
    if not lines:
        return (
            "the kernel printed nothing: raise --memory, or give a kernel with a serial console "
            "(CONFIG_SERIAL_8250_CONSOLE)"
        )
    return "does the kernel have initramfs support, and is --memory large enough?"


def need_room(folder: Path) -> None:
    """Raises OSError that names ``folder`` when the disk is full."""
    probe = folder / "room"
    try:
        with probe.open("wb") as file:
            file.write(bytes(_MIN_FREE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
    finally:
        probe.unlink(missing_ok=True)


class OwnTime:
    """That of the process ``pid`` and its threads, as ``/proc/PID/task/*/schedstat`` tells it
    (Documentation/scheduler/sched-stats.rst). To look changes nothing there."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._tasks = proc / str(pid) / "task"
        # For each thread: how long it had run at the last look, and the time of the first look.
        self._seen: dict[str, tuple[int, float]] = {}

    def at(self, wall: float) -> float:
        """Seconds, ``wall`` seconds after it began: how long its busiest thread computed, or the
        time in which no thread waited, whichever is more. All of ``wall`` where the kernel does not
        tell."""
        ran = waited = 0.0
        # The process may have ended, or a thread of it meanwhile.
        with contextlib.suppress(OSError):
            for thread in list(self._tasks.iterdir()):
                with contextlib.suppress(OSError, ValueError):
                    run, wait, _ = map(int, (thread / "schedstat").read_text().split())
                    ran = max(ran, run / 1e9)
                    waited = max(waited, wait / 1e9 + self._still_waits(thread, run, wall))
        return min(wall, max(ran, wall - waited))

    def _still_waits(self, thread: Path, run: int, wall: float) -> float:
        """For how many seconds at least: Linux counts a wait when it ends."""
        before, since = self._seen.get(thread.name, (-1, wall))
        if run != before:
            since = wall
        self._seen[thread.name] = run, since
        runnable = (thread / "stat").read_text().rpartition(")")[2].split()[:1] == ["R"]
        return wall - since if runnable else 0.0
