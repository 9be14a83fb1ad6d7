"""The cache of symbol indexes: concurrent writers, damage, folders that cannot be written."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from elf_writer import TEXT
from elf_writer import elf as write_elf
from support import need_program

from profdiff.symbolization._native import SymbolIndex, elf_build_id


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


@pytest.mark.build
def test_warm_equals_cold_and_does_not_read_the_debug_sections(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cold = answer(elf, cache)
    (file,) = cache.iterdir()
    before = file.stat().st_mtime_ns
    assert answer(elf, cache) == cold == answer(elf, None)
    assert file.stat().st_mtime_ns == before


def test_the_index_is_the_same_whatever_the_number_of_threads(
    fixture_vmlinux: Callable[[str], Path], tmp_path: Path
) -> None:
    code = (
        "import sys; from profdiff.symbolization._native import SymbolIndex\n"
        "SymbolIndex.open(*sys.argv[1:])"
    )
    vmlinux = str(fixture_vmlinux("v7.1.8"))
    indexes = []
    for threads in ("1", "2", "5"):
        cache = tmp_path / threads
        command = [sys.executable, "-c", code, vmlinux, str(cache)]
        subprocess.run(command, env={**os.environ, "RAYON_NUM_THREADS": threads}, check=True)
        (file,) = cache.glob("*.symbols")
        indexes.append(file.read_bytes())
    assert indexes[0] == indexes[1] == indexes[2]


@pytest.mark.build
def test_concurrent_writers(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = answer(elf, None)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: answer(elf, cache) == expected, range(64)))
    assert len(list(cache.iterdir())) == 1, "a part file was left behind"


@pytest.mark.build
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


@pytest.mark.build
def test_a_cache_that_cannot_be_written_is_done_without(elf: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert answer(elf, blocked / "cache") == answer(elf, None)


def test_a_file_without_build_id_is_kept(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_bytes(program(b"bare", build_id=b""))
    cache = tmp_path / "cache"
    assert symbol(bare, cache) == "bare"
    assert [file.suffix for file in cache.iterdir()] == [".symbols"]
    assert symbol(bare, cache) == "bare"


def program(name: bytes, build_id: bytes = b"I" * 20) -> bytes:
    """A program with one symbol."""
    return write_elf({}, symbols=[(1, TEXT)], strings=b"\0" + name + b"\0", build_id=build_id)


def symbol(path: Path, cache: Path) -> str:
    """What the file's first instruction is called."""
    resolution = SymbolIndex.open(str(path), str(cache)).resolve(np.array([TEXT], dtype=np.uint64))
    return resolution.strings[resolution.symbol[0]]


@pytest.mark.parametrize("order", [("genuine", "forgery"), ("forgery", "genuine")])
def test_a_forged_build_id_answers_for_nobody(tmp_path: Path, order: tuple[str, str]) -> None:
    genuine, forgery = tmp_path / "genuine", tmp_path / "forgery"
    genuine.write_bytes(program(b"genuine"))
    forgery.write_bytes(program(b"forgery"))
    assert genuine.stat().st_size == forgery.stat().st_size
    assert elf_build_id(str(genuine)) == elf_build_id(str(forgery)) == "49" * 20
    cache = tmp_path / "cache"
    for name in order * 2:
        assert symbol(tmp_path / name, cache) == name


def test_a_changed_file_is_not_answered_by_its_old_index(tmp_path: Path) -> None:
    """Size and time of modification set back; first at once, then with a hash that is kept."""
    path, cache = tmp_path / "elf", tmp_path / "cache"
    path.write_bytes(program(b"one"))
    assert symbol(path, cache) == "one"
    before = path.stat()
    for name in ("two", "six"):
        path.write_bytes(program(name.encode()))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        assert symbol(path, cache) == name
        time.sleep(3.1 if name == "two" else 0)
        assert symbol(path, cache) == name
    assert len(list(cache.glob("*.content"))) == 1
    other = tmp_path / "other"
    other.write_bytes(program(b"ten"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert symbol(path, cache) == "ten"


def test_a_large_file_is_hashed_once(tmp_path: Path) -> None:
    path, cache = tmp_path / "elf", tmp_path / "cache"
    path.write_bytes(program(b"one"))
    assert symbol(path, cache) == "one"
    (one,) = cache.iterdir()
    path.write_bytes(program(b"two"))
    time.sleep(3.1)
    assert symbol(path, cache) == "two"
    (kept,) = cache.glob("*.content")
    # The cache itself is trusted: what it says of the file is not computed again.
    kept.write_text(one.stem)
    assert symbol(path, cache) == "one"
    kept.write_text("damaged")
    assert symbol(path, cache) == "two"
    assert kept.read_text() != "damaged"
