"""What a recording shows while it goes on: a live table on a terminal, plain lines elsewhere."""

import time
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from profdiff.base.console import CleanConsole
from profdiff.base.terminal import tell

_PHASES = {
    "boot": "booting",
    "restore": "restoring",
    "settle": "settling",
    "measure": "measuring",
    "collect": "collecting",
}


class Progress:
    """Told what happens. On standard error: a line when a run starts and one when it ends; nothing
    that a log would have to scroll by. ``left``: what is still to be done, in words."""

    def __init__(self, left: str) -> None:
        self._started: set[str] = set()
        if left:
            self.say(left)

    def phase(self, run: str, phase: str) -> None:
        """``run`` is now in ``phase``: one of a guest here, or where it is instead."""
        if run not in self._started:
            self._started.add(run)
            self.say(f"{run}: {_PHASES.get(phase, phase)}")

    def ended(self, run: str, outcome: str, left: str, *, failed: bool = False) -> None:
        """``run`` has ended; ``outcome`` is one line; ``failed``: it tells of a failure."""
        self.say(f"{run}: {outcome}{f'; {left}' if left else ''}")

    def say(self, line: str) -> None:
        """One line to keep."""
        tell(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def progress(total: int, left: str, *, brief: bool = False) -> Progress:
    """The display for ``total`` runs that fits standard error. ``brief``: of runs that end well it
    keeps no line, since they are many."""
    console = CleanConsole(stderr=True)
    if console.is_terminal:
        return _Live(console, total, left, brief=brief)
    return _Brief(total, left) if brief else Progress(left)


class _Brief(Progress):
    """A line for each tenth of the runs, and for each that fails."""

    def __init__(self, total: int, left: str) -> None:
        super().__init__(left)
        self._total, self._done = total, 0

    def phase(self, run: str, phase: str) -> None:
        return None

    def ended(self, run: str, outcome: str, left: str, *, failed: bool = False) -> None:
        self._done += 1
        if failed:
            self.say(f"{run}: {outcome}")
        tenths = self._done * 10 // self._total
        if self._done < self._total and tenths > (self._done - 1) * 10 // self._total:
            self.say(f"{self._done:,} of {self._total:,} runs done{f'; {left}' if left else ''}")


class _Live(Progress):
    """A table of the guests that are running, redrawn four times a second."""

    def __init__(
        self, console: CleanConsole, total: int, left: str, *, brief: bool = False
    ) -> None:
        self._total, self._left, self._brief = total, left, brief
        self._done = 0
        # For each run its phase, the first one that was told, and since when it runs.
        self._runs: dict[str, tuple[str, str, float]] = {}
        self._live = Live(
            console=console, refresh_per_second=4, transient=True, get_renderable=self._render
        )

    def phase(self, run: str, phase: str) -> None:
        _, first, started = self._runs.get(run, ("", phase, time.monotonic()))
        self._runs[run] = (phase, first, started)

    def ended(self, run: str, outcome: str, left: str, *, failed: bool = False) -> None:
        self._runs.pop(run, None)
        self._done += 1
        self._left = left
        if failed or not self._brief:
            super().ended(run, outcome, "")

    def say(self, line: str) -> None:
        self._live.console.print(Text(line))

    def _render(self) -> Group:
        table = Table.grid(padding=(0, 2))
        left = f"; {self._left}" if self._left else ""
        done = Text(f"{self._done} of {self._total} runs done{left}")
        for run, (phase, first, started) in self._runs.items():
            steps = Text(phase)
            # A machine boots, or is restored.
            without = "boot" if first == "restore" else "restore"
            if phase in _PHASES:
                steps = Text("  ").join(
                    Text(text, "bold" if name == phase else "dim")
                    for name, text in _PHASES.items()
                    if name != without
                )
            table.add_row(Text(run), steps, f"{time.monotonic() - started:.0f} s")
        return Group(done, table)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
