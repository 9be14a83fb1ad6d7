"""The Rust half: symbolization of ELF files, kallsyms and images; disassembly; perf.data and its
text forms.

The code is in symbolization/kernel-symbols, symbolization/data-accesses, symbolization/data-types,
symbolization/disassembly, symbolization/perf-data and symbolization/stacks.
"""

from collections.abc import Sequence
from typing import Any, final

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

def arrow_stream(columns: Sequence[tuple[str, str, Sequence[object]]]) -> object:
    """A capsule with an ``ArrowArrayStream`` of columns: name, type and values, of which a value
    may be None. Types: ``int64``, ``uint64``, ``float64``, ``bool``, ``utf8``. Raises ValueError
    for another type, for a name with a NUL, and for columns of unequal length."""

def checksum(data: bytes) -> str:
    """The first 128 bits of the BLAKE3 of some bytes, hexadecimal."""

def file_checksums(
    folder: str, files: Sequence[tuple[str, int | None]]
) -> list[tuple[int, str, str | None]]:
    """Of each of some files, named by its path in a folder and the length that it should have, None
    where that is not known: its length; its ``checksum``, "" where it has another length; and why
    it cannot be read, which a file outside of the folder never is, or None."""

def reasons() -> list[str]:
    """Names of the reason codes: resolved, no-symbol, outside-text, no-object, ambiguous, no-file,
    other-build, no-map, guest, hypervisor, unnamed, hidden-kernel, unreadable."""

def probed(
    path: str, architecture: str, function: str, variable: str
) -> tuple[list[tuple[int, str, str, int, int, str, int, bool]], bool, bool, list[str]] | None:
    """Where a function begins, by address, and what holds its variable there: address, the function
    that has the code, how (value: a register plus a number; memory behind a register; frame: behind
    the CFA; constant; return: a register, when the function returns; nothing), DWARF's number of
    the register, the number, why nothing does, bytes, and whether it is signed. Whether the file
    has the function, and that the variable; the names of its variables. The variable ``return`` is
    what it returns, if anything. None where the file has no DWARF. Raises NativeError."""

def access_kinds() -> list[str]:
    """Names of what may be accessed, by code: field, global, per-cpu, pointed, stack-variable,
    spill, canary, push, call, unresolved."""

def access_reasons() -> list[str]:
    """Names of the reasons why an access is unresolved, by code; "" first."""

@final
class DataIndex:
    """A kernel or a module whose debug information says what its code accesses."""

    @staticmethod
    def open(path: str) -> DataIndex | None:
        """That of the ELF file at ``path`` (plain, ``.zst`` or ``.xz``); None where it has no
        DWARF. Raises NativeError."""

    def accesses(
        self,
        architecture: str,
        sections: list[tuple[int, int, int]],
        kallsyms: Kallsyms,
        address: NDArray[np.uint64],
        code: NDArray[np.uint8],
    ) -> dict[str, Any] | None:
        """What the instructions at N avmas access, whose length and bytes are ``code``,
        uint8[N, 16]: the columns of ``DataAccesses`` by name. ``sections``: (svma, size, avma) of
        the file's code; of what is in none only the calls count. None for an architecture of which
        nothing is known. Raises NativeError."""

def type_layouts(
    path: str, names: list[str]
) -> tuple[
    str,
    list[tuple[str, int, int, int, list[tuple[str, str, int, int, bool]]] | None],
]:
    """How types are laid out in an ELF file with DWARF or BTF, or in BTF alone: where that was
    read from, and of each name the kind (struct, union), the size and the start of a member in
    bytes, how many other types have the name, and fields as (name, type, offset and size in bits,
    whether it is a bit field). None where there is no such type. Raises NativeError."""

