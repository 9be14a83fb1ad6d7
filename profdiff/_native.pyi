"""The Rust half: symbolization of ELF files, kallsyms and images.

The code is in symbolization/kernel-symbols.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

class NativeError(Exception):
    """A file could not be read or is not what it should be: one line that names the file."""

@final
class Resolution:
    """Chains of N addresses, as columns. Index 0 of ``strings`` is the empty string (unknown)."""

    strings: list[str]
    # functions: one row for each distinct (name, declaring file, line)
    function_name: NDArray[np.uint32]
    function_file: NDArray[np.uint32]
    function_line: NDArray[np.uint32]
    # frames: one row for each distinct (function, inlined, file, line); file and line are where the
    # frame was executing: the address's own line for the innermost, the call site for the others
    frame_function: NDArray[np.uint32]
    frame_inlined: NDArray[np.bool_]
    frame_file: NDArray[np.uint32]
    frame_line: NDArray[np.uint32]
    # address i has frames chain_frames[chain_offsets[i]:chain_offsets[i+1]], outermost first
    chain_offsets: NDArray[np.uint32]
    chain_frames: NDArray[np.uint32]
    # per address: the ELF symbol (with compiler suffixes) as an index into strings; the reason code
    # (0: resolved), an index into ``reasons()``
    symbol: NDArray[np.uint32]
    reason: NDArray[np.uint8]

def reasons() -> list[str]:
    """Names of the reason codes: resolved, no-symbol, outside-text, no-object, ambiguous."""

@final
class SymbolIndex:
    """The functions, inlined ones too, of one ELF file: vmlinux, a module, a program, a library."""

    @staticmethod
    def open(path: str, cache: str | None = None) -> SymbolIndex:
        """Index the ELF at ``path`` (plain, ``.zst`` or ``.xz``), through a cache folder if given.
        Raises NativeError."""
    @property
    def build_id(self) -> str | None: ...
    @property
    def has_inlines(self) -> bool:
        """Whether there is DWARF to expand inlined functions from."""
    def symbol_address(self, name: str) -> int | None: ...
    def sections(self) -> list[tuple[str, int, int]]:
        """Executable sections as (name, svma, size), by address. A relocatable file (a module) is
        laid out so that its sections do not overlap."""
    def resolve(self, svma: NDArray[np.uint64]) -> Resolution: ...

@final
class Kallsyms:
    """A guest's /proc/kallsyms."""

    def __init__(self, text: bytes) -> None: ...
    def __len__(self) -> int: ...
    def address(self, name: str) -> int | None:
        """The address of a symbol of the kernel itself."""
    def modules(self) -> list[str]:
        """The names in brackets: modules, ``bpf``, ``__builtin__ftrace``. The first is empty and
        stands for the kernel."""
    def displacement(self, kernel: SymbolIndex) -> int | None:
        """What KASLR added, modulo 2^64; None if kallsyms has nothing to tell it by."""
    def owners(self, avma: NDArray[np.uint64]) -> NDArray[np.int64]:
        """For each address the index of its owner in ``modules()``, or -1."""
    def resolve(self, avma: NDArray[np.uint64]) -> Resolution: ...

def place_module(
    index: SymbolIndex, name: str, kallsyms: Kallsyms, sections: bytes
) -> list[tuple[int, int, int]]:
    """Where the executable sections of a module were loaded, as (svma, size, avma): from lines of
    "module section address", else by votes of the module's symbols in kallsyms."""

def place_user(
    paths: list[str], avma: NDArray[np.uint64], code: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint8]]:
    """From which of the ELF files each instruction comes, as (object, svma, reason). ``code`` has a
    row of 16 bytes for each address: a length and the instruction. Raises NativeError."""

def elf_build_id(path: str) -> str | None:
    """The GNU build id of an ELF file (plain, .zst, .xz), cheaply. Raises NativeError."""

@final
class KernelImage:
    """What an x86 bzImage says of itself."""

    @staticmethod
    def open(path: str) -> KernelImage: ...
    @property
    def version(self) -> str: ...
    @property
    def build_id(self) -> str | None:
        """None where the payload's compression cannot be undone."""
