"""The file of the sharing collector, as columns.

``collectors/tcg-plugin/core/src/sharing/file.rs`` writes it and documents the format.
"""

import struct
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import SessionError

MAX_BYTES = 1 << 30
"""The largest file that is read: 20 million accesses."""

PERSISTENT = 0.25
"""A line with at least so many transfers per op lives long: its transfers do not depend on the
schedule."""

RECYCLED = 0.25
"""What has a larger part of other, recycled lines depends on the schedule."""

_HEADER = struct.Struct("<8sIIII9Q")
_VCPU = np.dtype([("ops", "<u8"), ("instructions", "<u8")])
_PLACE = np.dtype([("address", "<u8"), ("code", "V16")])
_LINE = np.dtype(
    [
        ("address", "<u8"),
        ("lines", "<u4"),
        ("flags", "<u4"),
        ("transfers", "<u8"),
        ("read_fetches", "<u8"),
        ("write_fetches", "<u8"),
        ("upgrades", "<u8"),
        ("fewest", "<u8"),
        ("most", "<u8"),
        ("user", "<u8"),
    ]
)
_VERSION = 3
_TOUCH = np.dtype([("line", "<u4"), ("vcpu", "<u4"), ("ops", "<u8"), ("writing_ops", "<u8")])
_ACCESS = np.dtype(
    [
        ("line", "<u4"),
        ("place", "<u4"),
        ("vcpu", "u1"),
        ("offset", "u1"),
        ("size", "u1"),
        ("flags", "u1"),
        ("padding", "<u4"),
        ("count", "<u8"),
        ("misses", "<u8"),
    ]
)
_HOLD = np.dtype(
    [
        ("line", "<u4"),
        ("taken", "<u4"),
        ("released", "<u4"),
        ("call", "<u4"),
        ("offset", "<u4"),
        ("padding", "<u4"),
        ("times", "<u8"),
        ("instructions", "<u8"),
    ]
)
_WINDOWS: dict[int, Literal["none", "command", "marks"]] = {0: "none", 1: "command", 2: "marks"}
_OPS: dict[int, Literal["calls", "marks"]] = {0: "calls", 1: "marks"}
_USER, _SUMMED = 1, 2
_STORE, _LOCKED, _REPEATED = 1, 2, 4
_NO_CALL = 0xFFFFFFFF