def type_sizes(path: str) -> list[tuple[str, str, int]] | None:
    """All structs and unions with a name in a file as ``type_layouts`` reads it, as (kind, name,
    size), by kind and name. Of several of one name there is the one that most of the file uses.
    None where the file has no types. Raises NativeError."""

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
        """Whether it tells where functions were inlined: lines alone do not."""
    @property
    def unread(self) -> str | None:
        """Why debug information, or a part of it, was not read; symbols serve instead. None where
        all was."""
    def symbol_address(self, name: str) -> int | None: ...
    def sections(self) -> list[tuple[str, int, int]]:
        """Executable sections as (name, svma, size), by address. A relocatable file (a module) is
        laid out so that its sections do not overlap."""
    def segments(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Where the stretches of code that debug information describes start and end, by address:
        each has one chain, but for lines."""
    def resolve(self, svma: NDArray[np.uint64]) -> Resolution: ...
    def symbol_ranges(
        self, svma: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Where the symbol that covers each address starts, and the first address behind it; 0 and
        0 where none does."""

def demangled(names: list[str]) -> list[str]:
    """What mangled names of C++ and Rust stand for, without hashes; other names as they are. A C++
    function has its parameters, not what it returns."""

def elf_code(path: str, svma: NDArray[np.uint64], size: NDArray[np.uint64]) -> list[bytes]:
    """The code of an ELF file (plain, ``.zst``, ``.xz``) from each of the addresses on, as many
    bytes as its size; empty where no executable section has all of them. Addresses in a module are
    those of ``SymbolIndex.sections()``, and so are those that its code names. Raises NativeError,
    and ValueError for columns of different lengths."""

def statements(
    path: str, start: NDArray[np.uint64], end: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], list[str]]:
    """Where source statements begin in ranges of an ELF file, which rise and do not overlap: an
    address, which rises, a number of a file, a line, and the files. Where the line tables say
    ``is_stmt``. Raises NativeError, and ValueError for columns of different lengths."""

@final
class Disassembly:
    """N instructions, as columns. Index 0 of ``strings`` is the empty string.

    ``operation``: the mnemonic with its prefixes, as objdump prints it: ``lock cmpxchg``; ``(bad)``
    for what is no instruction. ``operands``: in AT&T syntax for x86-64. The address that they name
    is ``reference``, and written as ``f"{reference:#x}"``: of a direct jump or call, of memory
    beside %rip, in the kernel's image; 0: none. ``shape``: operation and operands with the kind and
    width of each register, and ``@`` as the reference. ``flow``: an index into ``flows()``.
    ``classes``: bit i is set for ``classes()[i]``."""

    strings: list[str]
    operation: NDArray[np.uint32]
    operands: NDArray[np.uint32]
    reference: NDArray[np.uint64]
    shape: NDArray[np.uint32]
    flow: NDArray[np.uint8]
    classes: NDArray[np.uint32]

def disassemble(
    architecture: str, address: NDArray[np.uint64], code: NDArray[np.uint8]
) -> Disassembly:
    """Of instructions for an architecture (``Architecture.name``). ``code`` has a row of 16 bytes
    for each address: a length and the instruction. Raises ValueError for an unknown architecture
    and for columns of different lengths."""

def split_code(architecture: str, code: bytes) -> NDArray[np.uint8]:
    """The length of each instruction of ``code``, one behind the other. What cannot be decoded is
    as short as an instruction can be: 1 byte for x86-64, 4 for arm64. Raises ValueError for an
    unknown architecture."""

def flows() -> list[str]:
    """Names of the ways in which an instruction leads on: next, conditional, jump, indirect-jump,
    call, indirect-call, return, enter, leave."""

def classes() -> list[str]:
    """Names of the kinds of instructions: load, store, locked, serialising, privileged, division,
    repeated, call, indirect-call, indirect-jump, conditional, vector."""

