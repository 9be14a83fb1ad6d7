"""The counts file of the exact collector, as columns.

``collectors/tcg-plugin/core/src/counts_file.rs`` writes it and documents the format.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.errors import SessionError

_HEADER = struct.Struct("<8sIIQQQQ")
_RECORD = np.dtype([("address", "<u8"), ("count", "<u8"), ("code", "u1", 16)])
_KINDS: dict[int, Literal["none", "command", "marks"]] = {0: "none", 1: "command", 2: "marks"}


@dataclass(frozen=True)
class Counts:
    """Instructions executed in the window, for N places sorted by address, then code.

    ``address``: uint64[N]. ``code``: uint8[N, 16], the length of the instruction and its bytes; all
    zeros for the kernel, where the address alone tells the place. ``count``: int64[N].
    """

    kind: Literal["none", "command", "marks"]
    opened: int
    closed: int
    misplaced: int
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]

    @staticmethod
    def load(path: Path) -> "Counts":
        """Read the file. Raises SessionError when it is missing, cut short or not a counts file."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        if len(data) < _HEADER.size or data[:8] != b"PDCOUNTS":
            raise SessionError(f"{path} is not a counts file, or was cut short")
        _, version, kind, opened, closed, misplaced, length = _HEADER.unpack_from(data)
        if version != 1 or kind not in _KINDS:
            raise SessionError(f"{path} was written by another version of profdiff ({version})")
        if len(data) - _HEADER.size != length * _RECORD.itemsize:
            raise SessionError(f"{path} is cut short or damaged: record this run again")
        records = np.frombuffer(data, dtype=_RECORD, offset=_HEADER.size)
        count = records["count"].astype(np.int64)
        # A sum beyond 2**62 cannot come from a recording and would overflow in what follows.
        if length and (count.min() < 0 or float(records["count"].sum(dtype=np.float64)) > 2.0**62):
            raise SessionError(f"{path} holds impossible counts")
        return Counts(
            kind=_KINDS[kind],
            opened=opened,
            closed=closed,
            misplaced=misplaced,
            address=records["address"].astype(np.uint64),
            code=np.ascontiguousarray(records["code"]),
            count=count,
        )

    @property
    def in_kernel(self) -> NDArray[np.bool_]:
        """bool[N]: whether the place is in the kernel's half of the address space."""
        return (self.address >> np.uint64(63)).astype(np.bool_)
