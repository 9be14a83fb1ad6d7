"""How much code functions have on each kernel, with what is inlined into them."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.comparison import Comparison
from profdiff.profile.copies import Copies
from profdiff.profile.kept_code import CODE
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.session.session import Session
from profdiff.symbolization.kernel_code import KernelCode


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
    rows = np.array([numbers.get(one, -1) for one in functions.functions], np.int64)
    rows[rows >= len(comparison.functions)] = -1
    copies = Copies.of(chains, functions, rows)
    wanted = (copies.of_copies(copies.inclusive(ran)) > 0) & (copies.row >= 0) & ~copies.nested
    size = np.zeros(len(comparison.functions), np.int64)
    in_bytes = copies.inclusive((ends - starts).astype(np.int64))
    np.add.at(size, copies.row[wanted], in_bytes[wanted])
    return size
