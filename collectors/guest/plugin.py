"""What collectors have in common that record with profdiff's QEMU plugin: the QEMU that loads it,
its arguments, and the windows that marks open."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from profdiff.base.errors import MissingError, SessionError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.qemu import Qemu, escaped, find_qemu
from profdiff.collectors.guest.result import CONSOLE_LINES, Left, Result, read
from profdiff.collectors.records import Failure, Window

# Newest first: a QEMU takes one of them.
_PLUGINS = {2: "tcg_plugin_api2", 1: "tcg_plugin_api1"}
MEMORY = 2048
"""What the plugin may take, in MiB, beside QEMU's 1 GiB for translated code. It keeps each
instruction that was executed, in 160 bytes with the call tree and 80 without: so 13 million, or 26.
A boot executes a quarter of a million."""


def with_plugin(architecture: Architecture, program: Path | None, how: str) -> Qemu:
    """The QEMU for guests with the plugin, which records ``how``, as its argument says. Raises
    MissingError."""
    tried = f"out=/dev/null,memory={MEMORY},{how}"
    return find_qemu(architecture, program, {n: (plugin, tried) for n, plugin in _PLUGINS.items()})


def arguments(qemu: Qemu, out: Path, how: str) -> list[str]:
    """QEMU's, to record ``how`` into the file ``out``. Raises MissingError."""
    if qemu.plugin is None:
        raise MissingError(f"{qemu.program} has no plugin to count with")
    given = f"out={escaped(out)},memory={MEMORY},{how}"
    return ["-plugin", f"file={escaped(qemu.plugin)},{given}"]


class Windows(Protocol):
    """Whose marks opened the window, and how often marks executed."""

    @property
    def kind(self) -> Literal["none", "command", "marks", "boot"]: ...
    @property
    def opened(self) -> int: ...
    @property
    def closed(self) -> int: ...
    @property
    def misplaced(self) -> int: ...


Recorded = TypeVar("Recorded", bound=Windows)


def recorded(
    result: Result, left: Left, what: str, file: str, load: Callable[[Path], Recorded]
) -> tuple[Recorded, Result]:
    """What the plugin wrote of a run that QEMU ended, and the run's result with its window.
    ``what``: the file, in words. Raises MissingError when the disk is full."""
    # The plugin writes through QEMU: a full disk shows as a file that is cut short.
    try:
        found = load(left.folder / file)
    except SessionError as error:
        raise MissingError(
            f"QEMU could not write the {what} ({error}): free some disk space"
        ) from error
    failure = result.failure
    if failure is None and left.options.get("boot") and not found.closed:
        failure = _boot_failure(found, left)
    failure = failure or window_failure(found, left.has_marks)
    window = None if found.kind == "none" else Window(kind=found.kind, count=found.closed)
    return found, replace(result, failure=failure, window=window)


def _boot_failure(found: Windows, left: Left) -> Failure:
    """Why what was recorded is not a whole boot. Raises OSError."""
    until = left.options.get("boot_until")
    if found.opened and until:
        why = f"--boot-until: the console did not show {until!r} after start_kernel() began"
        return Failure("window", why, read(left.path("console"))[-CONSOLE_LINES:])
    lacks = "init executed nothing" if found.opened else "start_kernel() never executed"
    why = f"the boot was not seen: {lacks} at the addresses of the debug ELF"
    return Failure("window", why)


def window_failure(found: Windows, expect_marks: bool) -> Failure | None:
    """Why what was recorded is not that of a window; None if it is. ``expect_marks``: the program
    has them."""
    never = "the window never opened"
    if found.misplaced and not found.opened:
        why = f"{never}: PROFDIFF_STOP() executed without PROFDIFF_START() before it"
    elif expect_marks and found.kind != "marks":
        why = f"{never}: the program has marks, but PROFDIFF_START() never executed"
    elif found.opened > found.closed:
        why = "the window never closed: PROFDIFF_STOP() must follow PROFDIFF_START()"
    elif found.misplaced:
        why = (
            f"{found.misplaced} marks were out of place: PROFDIFF_START() and PROFDIFF_STOP() "
            "must alternate, over all threads"
        )
    elif found.opened == 0:
        why = f"{never}: the agent's marks did not execute"
    else:
        return None
    return Failure("window", why)
