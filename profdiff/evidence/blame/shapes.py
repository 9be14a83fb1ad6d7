"""Executed instructions without what differs from build to build: registers, addresses, and where
in a structure something lies."""

import re

import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import X86_64
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison
from profdiff.symbolization._native import disassemble

# The offset in 0x2e(r64); an array's scale stays.
_OFFSET = re.compile(r"-?0x[0-9a-f]+(?=\()")


def shapes(
    comparison: Comparison,
    kernel: int,
    addresses: Addresses,
    rows: NDArray[np.int64] | slice = slice(None),
) -> list[str]:
    """The shape of the instruction that ran at each address of a kernel, "" where its bytes were
    not seen. ``rows``: only at these."""
    label = comparison.labels[kernel]
    emulators = (run.qemu for run in comparison.runs if run.kernel == label and run.qemu)
    # Recordings of before 0.3 do not say it: they are all of this one.
    names = [one.architecture for one in emulators if one.architecture] or [X86_64.name]
    where, code = addresses.places.address[rows], addresses.executed[rows]
    seen = np.flatnonzero(code[:, 0])
    decoded = disassemble(names[0], where[seen], np.ascontiguousarray(code[seen]))
    texts = [_OFFSET.sub("", text) for text in decoded.strings]
    found = [""] * len(where)
    for row, shape in zip(seen.tolist(), decoded.shape.tolist(), strict=True):
        found[row] = texts[shape]
    return found
