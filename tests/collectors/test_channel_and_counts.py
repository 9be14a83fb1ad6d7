"""What comes out of a guest is not trusted: the channel's archive, and the counts file."""

import gzip
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from counts_bytes import counts_bytes
from hypothesis import given
from hypothesis import strategies as st
from tars import tar

from profdiff.base.errors import SessionError
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.archive import ArchiveError
from profdiff.collectors.guest.delivery import GuestChannel


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


def test_a_counts_file(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(counts_bytes([(0x401000, 7, b"\x90"), (0xFFFFFFFF81000000, 9, b"")]))
    counts = Counts.load(path)
    assert (counts.kind, counts.opened, counts.closed, counts.misplaced) == ("marks", 1, 1, 0)
    assert counts.count.tolist() == [7, 9]
    assert counts.in_kernel.tolist() == [False, True]
    assert counts.code[0, :2].tolist() == [1, 0x90]
    assert counts.executed.tolist() == counts.code.tolist()
    assert not counts.patched.any()
    assert counts.each_iteration.tolist() == [7, 9]


def test_a_file_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    for version in (2, 7):
        data = counts_bytes([(1, 1, b"")])
        path.write_bytes(data[:8] + struct.pack("<I", version) + data[12:])
        with pytest.raises(SessionError, match=f"has format {version}.*reads 6: record again, or"):
            Counts.load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PDCOUNTS",
        b"x" * 100,
        counts_bytes([(1, 1, b"")])[:-1],
        counts_bytes([(1, 1, b"")], length=2),
        counts_bytes([(1, 1, b"")], length=2**60),
        counts_bytes([(1, 2**63 + 5, b"")]),
        counts_bytes([(1, 2**62, b""), (2, 2**62, b"")]),
    ],
)
def test_a_counts_file_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    with pytest.raises(SessionError, match="counts"):
        Counts.load(path)


NONE = 0xFFFFFFFF
NODES = [(NONE, NONE, NONE, 0, 0), (0, 0, 1, 0, 2), (1, 1, NONE, 0, 3)]
ROWS = [(0, 0, 5), (2, 1, 7)]


RECORDS = [(0x401000, 5, b"\x90"), (0xFFFFFFFF81000000, 7, b"\xc3")]


def tree_file(
    nodes: list[tuple[int, ...]],
    rows: list[tuple[int, ...]],
    records: list[tuple[int, int, bytes]] = RECORDS,
) -> bytes:
    return counts_bytes(records, nodes, rows)


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
    assert counts.executed[:, :2].tolist() == [[1, 0x90], [1, 0xC3]]
    assert counts.code[:, :2].tolist() == [[1, 0x90], [0, 0]]


def test_kernel_text_that_was_patched(tmp_path: Path) -> None:
    """One place with the sum, and the instruction that executed most often; user space keeps its
    places apart."""
    user, kernel = 0x401000, 0xFFFFFFFF81000000
    records = [
        (user, 4, b"\x90"),
        (user, 5, b"\xc3"),
        (kernel, 2, b"\x66\x90"),
        (kernel, 7, b"\xeb\x05"),
        (kernel, 1, b"\xeb\x07"),
        (kernel + 2, 6, b"\x90"),
        (kernel + 3, 0, b"\x90"),
        (kernel + 3, 3, b"\xc3"),
    ]
    nodes = [(NONE, NONE, NONE, 0, 0), (0, 3, 5, 0, 1)]
    rows = [(0, place, count) for place, (_, count, _) in enumerate(records)]
    path = tmp_path / "counts.bin"
    path.write_bytes(tree_file(nodes, rows, records))
    counts = Counts.load(path)
    assert counts.address.tolist() == [user, user, kernel, kernel + 2, kernel + 3]
    assert counts.count.tolist() == [4, 5, 10, 6, 3]
    assert [bytes(row[1 : 1 + row[0]]) for row in counts.executed] == [
        *(b"\x90", b"\xc3", b"\xeb\x05", b"\x90", b"\xc3")
    ]
    assert counts.patched.tolist() == [False, False, True, False, False]
    assert counts.in_kernel.tolist() == [False, False, True, True, True]
    assert counts.code[:, 0].tolist() == [1, 1, 0, 0, 0]
    assert counts.calls
    assert counts.calls.place.tolist() == [0, 1, 2, 2, 2, 3, 4, 4]
    assert (counts.calls.site.tolist(), counts.calls.target.tolist()) == ([-1, 2], [-1, 3])
    assert counts.calls.unequal(counts.count) == 0


