"""How many bytes the sections, functions and types of kernels take, read from their ELF files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError
from profdiff.profile.function_identity import Function
from profdiff.symbolization._native import (
    NativeError,
    SymbolIndex,
    elf_sizes,
    type_sizes,
)
from profdiff.symbolization.chains import VMLINUX

# What objtool calls the padding in front of a function (CONFIG_CALL_PADDING).
_PADDING = "__pfx_"

Names = tuple[str, ...]
Sizes = Mapping[Names, int]


class KernelSizes(NamedTuple):
    """Bytes by name. ``functions``: with what is inlined into them, the parts that the compiler
    moved away and the padding in front, all functions of one name together; ``inlined``: by
    function and by what is inlined into it, with what is inlined into that. ``inlined`` and
    ``types`` are None where nothing tells them; ``unread``: why debug information was not read as a
    whole."""

    sections: Sizes
    functions: Sizes
    inlined: Sizes | None
    types: Sizes | None
    unread: str | None = None

    @staticmethod
    def of(path: Path) -> "KernelSizes":
        """Those of an ELF file, plain or packed. Raises InputError."""
        file, cache = str(path), symbol_cache()
        try:
            sections, functions = elf_sizes(file)
            index = SymbolIndex.open(file, str(cache) if cache else None)
            types = type_sizes(file)
        except NativeError as error:
            raise InputError(str(error)) from error
        return KernelSizes(
            _added(((name,), size) for name, size in sections),
            _added(
                ((_name(symbol.removeprefix(_PADDING)),), size) for symbol, _, size in functions
            ),
            inlined_sizes(index) if index.has_inlines else None,
            None if types is None else {(f"{kind} {name}",): size for kind, name, size in types},
            index.unread,
        )


class Row(NamedTuple):
    """What has a size by kernel, 0 where it is not there."""

    names: Names
    sizes: tuple[int, ...]

    @property
    def delta(self) -> int:
        """The largest difference to the base."""
        return max(abs(size - self.sizes[0]) for size in self.sizes)


def rows(kernels: Sequence[Sizes]) -> list[Row]:
    """All that has a size, by the largest difference."""
    names = dict.fromkeys(name for sizes in kernels for name in sizes)
    found = [Row(name, tuple(sizes.get(name, 0) for sizes in kernels)) for name in names]
    return sorted(found, key=lambda row: (-row.delta, -max(row.sizes), row.names))


def changed_inlining(kernels: Sequence[Sizes], functions: Iterable[Row]) -> list[Row]:
    """What is inlined on one kernel and not on another, into functions that all kernels have and
    whose size differs."""
    changed = {row.names[0] for row in functions if row.delta and all(row.sizes)}
    found = rows([{key: sizes[key] for key in sizes if key[0] in changed} for sizes in kernels])
    return [row for row in found if not all(row.sizes)]


def _added(sizes: Iterable[tuple[Names, int]]) -> Sizes:
    found = dict[Names, int]()
    for name, size in sizes:
        found[name] = found.get(name, 0) + size
    return found


def _name(symbol: str) -> str:
    return Function.of(symbol, VMLINUX, "", True).name


def inlined_sizes(index: SymbolIndex) -> Sizes:
    """Bytes by function and by what is inlined into it, with what is inlined into that."""
    start, end = index.segments()
    found = index.resolve(start)
    size = np.maximum(end, start) - start
    # Strings that are one name have one number.
    names = dict[str, int]()
    number = np.array([names.setdefault(_name(text), len(names)) for text in found.strings])
    offsets = found.chain_offsets.astype(np.int64)
    length: NDArray[np.int64] = offsets[1:] - offsets[:-1]
    chain = np.repeat(np.arange(len(length)), length)
    frame = found.chain_frames
    name = number[found.function_name[found.frame_function[frame]]]
    outer = number[found.symbol]
    inside = found.frame_inlined[frame] & (found.symbol[chain] != 0) & (name != outer[chain])
    # What is inlined into itself counts once.
    once = np.unique(chain[inside] * len(names) + name[inside])
    chain, name = once // len(names), once % len(names)
    pairs, row = np.unique(outer[chain] * len(names) + name, return_inverse=True)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, row, size[chain].astype(np.int64))
    texts = list(names)
    into, what = ((pairs // len(names)).tolist(), (pairs % len(names)).tolist())
    keys = ((texts[outside], texts[own]) for outside, own in zip(into, what, strict=True))
    return dict(zip(keys, total.tolist(), strict=True))
