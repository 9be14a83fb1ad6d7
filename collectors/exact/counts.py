"""The counts file of the exact collector, as columns.

``collectors/tcg-plugin/core/src/counts_file.rs`` writes it and documents the format.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import SessionError
from profdiff.collectors.recorded import CallTree

MAX_BYTES = 2 << 30
"""The largest file that is read: 30 million places with 60 million rows of a call tree."""

_HEADER = struct.Struct("<8sIIQQQQ")
_TREE_HEADER = struct.Struct("<QQ")
_NODE = np.dtype(
    [("parent", "<u4"), ("site", "<u4"), ("target", "<u4"), ("refused", "<u4"), ("calls", "<u8")]
)
_ROW = np.dtype([("node", "<u4"), ("place", "<u4"), ("count", "<u8")])
_RECORD = np.dtype([("address", "<u8"), ("count", "<u8"), ("code", "u1", 16)])
_KINDS: dict[int, Literal["none", "command", "marks"]] = {0: "none", 1: "command", 2: "marks"}


@dataclass(frozen=True)
class Counts:
    """Instructions executed in the window, for N places sorted by address, then code.

    ``address``: uint64[N]. ``code``: uint8[N, 16], the length of the instruction and its bytes; all
    zeros for the kernel, where the address alone tells the place. ``count``: int64[N]; a place that
    only the call tree names has 0. ``calls``: None where it was not recorded.
    """

    kind: Literal["none", "command", "marks"]
    opened: int
    closed: int
    misplaced: int
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]
    calls: CallTree | None = None

    @staticmethod
    def load(path: Path) -> "Counts":
        """Read the file. Raises SessionError when it is missing, cut short or not a counts file."""
        try:
            data = bounded.read(path, MAX_BYTES)
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        if len(data) < _HEADER.size or data[:8] != b"PDCOUNTS":
            raise SessionError(f"{path} is not a counts file, or was cut short")
        _, version, kind, opened, closed, misplaced, length = _HEADER.unpack_from(data)
        if version not in (1, 2) or kind not in _KINDS:
            raise SessionError(f"{path} was written by another version of profdiff ({version})")
        damaged = SessionError(f"{path} is cut short or damaged: record this run again")
        start, nodes, rows = _HEADER.size, 0, 0
        if version > 1:
            if len(data) < start + _TREE_HEADER.size:
                raise damaged
            nodes, rows = _TREE_HEADER.unpack_from(data, start)
            start += _TREE_HEADER.size
        sizes = (length * _RECORD.itemsize, nodes * _NODE.itemsize, rows * _ROW.itemsize)
        if len(data) - start != sum(sizes):
            raise damaged
        records = np.frombuffer(data, _RECORD, length, start)
        start += sizes[0]
        calls = None
        if nodes:
            tree = np.frombuffer(data, _NODE, nodes, start)
            calls = _call_tree(tree, np.frombuffer(data, _ROW, rows, start + sizes[1]), length)
            if calls is None:
                raise damaged
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
            calls=calls,
        )

    @property
    def in_kernel(self) -> NDArray[np.bool_]:
        """bool[N]: whether the place is in the kernel's half of the address space."""
        return (self.address >> np.uint64(63)).astype(np.bool_)


def _call_tree(nodes: NDArray[np.void], rows: NDArray[np.void], places: int) -> CallTree | None:
    """The tree, if all numbers lead somewhere."""
    parent, site, target = (_optional(nodes[name]) for name in ("parent", "site", "target"))
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent >= np.arange(len(parent))).any():
        return None
    if max(site.max(), target.max(), int(rows["place"].max(initial=0))) >= max(places, 1):
        return None
    if rows["node"].max(initial=0) >= len(nodes):
        return None
    calls, count = nodes["calls"].astype(np.int64), rows["count"].astype(np.int64)
    if min(calls.min(), count.min(initial=0)) < 0:
        return None
    for column in (calls, count):
        if float(column.sum(dtype=np.float64)) > 2.0**62:
            return None
    return CallTree(
        parent=parent,
        site=site,
        target=target,
        calls=calls,
        node=rows["node"].astype(np.int64),
        place=rows["place"].astype(np.int64),
        count=count,
        refused=int(nodes["refused"][0]),
    )


def _optional(column: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Numbers, of which the highest means none: -1."""
    return np.where(column == np.uint32(0xFFFFFFFF), -1, column.astype(np.int64))
