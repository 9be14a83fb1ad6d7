"""Where functions are in a kernel's code, by themselves and inlined into others, and its size."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_code import CODE
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.profile.stack_table import StackTable
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_code import KernelCode


class Copies(msgspec.Struct, frozen=True):
    """The frames of N chains as a tree of S nodes. Below the outermost frame is one for its ELF
    symbol, since clones of a function have its call sites. ``row``: int64[S], the row of each
    frame's function in a comparison, -1 for none; ``inlined``: bool[S]; ``leaf``: int64[N], the
    node of each chain's innermost frame. ``copy``: int64[S], a number for each function and all
    that lies below it, call sites too: lines of the function itself tell no copies apart.
    """

    tree: StackTable
    row: NDArray[np.int64]
    inlined: NDArray[np.bool_]
    leaf: NDArray[np.int64]
    copy: NDArray[np.int64]

    @staticmethod
    def of(chains: Chains, functions: ChainFunctions, number: NDArray[np.int64]) -> "Copies":
        """``functions`` are made of ``chains``; ``number``: int64 per function of those, its row in
        the comparison."""
        offsets, sites = chains.offsets.astype(np.int64), chains.frames.astype(np.int64)
        starts = functions.offsets.astype(np.int64)
        lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
        frames, symbols = len(chains.frame_function), len(chains.strings)
        row = np.full(frames + symbols, -1, np.int64)
        row[sites] = number[functions.frames[np.repeat(functions.resolved, lengths)]]
        inlined = np.append(chains.frame_inlined, np.zeros(symbols, np.bool_))
        whole = np.insert(sites, offsets[:-1], frames + chains.symbol.astype(np.int64))
        tree, leaf = StackTable.intern(offsets + np.arange(len(offsets)), whole)
        rows = row[tree.function]
        key = (tree.parent + 1) * (int(rows.max(initial=0)) + 2) + rows + 1
        _, copy = np.unique(key, return_inverse=True)
        return Copies(tree, rows, inlined[tree.function], leaf, copy.astype(np.int64))

    def inclusive(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[S]: the sums of what N chains have, int64[N], over those that have each node."""
        own = np.zeros((len(self.tree), 1), np.int64)
        np.add.at(own, self.leaf, values[:, None])
        return self.tree.inclusive(own)[:, 0]

    def of_copies(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each node, the sum of ``values``, int64[S], over the nodes of its copy."""
        sums = np.zeros(int(self.copy.max(initial=-1)) + 1, np.int64)
        np.add.at(sums, self.copy, values)
        return sums[self.copy]

    @property
    def nested(self) -> NDArray[np.bool_]:
        """bool[S]: whether the node's function stands below it, too."""
        return StackTable(self.tree.parent, self.row + 1, self.tree.depth).outer() >= 0


class Inlining(msgspec.Struct, frozen=True):
    """The inlining of F functions, as far as they executed in the runs that stand for kernels.
    ``copies``: int64[F, K], in how many places each is inlined, as far as call sites tell them
    apart; ``called``: bool[F, K], whether code of its own executed, which is not inlined;
    ``known``: bool[K], whether inlined functions are visible at all. ``callers``: by kernel, for
    each function the numbers of those into which it is inlined."""

    copies: NDArray[np.int64]
    called: NDArray[np.bool_]
    known: NDArray[np.bool_]
    callers: list[dict[int, list[int]]]

    def way(self, function: int, kernel: int) -> str:
        """How a function ran: ``called``, ``inlined N``, ``both N``, or not at all."""
        if not self.known[kernel]:
            return "unknown"
        copies, called = int(self.copies[function, kernel]), self.called[function, kernel]
        if copies:
            return f"{'both' if called else 'inlined'} {copies}"
        return "called" if called else "not executed"


def inlining(comparison: Comparison) -> Inlining:
    """What the executed places of all kernels show."""
    shape = len(comparison.functions), len(comparison.kernels)
    copies, called = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    callers: list[dict[int, list[int]]] = []
    for kernel in range(shape[1]):
        into: dict[int, set[int]] = {}
        # The longer run, if there are two lengths.
        for one in picked_counts(comparison, kernel)[:1]:
            found = Copies.of(one.addresses.chains, one.functions, one.number)
            ran = (found.inclusive((one.count != 0).astype(np.int64)) > 0) & (found.row >= 0)
            called[found.row[ran & ~found.inlined], kernel] = True
            inside = np.flatnonzero(ran & found.inlined)
            below = found.row[found.tree.parent[inside]]
            columns = found.copy[inside], found.row[inside], below
            for _, function, caller in set(
                zip(*(column.tolist() for column in columns), strict=True)
            ):
                copies[function, kernel] += 1
                into.setdefault(function, set()).add(caller)
        callers.append({function: sorted(rows - {-1}) for function, rows in into.items()})
    return Inlining(copies, called, np.array(comparison.inlines_visible, np.bool_), callers)


class CodeSizes(msgspec.Struct, frozen=True):
    """``size``: int64[F, K], the bytes of a kernel function's code, of all of its copies that
    executed together: of its symbols, and of what the compiler inlined elsewhere. What is inlined
    into the function counts; parts that the compiler moved away (``.cold``) only where they
    executed. 0: none executed, or it is of user space. ``missing``: by kernel, why no size is
    known, "" where it is."""

    size: NDArray[np.int64]
    missing: list[str]


def code_sizes(comparison: Comparison, session: Session | None, *, kept: bool = False) -> CodeSizes:
    """``session``: what was recorded. ``kept``: only code that it keeps, which is read at once; a
    debug ELF takes longer. Nothing is raised: what cannot be read is missing."""
    size = np.zeros((len(comparison.functions), len(comparison.kernels)), np.int64)
    missing = []
    for kernel, described in enumerate(comparison.kernels):
        picked = picked_counts(comparison, kernel)
        runs = [run for run in comparison.runs if run.kernel == described.label]
        if session is None or not picked or (kept and not session.kernel(described.label).code):
            missing.append("no session keeps its code")
            continue
        run = runs[comparison.picked[kernel]]
        try:
            code, why = CODE.known(session, run, picked[0].addresses)
        except (SessionError, InputError) as error:
            code, why = None, str(error)
        missing.append(why)
        if code is not None:
            size[:, kernel] = _sizes(comparison, kernel, code, picked[0])
    return CodeSizes(size, missing)


def _sizes(
    comparison: Comparison, kernel: int, code: KernelCode, picked: PickedCounts
) -> NDArray[np.int64]:
    """int64[F]."""
    chains, starts = code.chains, code.chains.address
    # A stretch ends where the next one begins, or its range.
    ends = (code.start + code.size)[code.ranges_of(starts)]
    ends[:-1] = np.minimum(ends[:-1], starts[1:])
    address = picked.addresses.places.address[picked.count != 0]
    address = address[code.ranges_of(address) >= 0]
    ran = np.zeros(len(chains), np.int64)
    ran[np.searchsorted(starts, address, side="right") - 1] = 1
    functions = ChainFunctions.of(chains, np.ones(len(chains), np.bool_))
    numbers = comparison.numbers[kernel]
    rows = np.array([numbers.get(function, -1) for function in functions.functions], np.int64)
    rows[rows >= len(comparison.functions)] = -1
    copies = Copies.of(chains, functions, rows)
    wanted = (copies.of_copies(copies.inclusive(ran)) > 0) & (copies.row >= 0) & ~copies.nested
    size = np.zeros(len(comparison.functions), np.int64)
    in_bytes = copies.inclusive((ends - starts).astype(np.int64))
    np.add.at(size, copies.row[wanted], in_bytes[wanted])
    return size