def traced_calls(
    text: bytes, functions: list[str]
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """The calls of ``functions`` that end in a text of ftrace's function_graph, which may be
    anything: for each, which of the functions, and how long it took in ns."""

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
    def nearest(
        self, avma: NDArray[np.uint64]
    ) -> tuple[list[str], NDArray[np.uint32], NDArray[np.uint64]]:
        """The nearest symbol at or before each address, of code or data, as (names, which of them
        each address has, how many bytes it is behind it). ``names[0]``, "", is of addresses too far
        behind any."""
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

def elf_data(
    path: str,
) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """The variables of an ELF file and its sections with data, as (name, svma, size), by address.
    Raises NativeError."""

def elf_sizes(path: str) -> tuple[list[tuple[str, int]], list[tuple[str, int, int]]]:
    """The sections of an ELF file that take memory, in its order, as (name, size), and its
    functions by address, as (name, svma, size): symbols in executable sections that have a size; of
    several at one address the one that ``SymbolIndex`` prefers. Raises NativeError."""

def elf_references(
    path: str,
) -> tuple[
    str,
    list[str],
    list[tuple[int, int, bool, int, int, int, int]],
    list[tuple[int, int, int, str]],
]:
    """The architecture of an ELF file (``Architecture.name``; "": unknown). Of an object file also
    names; the places in its code that the linker writes, by address, as (svma, bytes, whether the
    value is relative to the place, number of the name, section, svma of what is meant, addend), of
    which ``bytes`` is 0 where a part of an instruction is written, the section is 0 but where the
    name is a section's, and what lies in no code of the file has 0 as its svma; and variables as
    (section, offset, size, name). Raises NativeError."""

def elf_debug_info(path: str) -> tuple[bool, tuple[str, int] | None]:
    """Whether an ELF file has its debug information inside; and of the file that has it instead
    (``.gnu_debuglink``) the name, without a folder, and the CRC-32. Raises NativeError."""

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

@final
class SymbolRanges:
    """Functions as ranges of addresses, without a file: (start, length, name)."""

    def __init__(self, ranges: list[tuple[int, int, str]]) -> None: ...
    @staticmethod
    def parse_perf_map(text: bytes) -> SymbolRanges:
        """From ``perf-PID.map``: lines of start, size (hexadecimal) and name."""
    def resolve(self, avma: NDArray[np.uint64]) -> Resolution: ...

def file_offsets_to_svma(
    path: str, offsets: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Where the loader puts the bytes at offsets of an ELF file, as (svma, found). Raises
    NativeError."""

@final
class FunctionStacks:
    """Stacks of functions: stack i is stack ``parent[i]`` (-1: none) with ``function[i]`` on top,
    ``depth[i]`` frames below it; parents before their children. ``inlined``: at some place.
    ``entry_stack``: the stack of each entry of what was sampled (-1: none)."""

    parent: NDArray[np.int64]
    function: NDArray[np.int64]
    depth: NDArray[np.int64]
    inlined: NDArray[np.bool_]
    entry_stack: NDArray[np.int64]

def expand_calls(
    parent: NDArray[np.int64],
    site: NDArray[np.int64],
    node: NDArray[np.int64],
    place: NDArray[np.int64],
    called: NDArray[np.bool_],
    offsets: NDArray[np.uint32],
    functions: NDArray[np.uint32],
    inlined: NDArray[np.bool_],
) -> FunctionStacks:
    """The stacks of the entries ``place[i]`` in ``node[i]``, where node n was called by node
    ``parent[n]`` (-1: none) from the place ``site[n]`` and place p has the functions
    ``functions[offsets[p]:offsets[p + 1]]``. Where ``called``, only the place's outermost function
    is on top. Raises ValueError for columns of different lengths."""

class Event:
    """What perf counted: ``kind`` and ``config`` as perf_event_open(2) has them; ``rate``: the
    period, or the frequency."""

    name: str
    kind: int
    config: int
    rate: int
    is_frequency: bool

class KernelMapping:
    """Where perf says that the kernel or a module lies; the ``offset`` of
    ``[kernel.kallsyms]_text`` is where that symbol was."""

    name: str
    start: int
    length: int
    offset: int
    build_id: str | None

@final
class PerfReading:
    """A perf.data file that a thread reads."""

    def __init__(self, path: str) -> None:
        """Raises OSError where there can be no thread."""
    def result(self) -> PerfData:
        """It, once it is read. Raises NativeError, and RuntimeError when it is asked for again."""

@final
class PerfData:
    """A perf.data file: N distinct places (an address in an object), E entries (a stack of places
    and an event, with the sum of the periods and the number of the samples)."""

    @staticmethod
    def open(path: str) -> PerfData:
        """Read it whole. Raises NativeError."""
    place_object: NDArray[np.uint32]
    place_address: NDArray[np.uint64]
    entry_thread: NDArray[np.uint32]
    entry_event: NDArray[np.uint32]
    entry_weight: NDArray[np.uint64]
    entry_samples: NDArray[np.uint64]
    @property
    def events(self) -> list[Event]: ...
    @property
    def objects(self) -> list[tuple[str, str, str | None, int]]:
        """(kind, path, build id, pid) of each object. Kinds: kernel (addresses are avmas), file and
        vdso (offsets in the file), anonymous, unmapped, guest, hypervisor (addresses)."""
    @property
    def kernel_mappings(self) -> list[KernelMapping]: ...
    @property
    def kernel_symbols(self) -> list[tuple[int, int, str]]:
        """(start, length, name) of code that the kernel made: BPF programs, trampolines."""
    @property
    def build_ids(self) -> dict[str, str]:
        """The header's table: build ids by path or name."""
    @property
    def machine(self) -> dict[str, Any]:
        """hostname, release, perf_version, architecture, processor, cpus, command."""
    @property
    def statistics(self) -> dict[str, Any]:
        """Samples, lost, throttled, not understood …: docs/perf-data.md names them."""
    @property
    def threads(self) -> list[str]:
        """Names of threads, by number."""
    def expand(
        self,
        offsets: NDArray[np.uint32],
        functions: NDArray[np.uint32],
        inlined: NDArray[np.bool_],
        thread_function: int | None = None,
    ) -> FunctionStacks:
        """Stacks of functions, where place i has ``functions[offsets[i]:offsets[i + 1]]``. With
        ``thread_function``, each stack begins with the function ``thread_function`` + thread."""

@final
class PerfText:
    """Stacks that came as text, of ``perf script`` or folded."""

    @staticmethod
    def open(path: str) -> PerfText:
        """Read it whole. Raises NativeError, also for a file that is neither."""
    format: str
    events: list[str]
    function_name: list[str]
    function_object: list[str]
    function_in_kernel: list[bool]
    function_unresolved: list[bool]
    sides_known: bool
    stacks: FunctionStacks
    entry_event: NDArray[np.uint32]
    entry_weight: NDArray[np.uint64]
    entry_samples: NDArray[np.uint64]
    frameless: int
    lost: int
    unknown_lines: int
    unknown_line: str

def is_perf_data(path: str) -> bool:
    """Whether a file, unpacked if it is packed whole, begins like perf.data. Raises NativeError."""

def write_folded(
    parent: NDArray[np.int64],
    function: NDArray[np.int64],
    names: list[str],
    counts: NDArray[np.int64],
) -> bytes:
    """Lines of "frames;joined count", for the stacks with a count above zero."""

def distinct_stacks(
    parent: NDArray[np.int64], function: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Equal stacks of a table as one: parent, function and depth of each, ordered by these (depth
    first), and where each of the table's went. Raises ValueError where a parent does not stand
    before its child, or a function is no number below 2**32."""

def add_to_parents(parent: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Add to the counts [S, R] of each stack those of all stacks on top of it, in place. Raises
    ValueError where a parent does not stand before its child."""

def outer_calls(
    parent: NDArray[np.int64], function: NDArray[np.int64], functions: int
) -> NDArray[np.int64]:
    """Per stack: the nearest one below it with the same function on top, or -1. Raises ValueError
    where a parent does not stand before its child, or a function is not below ``functions``."""

def align(
    old: NDArray[np.uint32], new: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Pairs of instructions of two codes, as (old, new, kind): 0: the same; 1: of one operation, at
    the same place; 2: the same, elsewhere. Those of kind 0 and 1 rise together. ``old``, ``new``:
    uint32[N, 5]: a number that is equal for what does the same, one for each operation, one for
    what may be of one source line (0: unknown), whether a basic block begins, and whether it ran.
    Swapped codes have the same pairs."""
