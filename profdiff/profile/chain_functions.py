"""The chains of addresses as functions of the source."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.function_identity import Function, fold, unresolved
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import distinct


class ChainFunctions(msgspec.Struct, frozen=True):
    """The chains of N addresses as distinct functions, compiler suffixes folded: address i has
    ``frames[offsets[i]:offsets[i + 1]]``, never none: an unresolved one has what stands for its
    reason. ``inlined``: per frame. ``lines``: int64 per function, where it is declared."""

    functions: list[Function]
    lines: NDArray[np.int64]
    offsets: NDArray[np.uint32]
    frames: NDArray[np.uint32]
    inlined: NDArray[np.bool_]
    resolved: NDArray[np.bool_]

    @staticmethod
    def of(chains: Chains, in_kernel: NDArray[np.bool_]) -> "ChainFunctions":
        """``in_kernel``: bool[N], whether each address is the kernel's."""
        lengths = np.diff(chains.offsets)
        rows = chains.frame_function[chains.frames]
        # A function is the kernel's if an address of the kernel has it in its chain.
        function_in_kernel = np.zeros(len(chains.function_name), np.bool_)
        function_in_kernel[rows[np.repeat(in_kernel, lengths)]] = True
        functions, numbers = _functions(chains, function_in_kernel)
        offsets, missing = chains.offsets.astype(np.int64), lengths == 0
        kind = chains.reason[missing].astype(np.int64) * 2 + in_kernel[missing]
        kinds = distinct(kind)
        which = np.searchsorted(kinds, kind)
        fillers = len(functions) + which
        functions += [unresolved(chains.reasons[k // 2], bool(k % 2)) for k in kinds.tolist()]
        lines = np.zeros(len(functions), np.int64)
        lines[numbers] = chains.function_line
        frames = np.insert(numbers[rows], offsets[:-1][missing], fillers)
        inlined = chains.frame_inlined[chains.frames]
        inlined = np.insert(inlined, offsets[:-1][missing], False)
        offsets[1:] += np.cumsum(missing)
        return ChainFunctions(
            functions, lines, offsets.astype(np.uint32), frames.astype(np.uint32), inlined, ~missing
        )

    def seats(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """int64[N] each, numbers of functions by address: the innermost one, the innermost one that
        is not from a header, and the physical one."""
        offsets = self.offsets.astype(np.int64)
        first, last = offsets[:-1], offsets[1:] - 1
        header = np.array([function.file.endswith(".h") for function in self.functions], np.bool_)
        # The last frame up to each one that is not from a header.
        own = np.where(header[self.frames], -1, np.arange(len(self.frames)))
        site = np.maximum(np.maximum.accumulate(own)[last], first)
        frames = self.frames.astype(np.int64)
        return frames[last], frames[site], frames[first]

    def symbols(self, chains: Chains) -> dict[int, list[str]]:
        """The symbols that differ from their physical function's name only by a compiler's suffix,
        by function."""
        outermost = self.frames[self.offsets[:-1][self.resolved]].astype(np.int64)
        # A pair is one number while it is sorted: far faster than rows.
        radix = len(chains.strings)
        pairs = distinct(outermost * radix + chains.symbol[self.resolved])
        symbols: dict[int, list[str]] = {}
        for function, symbol in zip(pairs // radix, pairs % radix, strict=True):
            text = chains.strings[symbol]
            name, suffix = fold(text)
            if suffix and name == self.functions[function].name:
                symbols.setdefault(int(function), []).append(text)
        return {function: sorted(texts) for function, texts in symbols.items()}


def _functions(
    chains: Chains, in_kernel: NDArray[np.bool_]
) -> tuple[list[Function], NDArray[np.int64]]:
    """Distinct functions after folding, and the number of each row of the chains' table."""
    seen: dict[Function, int] = {}
    numbers = np.empty(len(chains.function_name), np.int64)
    strings = chains.strings
    known = chains.function_name, chains.function_object, chains.function_file, in_kernel
    columns = zip(*(column.tolist() for column in known), strict=True)
    for row, (name, owner, file, kernel) in enumerate(columns):
        function = Function.of(strings[name], strings[owner], strings[file], kernel)
        numbers[row] = seen.setdefault(function, len(seen))
    return list(seen), numbers
