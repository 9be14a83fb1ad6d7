"""The clock of a machine while it boots.

A kernel that boots waits by reading the clock: Linux measures the local APIC's timer for 100 ms.
Where an instruction takes longer, that is fewer instructions. All clocks of a guest show virtual
time, which QEMU calculates from the number of instructions (``-icount``). With another number in
its saved state, a machine goes on at the same time, and its instructions take less.
"""

import mmap
import re
from pathlib import Path

from profdiff.base.atomic import naming

# Nanoseconds of an instruction, as a power of two.
_SHIFT = 3
ARGUMENTS = ("-icount", f"shift={_SHIFT}")
"""Of QEMU for such a boot, behind its others."""
# QEMU's migration stream (migration/savevm.c): a whole section, with the number, name, instance and
# version of what it is of; then the fields of cpu-timers.c (``vmstate_timers`` and, in a
# subsection, ``icount_vmstate_timers``), of which the last one is the number of instructions.
_INSTRUCTIONS = re.compile(
    rb"\x04.{4}\x05timer.{4}\0\0\0\x02.{24}\x05\x0ctimer/icount\0\0\0\x01.{8}(.{8})", re.DOTALL
)


def replace_instructions(state: Path) -> None:
    """Let a machine that booted with ``ARGUMENTS`` and was saved to the file ``state`` be restored
    at the same time by a QEMU without them. Raises OSError, ValueError where its clock is not
    found."""
    with state.open("r+b") as file, naming(state):
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = [match.span(1) for match in _INSTRUCTIONS.finditer(content)]
            if len(found) != 1:
                raise ValueError("the clock is not where QEMU saves it")
            start, end = found[0]
            number = int.from_bytes(content[start:end], "big", signed=True) << _SHIFT
        # Not where it is mapped: without room for a copy of the page, that would kill us (SIGBUS).
        file.seek(start)
        file.write(number.to_bytes(8, "big", signed=True))
