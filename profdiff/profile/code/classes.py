"""What kind of instructions functions executed: exact sums over addresses by class.

A class counts instructions that executed, of which the recording holds the bytes: no model, and no
memory accesses (``rep movsb`` is one load, one store and one repeated instruction).
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import X86_64
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison, Side
from profdiff.symbolization._native import classes, disassemble
from profdiff.symbolization.places import CODE, distinct, rows_of

#: Classes as reports and conditions name them, by the decoder's names.
_NAMES = {
    "load": "loads",
    "store": "stores",
    "locked": "locked",
    "serialising": "serialising",
    "privileged": "privileged",
    "division": "divisions",
    "repeated": "repeated",
    "call": "direct-calls",
    "indirect-call": "indirect-calls",
    "indirect-jump": "indirect-jumps",
    "conditional": "conditional",
    "vector": "vector",
}
TAKEN, NOT_TAKEN = "taken", "not-taken"
#: All names, in the order in which tables show them.
CLASSES = (*_NAMES.values(), TAKEN, NOT_TAKEN)


class InstructionClasses(msgspec.Struct, frozen=True):
    """The classes in one comparison with F functions, U that stand for unresolved ones, K kernels
    and R runs.

    ``names``: C of ``CLASSES``; ``taken`` and ``not-taken`` are those of conditional branches, but
    for those of which it is not known, and are missing where some recording says nothing of them.
    ``run_counts``: int64[F + U + 2, C, R], how many instructions of each class ran in a function
    itself; the last two rows are of functions of the kernel and of user space of which two lengths
    executed the same number, which the comparison does not have. ``counts``: int64[F + U + 2, C,
    K], of the runs that stand for the kernels. ``in_kernel``: bool[F + U + 2]. An instruction can
    be of several classes or of none. ``unseen``: int64[K], executed instructions whose bytes were
    not recorded, which are in no class.
    """

    names: tuple[str, ...]
    run_counts: NDArray[np.int64]
    counts: NDArray[np.int64]
    in_kernel: NDArray[np.bool_]
    unseen: NDArray[np.int64]

    def rows(self, side: Side | None = None) -> NDArray[np.int64]:
        """The rows of the kernel, of user space, or all."""
        if side is None:
            return np.arange(len(self.in_kernel))
        return np.flatnonzero(self.in_kernel == (side == "kernel"))


def class_names(comparison: Comparison) -> tuple[str, ...]:
    """Those of ``CLASSES`` that a comparison can tell; none where its counts are not exact, so that
    executed bytes are not known."""
    every = comparison.addresses
    if not comparison.metric.exact or not every or any(len(one) != 1 for one in every):
        return ()
    told = all(_branches(one) is not None for (one,) in every)
    return (*_NAMES.values(), *((TAKEN, NOT_TAKEN) if told else ()))


def instruction_classes(comparison: Comparison) -> InstructionClasses | None:
    """The sums; None where there are no names."""
    names = class_names(comparison)
    if not names:
        return None
    found = [one for (one,) in comparison.addresses]
    codes = [np.ascontiguousarray(one.executed).view(CODE).reshape(-1) for one in found]
    every = distinct(np.concatenate(codes))
    of_code = _classes_of(every, _architecture(comparison))
    known = [*comparison.functions, *comparison.unnamed]
    in_kernel = np.array([*(one.in_kernel for one in known), True, False])
    sums, unseen = [], []
    for kernel, (one, own) in enumerate(zip(found, codes, strict=True)):
        counts = one.counts[:, :, one.metrics.index(comparison.metric)]
        bits, where = of_code[rows_of(every, own)], _functions(comparison, kernel, one)
        told = _branches(one) if TAKEN in names else None
        sums.append(_summed(bits, where, counts, told, len(in_kernel)))
        unseen.append(int(counts[one.executed[:, 0] == 0, comparison.picked[kernel]].sum()))
    return InstructionClasses(
        names=names,
        run_counts=np.concatenate(sums, axis=2),
        counts=np.stack([one[:, :, comparison.picked[k]] for k, one in enumerate(sums)], axis=2),
        in_kernel=in_kernel,
        unseen=np.array(unseen, np.int64),
    )


def _branches(addresses: Addresses) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """int64[N, R] each: how often branches were taken, and how often that is not known."""
    if addresses.taken is None or addresses.untold is None:
        return None
    return addresses.taken, addresses.untold


def _architecture(comparison: Comparison) -> str:
    """What the code is: what the runs say, or that of most recordings."""
    told = (run.qemu.architecture for run in comparison.runs if run.qemu)
    return next(filter(None, told), X86_64.name)


def _classes_of(codes: NDArray[np.void], architecture: str) -> NDArray[np.bool_]:
    """bool[N, C]: which classes each of N instructions, V16[N], is of; none where there is none."""
    code = codes.view(np.uint8).reshape(-1, 16)
    seen = np.flatnonzero(code[:, 0])
    # Classes do not depend on the address.
    nowhere = np.zeros(len(seen), np.uint64)
    found = disassemble(architecture, nowhere, np.ascontiguousarray(code[seen]))
    bit = {name: np.uint32(1 << number) for number, name in enumerate(classes())}
    result = np.zeros((len(code), len(_NAMES)), np.bool_)
    for column, name in enumerate(_NAMES):
        result[seen, column] = (found.classes & bit[name]) != 0
    return result


def _functions(comparison: Comparison, kernel: int, addresses: Addresses) -> NDArray[np.int64]:
    """int64[N]: the row of the innermost function of each place."""
    functions = addresses.functions
    number = comparison.numbers[kernel]
    rest = len(comparison.functions) + len(comparison.unnamed)
    rows = [
        number.get(function, rest + (not function.in_kernel)) for function in functions.functions
    ]
    leaf = functions.frames[functions.offsets[1:].astype(np.int64) - 1]
    return np.array(rows, np.int64)[leaf]


def _summed(
    bits: NDArray[np.bool_],
    functions: NDArray[np.int64],
    counts: NDArray[np.int64],
    told: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    rows: int,
) -> NDArray[np.int64]:
    """int64[rows, C, R] of what R runs, int64[N, R], executed at N places."""
    branches = bits[:, [*_NAMES].index("conditional")]
    columns = [(column, counts) for column in bits.T]
    if told is not None:
        taken, untold = told
        columns += [(branches, taken), (branches, counts - taken - untold)]
    result = np.zeros((rows, len(columns), counts.shape[1]), np.int64)
    for number, (wanted, values) in enumerate(columns):
        np.add.at(result[:, number], functions[wanted], values[wanted])
    return result
