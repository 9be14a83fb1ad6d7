"""Whether the kernels of a ladder execute the same code as the kernel before.

The comparison takes the instructions of the kernel from the executed bytes that exact counts hold:
function by function, with what is inlined there, in the order of addresses. Instructions are the
same if operation, registers and numbers are, and, for a call or a jump out of the function, the
function that it leads to.

Addresses are not compared, since a layout decides them: where functions and data lie, and hence
which variable an instruction names. Nor is how often an instruction ran, code that did not run, the
content of data, and user space. An address that an instruction computes from a register and a
number (``lea 0x2b140(%r11)`` of a variable of each CPU) counts as a number: two kernels that lay
out these variables differently do not have the same code.
"""

import re
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.profile.picked_counts import picked_counts
from profdiff.profile.session_symbols import architecture_of
from profdiff.symbolization._native import disassemble, flows

_LEADS = np.array([flow in ("conditional", "jump", "call") for flow in flows()], np.bool_)
# What makes the upper part of an address; instructions that use the register add the rest.
_UPPER = ("adrp", "auipc")
_NUMBER = re.compile(r"(?<!\w)#?-?(?:0x[0-9a-f]+|\d+)\b")
_REGISTER = re.compile(r"\b[a-z]+\d*\b")
# What may stand beside an address in the kernel's image: another one (movq $names,where(%rip)).
_IMAGE = re.compile(r"0xffffffff(?:8[1-9a-f]|[9a-e][0-9a-f]|f[0-9a-e])[0-9a-f]{6}")
# The offset of a variable of each CPU; a smaller number is that of a field.
_OF_CPU = re.compile(r"(?<=%gs:)0x[0-9a-f]{4,}")


class _Executed(msgspec.Struct, frozen=True, dict=True):
    """N instructions of the kernel, by function and address. ``function``: int64[N], the row of
    the physical one in the comparison; ``code``: uint8[N, 16], length and bytes; ``entries``:
    uint64[P], rising, all places that executed, and ``owners``: int64[P], their functions."""

    architecture: str
    function: NDArray[np.int64]
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    entries: NDArray[np.uint64]
    owners: NDArray[np.int64]

    @cached_property
    def instructions(self) -> list[tuple[str, int]]:
        """The text of each, with ``@`` for what is an address or a part of one, and the function
        that it leads to, -1: none or its own."""
        found = disassemble(self.architecture, self.address, self.code)
        at = np.searchsorted(self.entries, found.reference)
        at = np.minimum(at, len(self.entries) - 1)
        leads = _LEADS[found.flow] & (self.entries[at] == found.reference)
        leads &= self.owners[at] != self.function
        target = np.where(leads, self.owners[at], -1)
        columns = (self.function, found.operation, found.operands, found.reference, target)
        instructions, before, upper = list[tuple[str, int]](), -1, set[str]()
        for function, operation, operands, reference, leads_to in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            name, text = found.strings[operation], found.strings[operands]
            if function != before:
                before, upper = function, set()
            if reference:
                text = _IMAGE.sub("@", text.replace(f"{reference:#x}", "@"))
            if "%gs:" in text:
                text = _OF_CPU.sub("@", text)
            if upper or name in _UPPER:
                # w0 is the lower half of x0.
                registers = _REGISTER.findall(text.replace("w", "x"))
                if name in _UPPER or upper.intersection(registers):
                    text = _NUMBER.sub("@", text)
                upper.difference_update(registers[: 2 if name == "ldp" else 1])
                if name in _UPPER:
                    upper.add(registers[0])
            instructions.append((f"{name} {text}", leads_to))
        return instructions


def same_code(comparison: Comparison) -> list[bool | None]:
    """For each kernel, whether it executes the same code as the kernel before. None: unsure, since
    the counts do not hold the bytes of all that ran, or nothing of the kernel did; of the first
    kernel, too."""
    executed = [_executed(comparison, kernel) for kernel in range(len(comparison.kernels))]
    return [None, *(_same(before, after) for before, after in pairwise(executed))]


def _same(before: _Executed | None, after: _Executed | None) -> bool | None:
    if before is None or after is None:
        return None
    if not np.array_equal(before.function, after.function):
        return False
    # Kernels of one build need no text.
    where = np.array_equal(before.address, after.address)
    alike = where and np.array_equal(before.code, after.code)
    return alike or before.instructions == after.instructions


def _executed(comparison: Comparison, kernel: int) -> _Executed | None:
    """What a kernel executed in the run that stands for it, if all of that is known."""
    counts = picked_counts(comparison, kernel)
    if len(counts) != 1:
        return None
    places, code = counts[0].addresses.places, counts[0].addresses.executed
    rows = np.flatnonzero(places.in_kernel & (counts[0].count != 0))
    if not len(rows) or not code[rows, 0].all():
        return None
    functions = counts[0].functions
    owners = counts[0].number[functions.frames[functions.offsets[:-1].astype(np.int64)]]
    rows = rows[np.lexsort((places.address[rows], owners[rows]))]
    return _Executed(
        architecture_of(comparison.runs[0]),
        owners[rows],
        places.address[rows],
        code[rows],
        places.address,
        owners,
    )
