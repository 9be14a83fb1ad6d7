"""Reading within a bound costs what the file has, not what it may have."""

import tracemalloc
from pathlib import Path

import pytest

from profdiff.base import bounded

MIB = 2**20


def test_a_small_file_takes_no_room_for_a_large_one(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"content")
    tracemalloc.start()
    try:
        assert bounded.read(path, 1 << 30) == b"content"
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_files_of_the_limit_are_read_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert bounded.read(path, size) == b"x" * size
    assert bounded.read(path, size + 1) == b"x" * size
    if size:
        with pytest.raises(OSError, match="larger than"):
            bounded.read(path, size - 1)


def test_what_does_not_say_its_size_is_read_to_its_end() -> None:
    path = Path("/proc/self/maps")
    assert path.stat().st_size == 0
    assert bounded.read(path, 64 * MIB).endswith(b"\n")
    with pytest.raises(OSError, match="larger than"):
        bounded.read(path, 100)
