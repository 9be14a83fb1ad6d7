"""A profile: what the runs of one kernel executed, as columns over distinct stacks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.function_identity import Function, fold
from profdiff.stack_table import StackTable, distinct_pairs
from profdiff.symbolization.chains import Chains


@dataclass(frozen=True)
class Profile:
    """F functions, S stacks, R runs of one kernel.

    ``counts``: int64[S, R], how many instructions each run executed with exactly that stack.
    ``inlined``: bool[S], whether the innermost function was inlined at some address.
    ``symbols``: for a function, the ELF symbols that were folded into its name.
    ``unresolved``: by (reason, in_kernel), int64[R]. ``inlines_visible``: false with no debug ELF.
    ``identical``: all runs have the same count at every address.
    """

    functions: list[Function]
    symbols: dict[int, list[str]]
    stacks: StackTable
    inlined: NDArray[np.bool_]
    counts: NDArray[np.int64]
    unresolved: dict[tuple[str, bool], NDArray[np.int64]]
    inlines_visible: bool
    identical: bool

    @staticmethod
    def from_chains(chains: Chains, counts: NDArray[np.int64]) -> "Profile":
        """Sum ``counts``, int64[N, R], over the distinct chains of N addresses."""
        offsets = chains.offsets.astype(np.int64)
        in_kernel = (chains.address >> np.uint64(63)).astype(np.bool_)
        rows = chains.frame_function[chains.frames].astype(np.int64)
        # A function is the kernel's if an address in the kernel's half has it in its chain.
        function_in_kernel = np.zeros(len(chains.function_name), np.bool_)
        function_in_kernel[rows[np.repeat(in_kernel, np.diff(offsets))]] = True
        functions, numbers = _functions(chains, function_in_kernel)
        stacks, leaf = StackTable.intern(offsets, numbers[rows])
        resolved = leaf >= 0
        summed = np.zeros((len(stacks), counts.shape[1]), np.int64)
        np.add.at(summed, leaf[resolved], counts[resolved])
        inlined = np.zeros(len(stacks), np.bool_)
        innermost = chains.frames[offsets[1:][resolved] - 1]
        np.logical_or.at(inlined, leaf[resolved], chains.frame_inlined[innermost])
        return Profile(
            functions=functions,
            symbols=_folded_symbols(chains, functions, numbers[rows], resolved),
            stacks=stacks,
            inlined=inlined,
            counts=summed,
            unresolved=_unresolved(chains, counts, in_kernel),
            inlines_visible=chains.inlines_visible,
            identical=bool((counts == counts[:, :1]).all()),
        )

    @property
    def totals(self) -> NDArray[np.int64]:
        """int64[R]: all instructions of each run, unresolved ones too."""
        totals: NDArray[np.int64] = self.counts.sum(axis=0)
        for counts in self.unresolved.values():
            totals = totals + counts
        return totals


def _functions(
    chains: Chains, in_kernel: NDArray[np.bool_]
) -> tuple[list[Function], NDArray[np.int64]]:
    """Distinct functions after folding, and the number of each row of the chains' table."""
    seen: dict[Function, int] = {}
    numbers = np.empty(len(chains.function_name), np.int64)
    strings = chains.strings
    columns = zip(
        chains.function_name, chains.function_object, chains.function_file, in_kernel, strict=True
    )
    for row, (name, owner, file, kernel) in enumerate(columns):
        function = Function(fold(strings[name])[0], strings[owner], strings[file], bool(kernel))
        numbers[row] = seen.setdefault(function, len(seen))
    return list(seen), numbers


def _folded_symbols(
    chains: Chains,
    functions: list[Function],
    rows: NDArray[np.int64],
    resolved: NDArray[np.bool_],
) -> dict[int, list[str]]:
    """The symbols that differ from their physical function's name only by a compiler's suffix."""
    outermost = rows[chains.offsets[:-1][resolved].astype(np.int64)]
    pairs = distinct_pairs(outermost, chains.symbol[resolved].astype(np.int64))
    symbols: dict[int, list[str]] = {}
    for function, symbol in zip(*pairs[:2], strict=True):
        text = chains.strings[symbol]
        name, suffix = fold(text)
        if suffix and name == functions[function].name:
            symbols.setdefault(int(function), []).append(text)
    return {function: sorted(texts) for function, texts in symbols.items()}


def _unresolved(
    chains: Chains, counts: NDArray[np.int64], in_kernel: NDArray[np.bool_]
) -> dict[tuple[str, bool], NDArray[np.int64]]:
    result: dict[tuple[str, bool], NDArray[np.int64]] = {}
    for code, reason in enumerate(chains.reasons):
        for side in (True, False):
            rows = (chains.reason == code) & (in_kernel == side)
            if code and rows.any():
                result[reason, side] = counts[rows].sum(axis=0)
    return result