def repeated_file(repeated: list[tuple[int, int]]) -> bytes:
    """``repeated``: records, and how often they started."""
    return counts_bytes(RECORDS, NODES, ROWS, repeated)


def test_repeated_instructions_keep_their_starts(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(repeated_file([(0, 5), (1, 4097)]))
    counts = Counts.load(path)
    assert counts.count.tolist() == [5, 7]
    assert counts.each_iteration.tolist() == [5, 4097]
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
    path.write_bytes(repeated_file([]))
    counts = Counts.load(path)
    assert counts.each_iteration.tolist() == counts.count.tolist()


def branches_file(branches: list[tuple[int, int, int]]) -> bytes:
    """``branches``: records, how often they were taken, and not."""
    return counts_bytes(RECORDS, NODES, ROWS, [(1, 4097)], branches)


def test_conditional_jumps_say_how_often_they_were_taken(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(branches_file([(0, 3, 2), (1, 4, 1)]))
    counts = Counts.load(path)
    assert counts.taken is not None
    assert counts.untold is not None
    assert (counts.taken.tolist(), counts.untold.tolist()) == ([3, 4], [0, 2])
    assert counts.each_iteration.tolist() == [5, 4097]
    path.write_bytes(branches_file([(1, 0, 0)]))
    counts = Counts.load(path)
    assert counts.taken is not None
    assert counts.untold is not None
    assert (counts.taken.tolist(), counts.untold.tolist()) == ([0, 0], [0, 7])
    path.write_bytes(counts_bytes(RECORDS))
    counts = Counts.load(path)
    assert (counts.taken, counts.untold) == (None, None)


def test_patched_branches_add_up(tmp_path: Path) -> None:
    kernel = 0xFFFFFFFF81000000
    records = [(kernel, 2, b"\x74\x05"), (kernel, 7, b"\x75\x05"), (kernel + 2, 1, b"\x90")]
    rows: list[tuple[int, ...]] = [(0, row, records[row][1]) for row in range(3)]
    path = tmp_path / "counts.bin"
    path.write_bytes(counts_bytes(records, [NODES[0]], rows, [], [(0, 1, 1), (1, 5, 1)]))
    counts = Counts.load(path)
    assert counts.taken is not None
    assert counts.untold is not None
    assert counts.count.tolist() == [9, 1]
    assert (counts.taken.tolist(), counts.untold.tolist()) == ([6, 0], [1, 0])


@pytest.mark.parametrize(
    "data",
    [
        branches_file([(2, 0, 0)]),  # a place beyond the last
        branches_file([(1, 1, 1), (0, 1, 1)]),  # not in order
        branches_file([(0, 1, 1), (0, 1, 1)]),
        branches_file([(1, 7, 1)]),  # more than it executed
        branches_file([(1, 2**63, 2**63)]),
        branches_file([(1, 2**62, 2**62)]),
        branches_file([(1, 2**64 - 1, 1)]),
        branches_file([(1, 1, 1)])[:-1],
        branches_file([])[:-1],
        repeated_file([(2, 9)]),  # a place beyond the last
        repeated_file([(1, 9), (0, 9)]),  # not in order
        repeated_file([(0, 9), (0, 9)]),
        repeated_file([(1, 6)]),  # fewer starts than counts
        repeated_file([(1, 2**63)]),
        repeated_file([(0, 2**61), (1, 2**62)]),
        repeated_file([(1, 9)])[:-1],
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
        tree_file(NODES, ROWS).replace(b"\1\xc3", b"\x10\xc3"),  # too long an instruction
    ],
)
def test_a_call_tree_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    with pytest.raises(SessionError, match="damaged"):
        Counts.load(path)
