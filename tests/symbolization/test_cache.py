"""The cache of symbol indexes: concurrent writers, damage, folders that cannot be written."""

import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import need_program

from profdiff._native import SymbolIndex


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    need_program("gcc")
    source = "static inline int f(int x) { return x * 3; } int main(int c) { return f(c); }"
    command = ["gcc", "-g", "-O2", "-Wl,--build-id", "-x", "c", "-", "-o", str(tmp_path / "elf")]
    subprocess.run(command, input=source.encode(), check=True)
    return tmp_path / "elf"


def answer(elf: Path, cache: Path | None) -> tuple[list[str], list[int]]:
    index = SymbolIndex.open(str(elf), None if cache is None else str(cache))
    address = index.symbol_address("main")
    assert address is not None
    resolution = index.resolve(np.arange(address, address + 16, dtype=np.uint64))
    return resolution.strings, resolution.chain_frames.tolist()


def test_warm_equals_cold_and_does_not_read_the_debug_sections(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cold = answer(elf, cache)
    (file,) = cache.iterdir()
    before = file.stat().st_mtime_ns
    assert answer(elf, cache) == cold == answer(elf, None)
    assert file.stat().st_mtime_ns == before


def test_concurrent_writers(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = answer(elf, None)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: answer(elf, cache) == expected, range(64)))
    assert len(list(cache.iterdir())) == 1, "a part file was left behind"


def test_damaged_indexes_are_replaced(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = answer(elf, cache)
    (file,) = cache.iterdir()
    good = file.read_bytes()
    rng = random.Random(11)
    for turn in range(300):
        bad = bytearray(good)
        if turn % 3 == 0:
            del bad[rng.randrange(len(bad)) :]
        elif turn % 3 == 1:
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        else:
            bad[8:12] = (turn + 2).to_bytes(4, "little")  # another version
        file.unlink()
        file.write_bytes(bad)
        assert answer(elf, cache) == expected
        assert file.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_done_without(elf: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert answer(elf, blocked / "cache") == answer(elf, None)


def test_a_file_without_build_id_is_not_kept(elf: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    need_program("objcopy", "binutils")
    command = ["objcopy", "--remove-section=.note.gnu.build-id", str(elf), str(bare)]
    subprocess.run(command, check=True, capture_output=True)
    cache = tmp_path / "cache"
    if SymbolIndex.open(str(bare), str(cache)).build_id is None:
        assert not cache.exists()