class SharedLines(msgspec.Struct, frozen=True, dict=True):
    """The lines of the cache that change hands in the window, and the accesses to them.

    ``kind``: whose marks opened the window, ``opened``, ``closed`` and ``misplaced`` how often.
    ``line_size``: bytes. ``ops_by``: what ends an operation, a system call or the program's own
    mark. ``ops``: int64[V], complete operations of each vCPU; ``instructions``: int64[V], the
    kernel's that it executed.

    N places, the instructions that accessed: ``address``, uint64[N], rising; ``executed``:
    uint8[N, 16], the length of the instruction and its bytes.

    L lines. ``line``: uint64[L], the virtual address of each, the kernel's where it used one.
    ``in_user``: bool[L], memory of programs, and ``user``: uint64[L], where they have it, else 0.
    ``summed``: bool[L], not one line but ``lines`` (int64[L]) of them, of which each alone changes
    hands less than once in a hundred operations: those have no touches, no address, and no offsets.
    ``transfers``: int64[L], how often they change hands if vCPUs take turns after each operation:
    the sum over vCPUs i of min(operations of i that touch it, operations of others that write it).
    ``read_fetches``, ``write_fetches``, ``upgrades``: int64[L], what a coherence protocol (MESI)
    did as they ran: a vCPU reads what is modified elsewhere; writes what another has; writes what
    it has itself, as others do. ``fewest``, ``most``: int64[L], the range of these three together,
    as they ran and if vCPUs take other turns, of one access each and at random; of sums, as they
    ran.

    T touches, of a line by a vCPU: ``touch_line``, ``touch_vcpu``; ``touch_ops`` and
    ``touch_writing_ops``: int64[T], operations that touch and that write it.

    A accesses, by line, then place: ``access_line``, ``access_place``, ``access_vcpu``,
    ``access_offset`` (in the line), ``access_size``: int64[A], bytes; ``store``, ``locked`` (of an
    instruction that reads and writes at once; its load is one, too) and ``repeated`` (the whole
    line stands for what it accesses): bool[A]; ``count`` and ``misses``: int64[A], how often, and
    how often that was a fetch or an upgrade.

    H holds of a word, by line: a locked instruction stores to it, and the next one of the same vCPU
    that does, which lets a lock go if the first one took it. ``hold_line``, ``hold_offset`` (in the
    line), ``hold_taken`` and ``hold_released``: int64[H], the places of the two; ``hold_call``:
    int64[H], that of the call which led to the function of the first, -1 where that is not known;
    ``hold_times``: int64[H]; ``hold_instructions``: int64[H], the kernel's that the vCPU executed
    from the one to the other, without interrupts, by blocks that began: one that an exception ended
    counts as a whole.
    """

    kind: Literal["none", "command", "marks"]
    opened: int
    closed: int
    misplaced: int
    line_size: int
    ops_by: Literal["calls", "marks"]
    ops: NDArray[np.int64]
    instructions: NDArray[np.int64]
    address: NDArray[np.uint64]
    executed: NDArray[np.uint8]
    line: NDArray[np.uint64]
    user: NDArray[np.uint64]
    in_user: NDArray[np.bool_]
    summed: NDArray[np.bool_]
    lines: NDArray[np.int64]
    transfers: NDArray[np.int64]
    read_fetches: NDArray[np.int64]
    write_fetches: NDArray[np.int64]
    upgrades: NDArray[np.int64]
    fewest: NDArray[np.int64]
    most: NDArray[np.int64]
    touch_line: NDArray[np.int64]
    touch_vcpu: NDArray[np.int64]
    touch_ops: NDArray[np.int64]
    touch_writing_ops: NDArray[np.int64]
    access_line: NDArray[np.int64]
    access_place: NDArray[np.int64]
    access_vcpu: NDArray[np.int64]
    access_offset: NDArray[np.int64]
    access_size: NDArray[np.int64]
    store: NDArray[np.bool_]
    locked: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    count: NDArray[np.int64]
    misses: NDArray[np.int64]
    hold_line: NDArray[np.int64]
    hold_offset: NDArray[np.int64]
    hold_taken: NDArray[np.int64]
    hold_released: NDArray[np.int64]
    hold_call: NDArray[np.int64]
    hold_times: NDArray[np.int64]
    hold_instructions: NDArray[np.int64]

    @property
    def vcpus(self) -> int:
        """How many there are."""
        return len(self.ops)

    @property
    def all_ops(self) -> int:
        """Operations of all vCPUs: what *per op* divides by."""
        return int(self.ops.sum())

    @cached_property
    def line_misses(self) -> NDArray[np.int64]:
        """int64[L]: fetches and upgrades."""
        return self.read_fetches + self.write_fetches + self.upgrades

    @property
    def scheduled(self) -> bool:
        """Whether all transfers, or misses, depend on the schedule."""
        recycled = self.summed | (self.transfers < PERSISTENT * max(self.all_ops, 1))
        sums = ((one, one[recycled].sum()) for one in (self.transfers, self.line_misses))
        return any(bool(part > RECYCLED * every.sum()) for every, part in sums)

    @staticmethod
    def load(path: Path) -> "SharedLines":
        """Read the file. Safe for a file from a stranger. Raises SessionError when it is missing,
        cut short, or not such a file."""
        try:
            data = bounded.read(path, MAX_BYTES)
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        if len(data) < _HEADER.size or data[:8] != b"PDSHARED":
            raise SessionError(f"{path} is not a file of shared lines, or was cut short")
        _, version, kind, line_size, ops_by, *numbers = _HEADER.unpack_from(data)
        opened, closed, misplaced, *rows = numbers
        if version != _VERSION:
            raise SessionError(f"{path} has format {version}, not {_VERSION}: record again")
        damaged = SessionError(f"{path} is cut short or damaged: record this run again")
        if kind not in _WINDOWS or ops_by not in _OPS or line_size not in (64, 128):
            raise damaged
        dtypes = (_VCPU, _PLACE, _LINE, _TOUCH, _ACCESS, _HOLD)
        tables = list(zip(dtypes, rows, strict=True))
        # An access has its vCPU in a byte.
        if (
            len(data) - _HEADER.size != sum(dtype.itemsize * length for dtype, length in tables)
            or rows[0] > 256
        ):
            raise damaged
        found, start = [], _HEADER.size
        for dtype, length in tables:
            found.append(np.frombuffer(data, dtype, length, start))
            start += dtype.itemsize * length
        vcpus, places, lines, touches, accesses, holds = found
        calls = holds["call"][holds["call"] != _NO_CALL]
        for column, rows_there in (
            (touches["line"], len(lines)),
            (touches["vcpu"], len(vcpus)),
            (accesses["line"], len(lines)),
            (accesses["place"], len(places)),
            (accesses["vcpu"], len(vcpus)),
            (holds["line"], len(lines)),
            (holds["taken"], len(places)),
            (holds["released"], len(places)),
            (calls, len(places)),
            (holds["offset"], line_size),
        ):
            if len(column) and int(column.max()) >= rows_there:
                raise damaged
        executed = places["code"].copy().view(np.uint8).reshape(-1, 16)
        address = places["address"].astype(np.uint64)
        if executed[:, 0].max(initial=0) > 15 or (address[1:] < address[:-1]).any():
            raise damaged
        for table in (vcpus, lines, touches, accesses, holds):
            for name in table.dtype.names or ():
                # A sum beyond 2**62 cannot come from a recording and would overflow.
                is_count = name not in ("address", "user") and table.dtype[name] == np.dtype("<u8")
                if is_count and float(table[name].sum(dtype=np.float64)) > 2.0**62:
                    raise SessionError(f"{path} holds impossible counts")
        reach = accesses["offset"].astype(np.int64) + accesses["size"]
        if reach.max(initial=0) > line_size:
            raise damaged

        def number(table: NDArray[np.void], name: str) -> NDArray[np.int64]:
            return table[name].astype(np.int64)

        def flag(table: NDArray[np.void], bit: int) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = (table["flags"] & bit) != 0
            return found

        in_user, address_of = flag(lines, _USER), lines["address"].astype(np.uint64)
        fewest, most = number(lines, "fewest"), number(lines, "most")
        known = fewest <= most
        sorts = ("read_fetches", "write_fetches", "upgrades")
        misses = sum((number(lines, name) for name in sorts), np.zeros(len(lines), np.int64))

        return SharedLines(
            kind=_WINDOWS[kind],
            opened=opened,
            closed=closed,
            misplaced=misplaced,
            line_size=line_size,
            ops_by=_OPS[ops_by],
            ops=number(vcpus, "ops"),
            instructions=number(vcpus, "instructions"),
            address=address,
            executed=executed,
            line=address_of,
            user=lines["user"].astype(np.uint64),
            in_user=in_user,
            summed=flag(lines, _SUMMED),
            lines=number(lines, "lines"),
            transfers=number(lines, "transfers"),
            read_fetches=number(lines, "read_fetches"),
            write_fetches=number(lines, "write_fetches"),
            upgrades=number(lines, "upgrades"),
            fewest=np.where(known, np.minimum(fewest, misses), misses),
            most=np.where(known, np.maximum(most, misses), misses),
            touch_line=number(touches, "line"),
            touch_vcpu=number(touches, "vcpu"),
            touch_ops=number(touches, "ops"),
            touch_writing_ops=number(touches, "writing_ops"),
            access_line=number(accesses, "line"),
            access_place=number(accesses, "place"),
            access_vcpu=number(accesses, "vcpu"),
            access_offset=number(accesses, "offset"),
            access_size=number(accesses, "size"),
            store=flag(accesses, _STORE),
            locked=flag(accesses, _LOCKED),
            repeated=flag(accesses, _REPEATED),
            count=number(accesses, "count"),
            misses=number(accesses, "misses"),
            hold_line=number(holds, "line"),
            hold_offset=number(holds, "offset"),
            hold_taken=number(holds, "taken"),
            hold_released=number(holds, "released"),
            hold_call=np.where(holds["call"] == _NO_CALL, -1, number(holds, "call")),
            hold_times=number(holds, "times"),
            hold_instructions=number(holds, "instructions"),
        )
