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


OLD = Path(__file__).with_name("counts-version-2.bin")
"""Three getppid() on v6.18.15, recorded before kernel places had bytes."""


def counts_file(records: list[tuple[int, int, bytes]], length: int | None = None) -> bytes:
    """A file of version 1."""
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
    assert counts.executed.tolist() == counts.code.tolist()
    assert not counts.patched.any()
    assert counts.each_iteration is None


def test_a_file_of_an_older_version_reads_as_it_is() -> None:
    data, counts = OLD.read_bytes(), Counts.load(OLD)
    version, records, nodes, rows = struct.unpack_from("<8xI28xQQQ", data)
    assert (version, records) == (2, len(counts.address))
    end = 64 + records * RECORD.size
    expected = list(RECORD.iter_unpack(data[64:end]))
    assert counts.address.tolist() == [record[0] for record in expected]
    assert counts.count.tolist() == [record[1] for record in expected]
    code = [bytes([length]) + code for _, _, length, code in expected]
    assert [bytes(row) for row in counts.code] == [bytes(row) for row in counts.executed] == code
    assert not counts.executed[counts.in_kernel].any()
    assert not counts.patched.any()
    assert counts.count[counts.in_kernel].sum() == 696
    assert counts.count[~counts.in_kernel].sum() == 42
    assert counts.calls
    assert (len(counts.calls.parent), len(counts.calls.node)) == (nodes, rows)
    assert counts.calls.place.tolist() == [
        place for _, place, _ in ROW.iter_unpack(data[end + nodes * NODE.size :])
    ]
    assert counts.calls.unequal(counts.count) == 0


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


RECORDS = [(0x401000, 5, b"\x90"), (0xFFFFFFFF81000000, 7, b"\xc3")]


def tree_file(
    nodes: list[tuple[int, ...]],
    rows: list[tuple[int, ...]],
    records: list[tuple[int, int, bytes]] = RECORDS,
) -> bytes:
    """A file of version 3."""
    sizes = (len(records), len(nodes), len(rows))
    head = struct.pack("<8sIIQQQQQQ", b"PDCOUNTS", 3, 2, 1, 1, 0, *sizes)
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
    """A file of version 4: ``repeated`` are records, and how often they started."""
    data = tree_file(NODES, ROWS)
    head = data[:8] + struct.pack("<I", 4) + data[12:64] + struct.pack("<Q", len(repeated))
    return head + data[64:] + b"".join(struct.pack("<QQ", *one) for one in repeated)


def test_repeated_instructions_keep_their_starts(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(repeated_file([(0, 5), (1, 4097)]))
    counts = Counts.load(path)
    assert counts.each_iteration is not None
    assert counts.count.tolist() == [5, 7]
    assert counts.each_iteration.tolist() == [5, 4097]
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
    path.write_bytes(repeated_file([]))
    counts = Counts.load(path)
    assert counts.each_iteration is not None
    assert counts.each_iteration.tolist() == counts.count.tolist()


def branches_file(branches: list[tuple[int, int, int]], nodes: bool = True) -> bytes:
    """A file of version 5: ``branches`` are records, how often they were taken, and not."""
    data = repeated_file([(1, 4097)]) if nodes else b""
    if not nodes:
        sizes = (len(RECORDS), 0, 0, 0)
        data = struct.pack("<8sIIQQQQQQQ", b"PDCOUNTS", 4, 2, 1, 1, 0, *sizes)
        data += b"".join(RECORD.pack(a, count, len(code), code) for a, count, code in RECORDS)
    head = data[:8] + struct.pack("<I", 5) + data[12:72] + struct.pack("<Q", len(branches))
    return head + data[72:] + b"".join(struct.pack("<QQQ", *one) for one in branches)


def test_conditional_jumps_say_how_often_they_were_taken(tmp_path: Path) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(branches_file([(0, 3, 2), (1, 4, 1)]))
    counts = Counts.load(path)
    assert counts.taken is not None
    assert counts.untold is not None
    assert (counts.taken.tolist(), counts.untold.tolist()) == ([3, 4], [0, 2])
    assert counts.each_iteration is not None
    assert counts.each_iteration.tolist() == [5, 4097]
    path.write_bytes(branches_file([(1, 0, 0)]))
    counts = Counts.load(path)
    assert counts.taken is not None
    assert counts.untold is not None
    assert (counts.taken.tolist(), counts.untold.tolist()) == ([0, 0], [0, 7])
    for older in (branches_file([], nodes=False), repeated_file([])):
        path.write_bytes(older)
        counts = Counts.load(path)
        assert (counts.taken, counts.untold) == (None, None)


def test_patched_branches_add_up(tmp_path: Path) -> None:
    kernel = 0xFFFFFFFF81000000
    records = [(kernel, 2, b"\x74\x05"), (kernel, 7, b"\x75\x05"), (kernel + 2, 1, b"\x90")]
    rows: list[tuple[int, ...]] = [(0, row, records[row][1]) for row in range(3)]
    data = tree_file([NODES[0]], rows, records)
    head = data[:8] + struct.pack("<I", 5) + data[12:64] + struct.pack("<QQ", 0, 2)
    path = tmp_path / "counts.bin"
    path.write_bytes(head + data[64:] + struct.pack("<QQQQQQ", 0, 1, 1, 1, 5, 1))
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
        branches_file([])[:79],
        repeated_file([(2, 9)]),  # a place beyond the last
        repeated_file([(1, 9), (0, 9)]),  # not in order
        repeated_file([(0, 9), (0, 9)]),
        repeated_file([(1, 6)]),  # fewer starts than counts
        repeated_file([(1, 2**63)]),
        repeated_file([(0, 2**61), (1, 2**62)]),
        repeated_file([(1, 9)])[:-1],
        repeated_file([])[:71],
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
        tree_file(NODES, ROWS).replace(b"\1\xc3", b"\x10\xc3"),  # too long an instruction
    ],
)
def test_a_call_tree_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    with pytest.raises(SessionError, match="damaged"):
        Counts.load(path)
