"""Counts files as the exact collector's plugin writes them, of made-up numbers."""

import struct
from collections.abc import Sequence

_RECORD = struct.Struct("<QQB15s")
_NODE = struct.Struct("<IIIIQ")
_ROW = struct.Struct("<IIQ")

Record = tuple[int, int, bytes]
Idle = tuple[int, int, Sequence[int], Sequence[tuple[int, int, int]]]


def counts_bytes(
    records: Sequence[Record],
    nodes: Sequence[tuple[int, ...]] = (),
    rows: Sequence[tuple[int, ...]] = (),
    repeated: Sequence[tuple[int, int]] = (),
    branches: Sequence[tuple[int, int, int]] = (),
    idle: Idle = (0, 0, (), ()),
    *,
    length: int | None = None,
) -> bytes:
    """Places, who called whom, which places are ``repeated``, which are ``branches``, and what was
    ``idle``: the clock, nobody, each vCPU, each path. ``length``: how many records the header
    claims."""
    clock, nobody, vcpus, paths = idle
    tables = (records, nodes, rows, repeated, branches, vcpus, paths)
    sizes = [len(records) if length is None else length, *map(len, tables[1:])]
    head = struct.pack("<8sII12Q", b"PDCOUNTS", 6, 2, 1, 1, 0, *sizes, clock, nobody)
    parts = [_RECORD.pack(a, n, len(code), code) for a, n, code in records]
    parts += [_NODE.pack(*node) for node in nodes] + [_ROW.pack(*row) for row in rows]
    parts += [struct.pack("<QQ", *one) for one in repeated]
    parts += [struct.pack("<QQQ", *one) for one in branches]
    parts += [struct.pack(f"<{len(vcpus)}Q", *vcpus)]
    parts += [struct.pack("<QQQ", *path) for path in paths]
    return head + b"".join(parts)
