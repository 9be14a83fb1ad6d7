"""Files around the debug information that ask for far more than their size."""

import struct
from pathlib import Path

import pytest
from bounded import run_bounded
from elf_writer import TEXT, elf

PT_LOAD, PT_NOTE = 1, 4


def with_segments(count: int, kind: int, size: int, offset: int = 0) -> bytes:
    """A program of `size` bytes; each of its segments is all of it, from `offset` on."""
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, count, 64, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", kind, 5, offset, 0, 0, size, size, 4096)
    return (header + segment * count).ljust(size, b"\x90")


def test_segments_that_overlap(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(with_segments(10_000, PT_LOAD, 1_000_000))
    script = """
code = np.full((1, 16), 0x90, np.uint8)
code[0, 0] = 8
print(place_user([sys.argv[1]], np.full(1, 0x400, np.uint64), code)[2])
"""
    # Nothing comes from it.
    assert run_bounded(script, path) == "[3]"
    path.write_bytes(with_segments(1, PT_LOAD, 1_000_000))
    assert run_bounded(script, path) != ""


def test_notes_that_overlap(tmp_path: Path) -> None:
    """Each of the segments has all notes, none of which is a build id."""
    path = tmp_path / "program"
    start = 64 + 56 * 60_000
    data = bytearray(with_segments(60_000, PT_NOTE, 8_000_000, start))
    data[start:] = bytes(len(data) - start)  # notes of no name and no content
    for i in range(60_000):
        struct.pack_into("<Q", data, 64 + 56 * i + 32, len(data) - start)
    path.write_bytes(data)
    assert run_bounded("print(elf_build_id(sys.argv[1]))", path) == "None"


def test_names_of_sections_are_not_believed(tmp_path: Path) -> None:
    """Sections whose names are all the same long one."""
    path = tmp_path / "program"
    count, name = 10_000, b"n" * 1_000_000 + b"\0"
    header = struct.pack("<IIQQQQIIQQ", 0, 1, 6, TEXT, 64, 1, 0, 0, 1, 0)
    names = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(name), 0, 0, 1, 0)
    start = 64 + len(name)
    fields = (2, 62, 1, 0, 0, start, 0, 64, 0, 0, 64, count + 2, count + 1)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", *fields)
    path.write_bytes(head + name + bytes(64) + header * count + names)
    said = run_bounded("SymbolIndex.open(sys.argv[1])", path)
    assert said.startswith(f"{path} declares ")


def test_symbols_at_one_address(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_bytes(b"ffffffff81000000 D d\n" * 1_000_000)
    script = """
addresses = np.full(20_000, 0xffffffff81000004, np.uint64)
print(set(Kallsyms(open(sys.argv[1], "rb").read()).resolve(addresses).reason.tolist()))
"""
    assert run_bounded(script, path) == "{2}"


@pytest.mark.parametrize("namesakes", [1, 20_000])
def test_namesakes_do_not_place_a_module(tmp_path: Path, namesakes: int) -> None:
    path = tmp_path / "module"
    symbols = [(1, TEXT + i) for i in range(namesakes)]
    path.write_bytes(elf({}, symbols=symbols, strings=b"\0f\0"))
    script = f"""
lines = b"".join(b"%x t f [m]\\n" % (0xffffffffc0000000 + 16 * i) for i in range({namesakes}))
print(place_module(SymbolIndex.open(sys.argv[1]), "m", Kallsyms(lines), b""))
"""
    placed = [(TEXT, 1 << 20, 0xFFFFFFFFC0000000)] if namesakes == 1 else []
    assert run_bounded(script, path) == str(placed)
