"""A run while it goes on, whichever collector made it; and one in a guest without the plugin."""

from pathlib import Path
from typing import Protocol

from profdiff.collectors.guest.boot_variation import NO_VARIATION, Variation
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import guest_files, take_files
from profdiff.collectors.guest.run import GuestRun, RunFailure

_CONSOLE = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}
# As for the exact collector: a quiet, equal machine.
_APPEND = "nokaslr norandmaps mitigations=off panic=-1"


class _Process(Protocol):
    @property
    def phase(self) -> str: ...

    def poll(self) -> bool: ...

    def stop(self) -> None: ...


class RunInProgress:
    """Looked after from one thread. ``arguments``: the command line of what runs."""

    def __init__(self, process: _Process, arguments: list[str]) -> None:
        self._process = process
        self.arguments = arguments

    @property
    def phase(self) -> str:
        """boot (of a machine: connecting), settle, measure or collect."""
        return self._process.phase

    def poll(self) -> bool:
        """Look after the run; True when it has ended."""
        return self._process.poll()

    def stop(self) -> None:
        """End it early; it will have no result."""
        self._process.stop()


class PlainGuest(RunInProgress):
    """A guest without the plugin. ``folder`` exists and is empty, and gets what the run leaves."""

    def __init__(
        self,
        qemu: Qemu,
        *,
        image: Path,
        initramfs: Path,
        append: str,
        memory: int,
        cpus: int,
        timeout: float,
        folder: Path,
        variation: Variation = NO_VARIATION,
    ) -> None:
        console = f"console={_CONSOLE[qemu.architecture]}"
        arguments = qemu.arguments(
            image=image,
            initramfs=initramfs,
            append=f"{console} {variation.words(_APPEND)} {append}".strip(),
            memory=memory,
            cpus=cpus,
            folder=folder,
            counts=None,
            seed=variation.seed,
        )
        self.folder = folder
        self._guest = GuestRun(arguments, folder, timeout)
        super().__init__(self._guest, arguments)

    def left(self) -> tuple[dict[str, str], RunFailure | None, float]:
        """What the ended guest left in ``folder``, why there is nothing, and how long it took in
        seconds. Raises OSError."""
        outcome = self._guest.result()
        failure = outcome if isinstance(outcome, RunFailure) else None
        names = set() if isinstance(outcome, RunFailure) else outcome
        files = take_files(self.folder, names) | guest_files(self.folder)
        return files, failure, self._guest.wall_seconds
