"""The file of chains: what was written comes back; damage is an error."""

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support import frames_of

from profdiff.base.errors import SessionError
from profdiff.symbolization.chains import Chains


def u32(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def example() -> Chains:
    return Chains(
        strings=["", "outer", "vmlinux", "mm/a.c", "ïnner"],
        function_name=u32(1, 4),
        function_object=u32(2, 2),
        function_file=u32(3, 0),
        function_line=u32(10, 0),
        frame_function=u32(0, 1),
        frame_inlined=np.array([False, True]),
        frame_file=u32(3, 3),
        frame_line=u32(12, 4),
        offsets=u32(0, 2, 2),
        frames=u32(0, 1),
        symbol=u32(1, 0),
        reason=np.array([0, 1], dtype=np.uint8),
        address=np.array([2**63, 5], dtype=np.uint64),
        reasons=["resolved", "no-symbol"],
    )


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "chains.npz"
    example().save(path)
    loaded = Chains.load(path)
    assert loaded.strings == example().strings
    assert frames_of(loaded, 0) == [
        ("outer", "vmlinux", False, "mm/a.c", 12),
        ("ïnner", "vmlinux", True, "mm/a.c", 4),
    ]
    assert loaded.inlines_visible
    assert [p.name for p in tmp_path.iterdir()] == ["chains.npz"]


def test_damage_is_a_session_error(tmp_path: Path) -> None:
    path = tmp_path / "chains.npz"
    example().save(path)
    good = path.read_bytes()
    rng = random.Random(5)
    errors = 0
    for turn in range(1500):
        bad = bytearray(good)
        if turn % 5 == 0:
            del bad[rng.randrange(len(bad)) :]
        else:
            for _ in range(rng.choice([1, 3, 20])):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
        path.write_bytes(bad)
        try:
            Chains.load(path)
        except SessionError:
            errors += 1
    assert errors > 1000


def test_declared_sizes_are_not_reserved(tmp_path: Path) -> None:
    path = tmp_path / "chains.npz"
    example().save(path)
    data = path.read_bytes()
    # The compressed size of the first entry of the directory (APPNOTE.TXT, 4.3.12).
    at = data.index(b"PK\1\2") + 20
    path.write_bytes(data[:at] + b"\xff\xff\xff\x6f" + data[at + 4 :])
    tracemalloc.start()
    try:
        with pytest.raises(SessionError, match="larger than the file"):
            Chains.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("column", "value"),
    [("frames", 9), ("symbol", 9), ("offsets", 9), ("frame_function", 2), ("function_name", 5)],
)
def test_indexes_are_checked(tmp_path: Path, column: str, value: int) -> None:
    chains = example()
    getattr(chains, column)[-1] = value
    chains.save(tmp_path / "chains.npz")
    with pytest.raises(SessionError, match=column):
        Chains.load(tmp_path / "chains.npz")


def test_absence_is_a_session_error(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="absent"):
        Chains.load(tmp_path / "absent.npz")
