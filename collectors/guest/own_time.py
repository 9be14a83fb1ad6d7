"""How much time a process had to do its work: when it computed or slept. What it waited for a
processor that others had is not in it, so that a limit means the same on a busy machine."""

import contextlib
from pathlib import Path


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
