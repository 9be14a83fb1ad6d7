"""What comes out of a guest is not trusted: the channel's archive, and the counts file."""

import gzip
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tars import tar

from profdiff.base.errors import SessionError
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.archive import ArchiveError
from profdiff.collectors.guest.channel import GuestChannel

RECORD = struct.Struct("<QQB15s")


def archive(members: dict[str, bytes]) -> bytes:
    return gzip.compress(tar(members))


def channel(folder: Path, content: bytes) -> GuestChannel:
    (folder / "channel").write_bytes(content)
    return GuestChannel(folder / "channel")


def test_phases_and_archive(tmp_path: Path) -> None:
    text = b"garbage\nprofdiff: phase settle\nprofdiff: phase measure\nprofdiff: archive\n"
    read = channel(tmp_path, text + archive({"stdout": b"hello", "status": b"exit 0\n"}))
    assert read.phase == "boot"
    read.poll()
    assert read.phase == "measure"
    assert read.archive(tmp_path) == {"stdout", "status"}
    assert (tmp_path / "stdout").read_bytes() == b"hello"
    assert (tmp_path / "status").read_bytes() == b"exit 0\n"


def test_a_phase_that_arrives_in_pieces(tmp_path: Path) -> None:
    read = channel(tmp_path, b"profdiff: pha")
    read.poll()
    assert read.phase == "boot"
    with (tmp_path / "channel").open("ab") as file:
        file.write(b"se settle\n")
    read.poll()
    assert read.phase == "settle"


def test_no_channel(tmp_path: Path) -> None:
    read = GuestChannel(tmp_path / "gone")
    read.poll()
    assert read.archive(tmp_path) is None


@pytest.mark.parametrize("cut", [1, 5, 20, 100])
def test_an_archive_that_is_cut_short(tmp_path: Path, cut: int) -> None:
    content = b"profdiff: archive\n" + archive({"stdout": bytes(range(256)) * 50})
    with pytest.raises(ArchiveError, match="cut short"):
        channel(tmp_path, content[:-cut]).archive(tmp_path)
    assert not (tmp_path / "stdout").exists()


@given(st.binary(max_size=400))
def test_any_bytes_are_no_archive(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = channel(Path(folder), b"profdiff: archive\n" + data)
        read.poll()
        with pytest.raises(ArchiveError):
            read.archive(Path(folder))


def counts_file(records: list[tuple[int, int, bytes]], length: int | None = None) -> bytes:
    head = struct.pack("<8sIIQQQQ", b"PDCOUNTS", 1, 2, 1, 1, 0, length or len(records))
    rows = [RECORD.pack(a, count, len(code), code) for a, count, code in records]
    return head + b"".join(rows)


def test_a_counts_file(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(counts_file([(0x401000, 7, b"\x90"), (0xFFFFFFFF81000000, 9, b"")]))
    counts = Counts.load(path)
    assert (counts.kind, counts.opened, counts.closed, counts.misplaced) == ("marks", 1, 1, 0)
    assert counts.count.tolist() == [7, 9]
    assert counts.in_kernel.tolist() == [False, True]
    assert counts.code[0, :2].tolist() == [1, 0x90]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PDCOUNTS",
        b"x" * 100,
        counts_file([(1, 1, b"")])[:-1],
        counts_file([(1, 1, b"")], length=2),
        counts_file([(1, 1, b"")], length=2**60),
        counts_file([(1, 2**63 + 5, b"")]),
        counts_file([(1, 2**62, b""), (2, 2**62, b"")]),
        counts_file([]).replace(b"\x01\0\0\0", b"\x09\0\0\0", 1),
    ],
)
def test_a_counts_file_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    with pytest.raises(SessionError, match="counts"):
        Counts.load(path)


NONE = 0xFFFFFFFF
NODE = struct.Struct("<IIIIQ")
ROW = struct.Struct("<IIQ")
NODES = [(NONE, NONE, NONE, 0, 0), (0, 0, 1, 0, 2), (1, 1, NONE, 0, 3)]
ROWS = [(0, 0, 5), (2, 1, 7)]


def tree_file(nodes: list[tuple[int, ...]], rows: list[tuple[int, ...]]) -> bytes:
    records = [(0x401000, 5, b"\x90"), (0xFFFFFFFF81000000, 7, b"")]
    head = struct.pack("<8sIIQQQQQQ", b"PDCOUNTS", 2, 2, 1, 1, 0, 2, len(nodes), len(rows))
    parts = [RECORD.pack(a, count, len(code), code) for a, count, code in records]
    parts += [NODE.pack(*node) for node in nodes] + [ROW.pack(*row) for row in rows]
    return head + b"".join(parts)


def test_a_call_tree(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(tree_file(NODES, ROWS))
    counts = Counts.load(path)
    tree = counts.calls
    assert tree
    assert tree.parent.tolist() == [-1, 0, 1]
    assert tree.site.tolist() == [-1, 0, 1]
    assert tree.target.tolist() == [-1, 1, -1]
    assert tree.calls.tolist() == [0, 2, 3]
    assert tree.unequal(counts.count) == 0
    assert tree.unequal(counts.count + 1) == 2
    moved = tree.placed(np.array([4, 2]))
    assert moved.site.tolist() == [-1, 4, 2]
    assert moved.place.tolist() == [4, 2]


@pytest.mark.parametrize(
    "data",
    [
        tree_file([(0, NONE, NONE, 0, 0), *NODES[1:]], ROWS),  # the root has a caller
        tree_file([NODES[0], (1, 0, 0, 0, 0)], []),  # its own caller
        tree_file([NODES[0], (NONE, 0, 0, 0, 0)], []),  # a second root
        tree_file([NODES[0], (0, 2, 0, 0, 0)], []),  # a place beyond the last
        tree_file([NODES[0], (0, 0, 2, 0, 0)], []),
        tree_file(NODES, [(3, 0, 1)]),
        tree_file(NODES, [(0, 2, 1)]),
        tree_file(NODES, [(0, 0, 2**63)]),
        tree_file([NODES[0], (0, 0, 0, 0, 2**63)], []),
        tree_file(NODES, [(0, 0, 2**62), (1, 1, 2**62)]),
        tree_file(NODES, ROWS)[:-1],
        tree_file(NODES, ROWS)[:50],
    ],
)
def test_a_call_tree_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    with pytest.raises(SessionError, match="damaged"):
        Counts.load(path)
