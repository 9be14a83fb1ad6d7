"""What of a program's memory a line is: a variable of the workload's own files, or a mapping."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from profdiff.collectors.sharing.lines import SharedLines
from profdiff.profile.sharing.names import USER_MEMORY, Name
from profdiff.symbolization._native import NativeError, elf_data, place_user
from profdiff.symbolization.places import KERNEL_HALF, Places

# A heap begins behind the program, and seldom is longer.
_HEAP = 1 << 30


class _Part(NamedTuple):
    """What lies from ``start`` to ``end``; a ``variable``, or a section of the ``program``."""

    start: int
    end: int
    program: str
    variable: str


class Programs:
    """``files``: ELF files by their path in the guest."""

    def __init__(self, files: Mapping[str, Path], lines: SharedLines, places: Places) -> None:
        self._variables: list[_Part] = []
        self._sections: list[_Part] = []
        user = np.flatnonzero(lines.address < KERNEL_HALF)
        if not files or not len(user) or places.code is None:
            return
        code = np.ascontiguousarray(places.code[user], dtype=np.uint8)
        try:
            owners, svma, reason = place_user(
                [str(path) for path in files.values()], places.address[user], code
            )
            for number, (guest, path) in enumerate(files.items()):
                mine = (reason == 0) & (owners == number)
                if mine.any():
                    # The mapping that executed most.
                    found = Counter((places.address[user][mine] - svma[mine]).tolist())
                    self._add(guest.rsplit("/", 1)[-1], path, found.most_common(1)[0][0])
        except NativeError:
            # A damaged file names nothing.
            return

    def _add(self, program: str, path: Path, bias: int) -> None:
        variables, sections = elf_data(str(path))
        for into, parts, is_variable in (
            (self._variables, variables, True),
            (self._sections, sections, False),
        ):
            for name, start, size in parts:
                place = start + bias & (1 << 64) - 1
                told = (program, name) if is_variable else (f"{name} of {program}", "")
                into.append(_Part(place, place + size, *told))

    def name(self, address: int) -> Name:
        """What lies at an address of a program; 0: not known. Without a file, nothing is."""
        if not address or not self._sections:
            return USER_MEMORY
        for parts in (self._variables, self._sections):
            for one in parts:
                if one.start <= address < one.end:
                    return Name("user-memory", one.program, one.variable)
        if any(one.end <= address < one.end + _HEAP for one in self._sections):
            return Name("user-memory", "heap")
        return Name("user-memory", "mapped")
