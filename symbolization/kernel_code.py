"""The code of a kernel's functions, the chains of all their instructions, and what it refers to.

Executed code is recorded as it ran. This is what stands around it, as the debug ELF has it: before
the kernel patched its text.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.symbolization import column_file
from profdiff.symbolization._native import (
    Kallsyms,
    NativeError,
    disassemble,
    split_code,
)
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.merge import Merge
from profdiff.symbolization.places import Object, Places, among, distinct
from profdiff.symbolization.section_text import LoadedPart, loaded_parts, texts
from profdiff.symbolization.statements import Statements, statements

# No function is larger; what the ELF file calls one may be.
_MAX_RANGE = 1 << 20


class Instructions(msgspec.Struct, frozen=True):
    """N instructions: ``address``: uint64[N] (avma); ``code``: uint8[N, 16], length and bytes;
    ``stretch``: int64[N], rows of the chains that they have."""

    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    stretch: NDArray[np.int64]


class KernelCode(column_file.Record, frozen=True):
    """R ranges of code in one boot, each of one ELF symbol or of several that overlap.

    ``architecture``: its name. ``start``: uint64[R], rising; ``size``: uint32[R], in bytes;
    ``text``: uint8, their bytes one behind the other. ``chains``: of stretches, whose instructions
    have one chain: each reaches from its address to the next one, or to the end of its range, and
    one begins at each range. ``reference``: uint64[A], rising: addresses that the code refers to,
    with ``names[reference_name]`` as the symbol, ``reference_offset`` bytes before.
    """

    FORMAT: ClassVar[int] = 2
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        "size": ("start",),
        "reference_name": ("reference",),
        "reference_offset": ("reference",),
    }
    ROWS: ClassVar[Mapping[str, str]] = {"reference_name": "names"}
    ADVICE: ClassVar[str] = "delete it, and annotate shows executed code alone"

    architecture: str
    start: NDArray[np.uint64]
    size: NDArray[np.uint32]
    text: NDArray[np.uint8]
    chains: Chains
    names: list[str]
    reference: NDArray[np.uint64]
    reference_name: NDArray[np.uint32]
    reference_offset: NDArray[np.uint64]
    statements: Statements

    def ranges_of(self, address: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The range that each address lies in; -1: none."""
        row = np.searchsorted(self.start, address, side="right").astype(np.int64) - 1
        inside = row >= 0
        inside[inside] = address[inside] - self.start[row[inside]] < self.size[row[inside]]
        return np.where(inside, row, -1)

    def instructions(self, ranges: NDArray[np.int64]) -> Instructions:
        """All instructions of some ranges, in the order of those."""
        address, code = swept(self.architecture, self.start, self.size, self.text, ranges)
        stretch = np.searchsorted(self.chains.address, address, side="right").astype(np.int64) - 1
        return Instructions(address, code, stretch)

    def check(self) -> None:
        """Raise ValueError unless every column has its length, and what should rise does."""
        super().check()
        self.chains.check()
        split_code(self.architecture, b"")
        if int(self.size.sum(dtype=np.uint64)) != len(self.text):
            raise ValueError("sizes and text disagree")
        end = self.start + self.size
        if len(end) and (bool((end < self.start).any()) or bool((self.start[1:] < end[:-1]).any())):
            raise ValueError("ranges overlap")
        for name, column in (("reference", self.reference), ("stretches", self.chains.address)):
            if bool((column[1:] <= column[:-1]).any()):
                raise ValueError(f"{name} does not rise")
        if not among(self.start, self.chains.address).all():
            raise ValueError("a range has no chain")


def kernel_code(
    symbols: KernelSymbols,
    places: Places,
    executed: NDArray[np.uint8],
    architecture: str,
    cache: Path | None,
) -> KernelCode | None:
    """The code of all ELF symbols that executed at the kernel's ones of N places, with chains.
    ``executed``: uint8[N, 16], what ran there, whose references are named too; zeros where that is
    not known. None without a debug ELF that fits. Raises InputError for a damaged one."""
    mine = np.flatnonzero(places.in_kernel)
    address = places.address[mine]
    kallsyms = Kallsyms(symbols.kallsyms)
    try:
        parts = list(loaded_parts(symbols, kallsyms, places, address, cache))
        found = [piece for part in parts for piece in _pieces(part, address)]
        if not found:
            return None
        found.sort()
        start = np.array([start for start, _ in found], np.uint64)
        size = np.array([len(text) for _, text in found], np.uint32)
        marked = statements(parts, start, size)
    except NativeError as error:
        raise InputError(str(error)) from error
    text = np.frombuffer(b"".join(text for _, text in found), np.uint8)
    every, code = swept(architecture, start, size, text, np.arange(len(start)))
    chains = _resolved(every, places, symbols, cache)
    seen = executed[mine][:, 0] > 0
    reference = disassemble(
        architecture,
        np.concatenate([every, address[seen]]),
        np.concatenate([code, executed[mine][seen]]),
    ).reference
    reference = distinct(reference[reference != 0])
    names, number, offset = kallsyms.nearest(reference)
    if not symbols.kallsyms:
        names, number, offset = _nearest(parts, reference, places, symbols, cache)
    named = number > 0
    return KernelCode(
        architecture=architecture,
        start=start,
        size=size,
        text=text,
        chains=chains.taken(_stretches(chains, start)),
        names=names,
        reference=reference[named],
        reference_name=number[named],
        reference_offset=offset[named],
        statements=marked,
    )


