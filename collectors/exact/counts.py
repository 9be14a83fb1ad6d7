"""The counts file of the exact collector, as columns.

``collectors/tcg-plugin/core/src/counts_file.rs`` writes it and documents the format.
"""

import struct
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import SessionError, other_format
from profdiff.collectors.recorded import CallTree, Idle
from profdiff.collectors.records import Clock

MAX_BYTES = 2 << 30
"""The largest file that is read: 30 million places with 60 million rows of a call tree."""

_HEADER = struct.Struct("<8sII12Q")
_NODE = np.dtype(
    [("parent", "<u4"), ("site", "<u4"), ("target", "<u4"), ("refused", "<u4"), ("calls", "<u8")]
)
_ROW = np.dtype([("node", "<u4"), ("place", "<u4"), ("count", "<u8")])
_REPEATED = np.dtype([("place", "<u8"), ("count", "<u8")])
_BRANCH = np.dtype([("place", "<u8"), ("taken", "<u8"), ("passed", "<u8")])
_IDLE = np.dtype("<u8")
_PATH = np.dtype([("node", "<u8"), ("time", "<u8"), ("times", "<u8")])
_RECORD = np.dtype([("address", "<u8"), ("count", "<u8"), ("code", "V16")])
_VERSION = 6
# What is behind the header and two numbers of the clock.
_TABLES = (_RECORD, _NODE, _ROW, _REPEATED, _BRANCH, _IDLE, _PATH)
Kind = Literal["none", "command", "marks", "boot"]
_KINDS: dict[int, Kind] = {0: "none", 1: "command", 2: "marks", 3: "boot"}


class Counts(msgspec.Struct, frozen=True):
    """Instructions executed in the window, for N places sorted by address, then code.

    ``address``: uint64[N]. ``code``: uint8[N, 16], the length of the instruction and its bytes; all
    zeros for the kernel, where the address alone tells the place. ``count``: int64[N]; a place that
    only the call tree names has 0. ``executed``: uint8[N, 16], like ``code``, for the kernel too.
    Where the kernel patched its text, so that several instructions of one address executed in the
    window, ``count`` is their sum, ``executed`` the one that did most often, and ``patched``,
    bool[N], true. A repeated string instruction (``rep movsb``) counts once, as hardware retires
    it; ``each_iteration``: int64[N], the same with its iterations counted. ``calls``: None where it
    was not recorded. ``taken``: int64[N], how often a conditional jump led to its target, 0 for
    what is none; ``untold``: int64[N], of how many of its executions that is not known; None
    without ``calls``. ``clock``: None where QEMU does not tell.
    """

    kind: Kind
    opened: int
    closed: int
    misplaced: int
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]
    executed: NDArray[np.uint8]
    patched: NDArray[np.bool_]
    each_iteration: NDArray[np.int64]
    calls: CallTree | None = None
    taken: NDArray[np.int64] | None = None
    untold: NDArray[np.int64] | None = None
    clock: Clock | None = None

    @staticmethod
    def load(path: Path) -> "Counts":
        """Read the file. Raises SessionError when it is missing, cut short or not a counts file."""
        try:
            data = bounded.read(path, MAX_BYTES)
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        if len(data) < _HEADER.size or data[:8] != b"PDCOUNTS":
            raise SessionError(f"{path} is not a counts file, or was cut short")
        _, version, kind, *numbers = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise SessionError(other_format(path, version, _VERSION))
        damaged = SessionError(f"{path} is cut short or damaged: record this run again")
        if kind not in _KINDS:
            raise damaged
        opened, closed, misplaced, *lengths, advanced, idle = numbers
        start, length = _HEADER.size, lengths[0]
        tables = list(zip(_TABLES, lengths, strict=True))
        if len(data) - start != sum(dtype.itemsize * rows for dtype, rows in tables):
            raise damaged
        found = []
        for dtype, rows in tables:
            found.append(np.frombuffer(data, dtype, rows, start))
            start += dtype.itemsize * rows
        records, nodes, tree, repeated, branches, vcpus, paths = found
        calls = None
        if len(nodes):
            calls = _call_tree(nodes, tree, length)
            if calls is None:
                raise damaged
        clock = None
        if advanced:
            clock = _clock(advanced, idle, vcpus)
            given = _idle(paths, len(nodes), sum(vcpus.tolist()))
            if clock is None or given is None:
                raise damaged
            calls = calls and replace(calls, idle=given)
        count = records["count"].astype(np.int64)
        # A sum beyond 2**62 cannot come from a recording and would overflow in what follows.
        if length and (count.min() < 0 or float(records["count"].sum(dtype=np.float64)) > 2.0**62):
            raise SessionError(f"{path} holds impossible counts")
        each_iteration = _each_iteration(count, repeated)
        if each_iteration is None:
            raise damaged
        taken = untold = None
        if calls:
            ways = _ways(count, branches)
            if ways is None:
                raise damaged
            taken, untold = ways
        address, executed = records["address"].astype(np.uint64), records["code"].copy()
        if executed.view(np.uint8)[::16].max(initial=0) > 15:
            raise damaged
        patched = np.zeros(length, np.bool_)
        in_kernel = (address >> np.uint64(63)).astype(np.bool_)
        again = in_kernel[1:] & (address[1:] == address[:-1])
        if again.any():
            first = np.append(True, ~again)
            place, starts = np.cumsum(first) - 1, np.flatnonzero(first)
            most = np.lexsort((-count, place))[starts]
            patched = np.add.reduceat((count > 0).astype(np.intp), starts) > 1
            count = np.add.reduceat(count, starts)
            each_iteration = np.add.reduceat(each_iteration, starts)
            if taken is not None and untold is not None:
                taken, untold = (np.add.reduceat(one, starts) for one in (taken, untold))
            address, executed, in_kernel = address[starts], executed[most], in_kernel[starts]
            calls = calls and calls.placed(place)
        code = executed.copy()
        code[in_kernel] = b""
        return Counts(
            kind=_KINDS[kind],
            opened=opened,
            closed=closed,
            misplaced=misplaced,
            address=address,
            code=code.view(np.uint8).reshape(-1, 16),
            count=count,
            executed=executed.view(np.uint8).reshape(-1, 16),
            patched=patched,
            each_iteration=each_iteration,
            calls=calls,
            taken=taken,
            untold=untold,
            clock=clock,
        )

    @property
    def in_kernel(self) -> NDArray[np.bool_]:
        """bool[N]: whether the place is in the kernel's half of the address space."""
        return (self.address >> np.uint64(63)).astype(np.bool_)


