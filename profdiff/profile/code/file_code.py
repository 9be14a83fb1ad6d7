"""The code of an ELF file as its compiler made it: of a kernel, a module or an object file.

What the code of an object file refers to has no address before it is linked. It is given one here,
so that its instructions read as those of a kernel do.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.code.alignment import DecodedCode, KernelSide, decoded
from profdiff.profile.code.kernel_functions import FunctionCode
from profdiff.profile.code.natural_loops import natural_loops
from profdiff.profile.function_identity import fold
from profdiff.symbolization._native import (
    NativeError,
    SymbolIndex,
    disassemble,
    elf_code,
    elf_data,
    elf_references,
    elf_sizes,
    flows,
)
from profdiff.symbolization.chains import VMLINUX, Chains
from profdiff.symbolization.kernel_code import swept
from profdiff.symbolization.merge import Merge

# Where x86-64's kernels lie, which instructions of 32 bits reach, and what lies outside of an
# object file.
_IMAGE, _OUTSIDE = 0xFFFFFFFF81000000, 0xFFFFFFFFC0000000
# A number that lies between is of no relocation.
_APART = 1 << 8
# No function is larger; what the ELF file calls one may be.
_MAX_SIZE = 1 << 20
_FLOWS = flows()
_LEADS = ("jump", "conditional")
# Bytes of what a function jumps to and back, as far as its section has them.
_DETOURS = (64, 32, 18)
_ENDS = ("jump", "indirect-jump", "return", "leave")


class Loop(msgspec.Struct, frozen=True):
    """``rows``: its instructions, rows of the code. ``depth``: 1 for one that is in no other."""

    head: int
    rows: list[int]
    depth: int


class FileFunction(msgspec.Struct, frozen=True):
    """A function of a file. ``size``: in bytes. ``lines``: by instruction; ``sites``: in the
    function's own source. ``into``: the functions whose copies this is; none of code of its own.
    ``inlined``: bytes by what is inlined into it, with what is inlined into that."""

    side: KernelSide
    size: int
    loops: list[Loop]
    lines: list[str]
    sites: list[str]
    into: list[str]
    inlined: dict[str, int]


class FileCode:
    """Raises InputError for what is not an ELF file of a known architecture, or damaged."""

    def __init__(self, path: Path) -> None:
        self.path, cache = path, symbol_cache()
        try:
            told = elf_references(str(path))
            self.architecture, self._names, references, variables = told
            self.functions = elf_sizes(str(path))[1]
            self.index = SymbolIndex.open(str(path), str(cache) if cache else None)
        except NativeError as error:
            raise InputError(str(error)) from error
        if not self.architecture:
            raise InputError(f"{path}: its architecture is none that profdiff knows")
        self._references = references
        self._fields = [one[0] for one in references]
        self._moved = _IMAGE if references and self.architecture == "x86_64" else 0
        self._variables: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)
        for section, offset, size, name in variables:
            self._variables[section].append((offset, size, name))
        self._starts = [start for _, start, _ in self.functions]
        # What lies outside, in the order in which it got an address.
        self._outside: dict[tuple[str, int], int] = {}

    @cached_property
    def by_name(self) -> dict[str, list[tuple[int, int]]]:
        """Where functions are, (start, size): their own code first, parts that the compiler moved
        away behind it."""
        found: defaultdict[str, list[tuple[bool, int, int]]] = defaultdict(list)
        for symbol, start, size in self.functions:
            name, suffix = fold(symbol)
            found[name].append((".cold" in suffix, start, min(size, _MAX_SIZE)))
        return {
            name: [(start, size) for _, start, size in sorted(some)] for name, some in found.items()
        }

    def function(self, name: str, outer: Collection[str] = (), file: str = "") -> FileFunction:
        """The function's own code, or, where it has none, its copies in ``outer`` functions.
        ``file``: of its source, where several have the name: ``mm/mprotect``. Raises
        InputError for several."""
        ranges = self.by_name.get(name, [])
        inlined = not ranges
        if inlined:
            ranges = [one for into in outer for one in self.by_name.get(into, [])]
        address, code, chains = self._instructions(ranges)
        functions = ChainFunctions.of(chains, np.ones(len(chains), np.bool_))
        known = functions.functions
        which = [number for number, one in enumerate(known) if one.name == name]
        starts = functions.offsets[:-1].astype(np.int64)
        if inlined:
            has = np.isin(functions.frames, which)
            mine = np.logical_or.reduceat(has, starts) if len(starts) else np.empty(0, np.bool_)
            into = {known[frame].name for frame in functions.frames[starts[mine]].tolist()}
        else:
            frames = functions.frames[starts]
            into, files = set(), {known[frame].file for frame in frames.tolist()} - {""}
            mine = np.ones(len(address), np.bool_)
            if len(files) > 1 and not file:
                raise InputError(
                    f"{self.path.name} has several functions {name}: {', '.join(sorted(files))}: "
                    f"name one, {_object(sorted(files)[0])}:{name}"
                )
            if file:
                chosen = [one for one in which if _object(known[one].file).endswith(f"{file}.o")]
                mine = np.isin(frames, chosen)
        rows = np.flatnonzero(mine)
        side = self._side(name, address[rows], code[rows], chains.taken(rows))
        return FileFunction(
            side=side,
            size=int(code[rows, 0].sum()),
            loops=self._loops(address, code, rows),
            lines=_lines(side.code),
            sites=_sites(chains, functions, which, rows),
            into=sorted(into),
            inlined=_inlined(functions, which, code[:, 0], rows),
        )

    def named(self, reference: NDArray[np.uint64]) -> list[tuple[str, int]]:
        """The symbol of each address, without suffixes that number a function's clones, and how
        many bytes it is behind it; "" where no symbol is known."""
        outside = list(self._outside)
        found = []
        for address in reference.tolist():
            row, rest = divmod(address - _OUTSIDE, _APART)
            if self._moved and 0 <= row < len(outside):
                found.append(("", 0) if rest else outside[row])
            else:
                found.append(self._inside(address - self._moved))
        return found

    def _inside(self, address: int) -> tuple[str, int]:
        row = bisect_right(self._starts, address) - 1
        if row >= 0:
            symbol, start, size = self.functions[row]
            if address - start < max(size, 1):
                name, suffix = fold(symbol)
                return name + ".cold" * (".cold" in suffix), address - start
        for known, starts in self._data:
            row = bisect_right(starts, address) - 1
            if row >= 0 and address - starts[row] < known[row][2]:
                name, start = known[row][:2]
                return (name, address - start) if known is self._data[0][0] else (_section(name), 0)
        return "", 0

    @cached_property
    def _data(self) -> list[tuple[list[tuple[str, int, int]], list[int]]]:
        """Variables, and sections of data, with their addresses, of a file that is linked."""
        if self._references:
            return []
        try:
            parts = elf_data(str(self.path))
        except NativeError as error:
            raise InputError(str(error)) from error
        return [(one, [start for _, start, _ in one]) for one in parts]

    def _instructions(
        self, ranges: Sequence[tuple[int, int]]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint8], Chains]:
        """All instructions of some ranges: linked addresses, length and bytes, chains."""
        start = np.array([one[0] for one in ranges], np.uint64)
        size = np.array([one[1] for one in ranges], np.uint32)
        try:
            texts = elf_code(str(self.path), start, size.astype(np.uint64))
            size = np.array([len(text) for text in texts], np.uint32)
            text = np.frombuffer(b"".join(texts), np.uint8)
            every = np.arange(len(start))
            address, code = swept(self.architecture, start, size, text, every)
            merge = Merge(address)
            merge.add(np.arange(len(address)), self.index.resolve(address), VMLINUX)
        except NativeError as error:
            raise InputError(str(error)) from error
        self._link(address, code)
        return address + np.uint64(self._moved), code, merge.finish()

    def _link(self, address: NDArray[np.uint64], code: NDArray[np.uint8]) -> None:
        """Write what the linker would into the instructions of an object file."""
        if not self._moved:
            return
        for at, place in enumerate(address.tolist()):
            end = place + int(code[at, 0])
            for row in self._within(place, end):
                field, width, relative, number, section, target, addend = self._references[row]
                if not width or field + width > end:
                    continue
                off = addend + (end - field if relative else 0)
                if target:
                    linked = self._moved + target + off
                else:
                    key = self._meant(self._names[number], section, off)
                    linked = _OUTSIDE + _APART * self._outside.setdefault(key, len(self._outside))
                value = linked - (self._moved + end if relative else 0)
                written = (value % 2**64).to_bytes(8, "little")[:width]
                first = 1 + field - place
                code[at, first : first + width] = np.frombuffer(written, np.uint8)

    def _within(self, start: int, end: int) -> Iterator[int]:
        """The references whose field begins in a range."""
        row = bisect_right(self._fields, start - 1)
        while row < len(self._fields) and self._fields[row] < end:
            yield row
            row += 1

    def _meant(self, name: str, section: int, offset: int) -> tuple[str, int]:
        """What a reference to data means: the variable where only a section is named."""
        if not section:
            return name, offset
        for start, size, variable in self._variables[section]:
            if start <= offset < start + size:
                return variable, offset - start
        return _section(name), 0

    def _loops(
        self, address: NDArray[np.uint64], code: NDArray[np.uint8], chosen: NDArray[np.intp]
    ) -> list[Loop]:
        """The loops that begin in some of the instructions of code, as far as they are of these."""
        found = disassemble(self.architecture, address, code)
        at = {place: row for row, place in enumerate(address.tolist())}
        behind = (address + code[:, 0]).tolist()
        edges: list[list[int]] = []
        rows = zip(found.flow.tolist(), found.reference.tolist(), behind, strict=True)
        for flow, reference, after in rows:
            name = _FLOWS[flow]
            to = [reference] if name in _LEADS else []
            if name == "jump" and reference not in at:
                to = self._detour(reference)
            to += [] if name in _ENDS else [after]
            edges.append([at[place] for place in to if place in at])
        led = {row for to in edges for row in to}
        # A switch leads somewhere; to what else nothing leads is padding, or faults lead there.
        switches = any(_FLOWS[flow] == "indirect-jump" for flow in found.flow.tolist())
        entered = [row for row in range(len(edges)) if row == 0 or (switches and row not in led)]
        number = {row: at for at, row in enumerate(chosen.tolist())}
        bodies = sorted(
            (number[head], {number[row] for row in body if row in number})
            for head, body in natural_loops(edges, entered)
            if head in number
        )
        return [
            Loop(head, sorted(body), sum(body <= other for _, other in bodies))
            for head, body in bodies
        ]

    def _detour(self, target: int) -> list[int]:
        """Where code leads that is apart from a function and of none: a test of the processor, as
        ``_static_cpu_has`` of arch/x86/include/asm/cpufeature.h has it, until boot replaces it."""
        start = target - self._moved
        if start < 0 or self._inside(start)[0]:
            return []
        for size in _DETOURS:
            address, code, _ = self._instructions([(start, size)])
            if len(address):
                found = disassemble(self.architecture, address, code)
                flow = [_FLOWS[one] for one in found.flow.tolist()]
                end = flow.index("jump") + 1 if "jump" in flow else 0
                rows = zip(flow[:end], found.reference.tolist(), strict=False)
                return [reference for name, reference in rows if name in _LEADS]
        return []

    def _side(
        self, name: str, address: NDArray[np.uint64], code: NDArray[np.uint8], chains: Chains
    ) -> KernelSide:
        last = chains.offsets[1:].astype(np.int64) - 1
        frames = chains.frames[np.maximum(last, 0)] if len(chains.frames) else np.empty(0, np.int64)
        known = (np.diff(chains.offsets) > 0) if len(chains.frames) else np.empty(0, np.bool_)
        file, line = np.zeros(len(address), np.int64), np.zeros(len(address), np.int64)
        file[known] = chains.frame_file[frames][known]
        line[known] = chains.frame_line[frames][known]
        every = FunctionCode(
            places=[(name,)],
            place=np.zeros(len(address), np.int64),
            address=address,
            code=code,
            count=np.ones(len(address), np.int64),
            samples=None,
            taken=None,
            untold=None,
            strings=chains.strings,
            file=file,
            line=line,
            symbol=chains.symbol.astype(np.int64),
        )
        read = decoded(self, every)
        self._name_parts(every, read)
        return KernelSide(every, read, np.zeros(len(address), np.int64))

    def _name_parts(self, code: FunctionCode, read: DecodedCode) -> None:
        """Name what instructions refer to by a part of theirs that the linker writes."""
        if self._moved:
            return
        for at, place in enumerate(code.address.tolist()):
            for row in self._within(place, place + int(code.code[at, 0])):
                _, _, _, number, section, target, addend = self._references[row]
                name, far = (
                    self._inside(target + addend)
                    if target
                    else self._meant(self._names[number], section, addend)
                )
                told = f"{name}+{far:#x}" if far else name
                operation = read.operation[at]
                # What stands there now is the instruction's own address, or nothing.
                rest = read.text[at].removeprefix(operation).rpartition(" ")[0]
                read.text[at] = f"{operation}{rest} {told}"
                read.key[at] = (*read.key[at][:2], told)


def _section(name: str) -> str:
    """What lies in a section without a name of its own: constants, mostly texts."""
    return ".rodata" if name.startswith(".rodata") else name


def _object(file: str) -> str:
    return file.rpartition(".")[0] + ".o"


def _lines(code: FunctionCode) -> list[str]:
    """Where each instruction is from: ``mprotect.c:123``; "" where that is unknown."""
    return [
        f"{code.strings[file].rpartition('/')[2]}:{line}" if line else ""
        for file, line in zip(code.file.tolist(), code.line.tolist(), strict=True)
    ]


def _sites(
    chains: Chains, functions: ChainFunctions, which: Sequence[int], rows: NDArray[np.intp]
) -> list[str]:
    found = []
    own = set(which)
    for row in rows.tolist():
        start, end = functions.offsets[row : row + 2].tolist()
        frames = functions.frames[start:end].tolist()
        first = next((at for at, frame in enumerate(frames) if frame in own), None)
        if first is None or functions.functions[frames[first]].reason:
            found.append("")
            continue
        frame = chains.frames[int(chains.offsets[row]) + first]
        file = chains.strings[chains.frame_file[frame]].rpartition("/")[2]
        line = int(chains.frame_line[frame])
        found.append(f"{file}:{line}" if line else "")
    return found


def _inlined(
    functions: ChainFunctions,
    which: Sequence[int],
    length: NDArray[np.uint8],
    rows: NDArray[np.intp],
) -> dict[str, int]:
    found: defaultdict[str, int] = defaultdict(int)
    own = set(which)
    for row in rows.tolist():
        start, end = functions.offsets[row : row + 2].tolist()
        frames = functions.frames[start:end].tolist()
        first = next((at for at, frame in enumerate(frames) if frame in own), 0)
        for frame in {*frames[first + 1 :]} - own:
            found[functions.functions[frame].name] += int(length[row])
    return dict(found)