def _nearest(
    parts: Sequence[LoadedPart],
    reference: NDArray[np.uint64],
    places: Places,
    symbols: KernelSymbols,
    cache: Path | None,
) -> tuple[list[str], NDArray[np.uint32], NDArray[np.uint64]]:
    """As ``Kallsyms.nearest``, for a recording without kallsyms: of code alone, by the ELF file."""
    start = np.zeros(len(reference), np.uint64)
    for part in parts:
        moved = np.uint64((part.avma - part.svma) % 2**64)
        inside = np.flatnonzero(
            (reference >= np.uint64(part.avma)) & (reference - np.uint64(part.avma) < part.size)
        )
        first, end = part.index.symbol_ranges(reference[inside] - moved)
        start[inside] = np.where(first < end, first + moved, np.uint64(0))
    known = distinct(start[start != 0])
    chains = _resolved(known, places, symbols, cache)
    number = np.zeros(len(reference), np.uint32)
    there = np.flatnonzero(start)
    number[there] = chains.symbol[np.searchsorted(known, start[there])]
    return chains.strings, number, reference - start


def swept(
    architecture: str,
    start: NDArray[np.uint64],
    size: NDArray[np.uint32],
    text: NDArray[np.uint8],
    ranges: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The instructions of some ranges, one behind the other: uint64[N], and uint8[N, 16]."""
    ends = np.cumsum(size.astype(np.int64))
    starts = ends - size
    lengths = [
        split_code(architecture, text[starts[row] : ends[row]].tobytes()) for row in ranges.tolist()
    ]
    length = np.concatenate([np.empty(0, np.uint8), *lengths]).astype(np.int64)
    number = [len(one) for one in lengths]
    # How far behind its range's start each one is.
    within = np.cumsum(length) - length
    within -= np.repeat(np.cumsum([0, *size[ranges].tolist()])[:-1], number)
    address = np.repeat(start[ranges], number) + within.astype(np.uint64)
    place = np.repeat(starts[ranges], number) + within
    code = np.zeros((len(length), 16), np.uint8)
    code[:, 0] = length
    for column in range(int(length.max(initial=0))):
        there = length > column
        code[there, column + 1] = text[place[there] + column]
    return address, code


def _pieces(part: LoadedPart, address: NDArray[np.uint64]) -> Iterator[tuple[int, bytes]]:
    """Where the symbols of a section that executed lie (avma), and their bytes; those that overlap
    as one. Raises NativeError."""
    inside = (address >= np.uint64(part.avma)) & (address - np.uint64(part.avma) < part.size)
    if not inside.any():
        return
    moved = np.uint64((part.avma - part.svma) % 2**64)
    svma = address[inside] - moved
    starts, ends = part.index.symbol_ranges(svma)
    limit = part.svma + part.size
    known = {
        (start, min(end, limit, start + _MAX_RANGE))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if start < end
    }
    ranges: list[tuple[int, int]] = []
    for start, end in sorted(known):
        if ranges and start < ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    first = np.array([start for start, _ in ranges], np.uint64)
    size = np.array([end - start for start, end in ranges], np.uint64)
    found = texts(part.path, part.svma, part.size, first, size)
    for start, text in zip((first + moved).tolist(), found, strict=True):
        if text:
            yield start, text


def _resolved(
    address: NDArray[np.uint64], places: Places, symbols: KernelSymbols, cache: Path | None
) -> Chains:
    where = Places(
        address,
        np.zeros(len(address), np.uint32),
        [Object("kernel")],
        None,
        places.kernel_mappings,
        places.kernel_symbols,
    )
    merge = Merge(address)
    try:
        symbols.resolve(merge, where, cache)
    except NativeError as error:
        raise InputError(str(error)) from error
    return merge.finish()


def _stretches(chains: Chains, starts: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Which of the addresses, in order, have another chain or symbol than the one before, or begin
    a range."""
    offsets = chains.offsets.astype(np.int64)
    length = np.diff(offsets)
    other = np.ones(len(chains), np.bool_)
    other[1:] = (length[1:] != length[:-1]) | (chains.symbol[1:] != chains.symbol[:-1])
    other[1:] |= chains.reason[1:] != chains.reason[:-1]
    # Each frame and the one at its place in the chain before.
    chain = np.repeat(np.arange(len(chains)), length)
    before = np.arange(len(chains.frames)) - length[chain]
    comparable = ~other[chain]
    differs = np.zeros(len(chains.frames), np.bool_)
    differs[comparable] = chains.frames[comparable] != chains.frames[before[comparable]]
    other[chain[differs]] = True
    return np.flatnonzero(other | among(chains.address, starts))