def _each_iteration(
    count: NDArray[np.int64], repeated: NDArray[np.void]
) -> NDArray[np.int64] | None:
    """``count`` with what the repeated instructions have instead, if that can be."""
    place, starts = repeated["place"], repeated["count"]
    if float(starts.sum(dtype=np.float64)) > 2.0**62 or not _in_order(place, len(count)):
        return None
    if (starts < count[place].astype("<u8")).any():
        return None
    result = count.copy()
    result[place] = starts
    return result


def _ways(
    count: NDArray[np.int64], branches: NDArray[np.void]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """How often conditional jumps were taken, and how often that is not known, if that can be."""
    place, most = branches["place"], np.uint64(2**62)
    if not _in_order(place, len(count)):
        return None
    if (branches["taken"] >= most).any() or (branches["passed"] >= most).any():
        return None
    ways = (branches["taken"] + branches["passed"]).astype(np.int64)
    if (ways > count[place]).any():
        return None
    taken, untold = np.zeros_like(count), np.zeros_like(count)
    taken[place], untold[place] = branches["taken"], count[place] - ways
    return taken, untold


def _clock(advanced: int, idle: int, vcpus: NDArray[np.uint64]) -> Clock | None:
    """The clock, if nothing idled for longer than it advanced."""
    each = vcpus.tolist()
    if not idle <= advanced < 2**62 or any(one > advanced for one in each):
        return None
    return Clock(advanced=advanced, idle=idle, vcpus=each)


def _idle(paths: NDArray[np.void], nodes: int, most: int) -> Idle | None:
    """What idled in which path, if all are nodes and the vCPUs idled so long."""
    node, time, times = (paths[name] for name in ("node", "time", "times"))
    if (node >= np.uint64(nodes)).any() or (times >= np.uint64(2**62)).any():
        return None
    if sum(time.tolist()) > most or sum(times.tolist()) >= 2**62:
        return None
    return Idle(*(one.astype(np.int64) for one in (node, time, times)))


def _in_order(place: NDArray[np.uint64], places: int) -> bool:
    """Whether these are rows of so many places, ascending."""
    return not (place[1:] <= place[:-1]).any() and not (place[-1:] >= places).any()


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
