"""What a build shows while it goes on: a bar of make's steps on a terminal, two lines elsewhere."""

import time
from types import TracebackType
from typing import Self

from profdiff.base.terminal import tell
from profdiff.base.units import shorten

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
