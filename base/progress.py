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
        """``run`` is now in ``phase``."""
        if run not in self._started:
            self._started.add(run)
            self.say(f"{run}: {_PHASES.get(phase, phase)}")

    def ended(self, run: str, outcome: str, left: str) -> None:
        """``run`` has ended; ``outcome`` is one line."""
        self.say(f"{run}: {outcome}{f'; {left}' if left else ''}")

    def say(self, line: str) -> None:
        """One line to keep."""
        tell(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def progress(total: int, left: str) -> Progress:
    """The display for ``total`` runs that fits standard error."""
    console = CleanConsole(stderr=True)
    return _Live(console, total, left) if console.is_terminal else Progress(left)


class _Live(Progress):
    """A table of the guests that are running, redrawn four times a second."""

    def __init__(self, console: CleanConsole, total: int, left: str) -> None:
        self._total, self._left = total, left
        self._done = 0
        self._runs: dict[str, tuple[str, float]] = {}
        self._live = Live(
            console=console, refresh_per_second=4, transient=True, get_renderable=self._render
        )

    def phase(self, run: str, phase: str) -> None:
        started = self._runs[run][1] if run in self._runs else time.monotonic()
        self._runs[run] = (phase, started)

    def ended(self, run: str, outcome: str, left: str) -> None:
        self._runs.pop(run, None)
        self._done += 1
        self._left = left
        super().ended(run, outcome, "")

    def say(self, line: str) -> None:
        self._live.console.print(Text(line))

    def _render(self) -> Group:
        table = Table.grid(padding=(0, 2))
        left = f"; {self._left}" if self._left else ""
        done = Text(f"{self._done} of {self._total} runs done{left}")
        for run, (phase, started) in self._runs.items():
            steps = Text("  ").join(
                Text(text, "bold" if name == phase else "dim") for name, text in _PHASES.items()
            )
            table.add_row(Text(run), steps, f"{time.monotonic() - started:.0f} s")
        return Group(done, table)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
