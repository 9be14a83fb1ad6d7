"""Debug information that asks for far more than its size: it is not read, soon, and said so."""

import struct
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from bounded import run_bounded
from elf_writer import (
    COMPILE_UNIT,
    DATA2,
    DECL_FILE,
    FLAG_PRESENT,
    INLINED,
    LINKAGE_NAME,
    NAME,
    ORIGIN,
    PLACE,
    PLACED,
    PRODUCER,
    RANGES,
    REF4,
    REF_ADDR,
    SEC_OFFSET,
    STMT_LIST,
    STRING,
    STRP,
    SUBPROGRAM,
    TEXT,
    UNIT_HEADER,
    abbreviation,
    elf,
    line_program,
    uleb,
    unit,
)

from profdiff.symbolization._native import SymbolIndex

NAMES = 4000
BASE_36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OPEN = """
index = SymbolIndex.open(sys.argv[1])
print(index.unread or "", end=" ")
addresses = 0x1000 + np.arange(5000, dtype=np.uint64) % 16
print("frames", len(index.resolve(addresses).chain_frames))
"""


def in_child(path: Path) -> str:
    """What a bounded process says of the file: why its debug information is not read, the frames
    of 5,000 addresses; or the error."""
    return run_bounded(OPEN, path).strip()


def functions(
    entry: list[tuple[int, int]], entries: list[bytes], root: bytes = b"", **sections: bytes
) -> bytes:
    """One unit with functions of one shape."""
    roots = [(STMT_LIST, SEC_OFFSET)] if root else []
    abbreviations = abbreviation(1, COMPILE_UNIT, roots, children=True)
    abbreviations += abbreviation(2, SUBPROGRAM, entry) + b"\0"
    info = unit(b"\1" + root + b"".join(b"\2" + entry for entry in entries) + b"\0")
    more = {f".{name}": data for name, data in sections.items()}
    return elf({".debug_abbrev": abbreviations, ".debug_info": info, **more})


def mangled(doublings: int, crate: str = "a") -> bytes:
    """A Rust v0 name whose type is a pair of pairs of pairs ..., by references back."""
    name, last = f"IC{len(crate)}{crate}", "Tuu" + "E"
    at = len(name)
    for _ in range(doublings):
        name += last
        back = f"B{base_62(at)}"
        at = len(name)
        last = f"T{back}{back}E"
    return f"_R{name}{last}E".encode()


def base_62(value: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    value -= 1
    out = ""
    while True:
        out = digits[value % 62] + out
        value //= 62
        if not value:
            return out + "_"


def of_symbols(names: list[bytes]) -> bytes:
    """A program whose functions of 1 byte have these symbols, and nothing else."""
    starts = np.cumsum([1, *(len(name) + 1 for name in names)]).tolist()
    symbols = [(starts[n], TEXT + n) for n in range(len(names))]
    return elf({}, symbols=symbols, strings=b"\0" + b"\0".join(names) + b"\0")


def unique() -> Iterator[str]:
    return map("".join, islice(product("abcdefgh", repeat=4), NAMES))


def rust_names() -> bytes:
    return of_symbols([mangled(12, crate) for crate in unique()])


def cpp_names() -> bytes:
    """Functions whose parameters are pointers to functions of the parameters before, twice."""
    return of_symbols([doubled(11, name) for name in unique()])


def doubled(doublings: int, name: str) -> bytes:
    parameters = "PFivE"
    for n in range(doublings):
        before = f"S{BASE_36[2 * n]}_"
        parameters += f"PF{before}{before}E"
    return f"_Z{len(name)}{name}{parameters}".encode()


def one_demangled_name() -> bytes:
    return functions([(LINKAGE_NAME, STRING), *PLACE], [mangled(20) + b"\0" + PLACED])


def directory_and_files() -> bytes:
    lines = line_program([b"d" * 60_000], [(b"%d" % i, 1) for i in range(10_000)])
    entries = [struct.pack("<H", i) + PLACED for i in range(1, 10_001)]
    return functions([(DECL_FILE, DATA2), *PLACE], entries, root=bytes(4), debug_line=lines)


def attributes_of_no_size() -> bytes:
    shape = [(PRODUCER, FLAG_PRESENT)] * 200_000
    return functions(shape, [b""] * 200_000)


def other_units(functions_: int, shared: bytes, origin: bytes, files: int) -> bytes:
    """A unit whose functions refer to an entry of another unit, which has many files."""
    first = abbreviation(1, COMPILE_UNIT, [(STMT_LIST, SEC_OFFSET)], children=True) + shared
    second = abbreviation(1, COMPILE_UNIT, [], children=True)
    second += abbreviation(2, SUBPROGRAM, [(ORIGIN, REF_ADDR), (NAME, STRING), *PLACE])
    one = unit(b"\1" + bytes(4) + origin + b"\0")
    entry = b"\2" + struct.pack("<I", UNIT_HEADER + 5) + b"n\0" + PLACED
    two = unit(b"\1" + entry * functions_ + b"\0", len(first) + 1)
    lines = line_program([], [(b"f%d" % i, 0) for i in range(files)])
    abbreviations = first + b"\0" + second + b"\0"
    return elf({".debug_abbrev": abbreviations, ".debug_info": one + two, ".debug_line": lines})


def headers_for_each_function() -> bytes:
    shape = abbreviation(2, SUBPROGRAM, [(DECL_FILE, DATA2)])
    return other_units(60_000, shape, b"\2" + struct.pack("<H", 9), 60_000)


def chains_of_origins() -> bytes:
    nothing = [(PRODUCER, FLAG_PRESENT)] * 50_000
    shape = abbreviation(2, SUBPROGRAM, [(ORIGIN, REF4), *nothing])
    start = UNIT_HEADER + 5
    chain = b"".join(b"\2" + struct.pack("<I", start + 5 * (i + 1)) for i in range(100))
    return other_units(20_000, shape, chain, 1)


def long_origins() -> bytes:
    shape = abbreviation(2, SUBPROGRAM, [(PRODUCER, STRING)])
    return other_units(50_000, shape, b"\2" + b"p" * 10_000_000 + b"\0", 1)


def shared_line_headers() -> bytes:
    """Small units with the line program of all; each is asked for by another one."""
    abbreviations = abbreviation(1, COMPILE_UNIT, [(STMT_LIST, SEC_OFFSET)], children=True)
    abbreviations += abbreviation(2, SUBPROGRAM, [(ORIGIN, REF_ADDR), (NAME, STRING), *PLACE])
    size = UNIT_HEADER + 5 + 5 + 2 + 12 + 1
    info = b"".join(
        unit(b"\1" + bytes(4) + b"\2" + struct.pack("<I", i * size + 17) + b"n\0" + PLACED + b"\0")
        for i in range(20_000)
    )
    lines = line_program([], [(b"f", 0)] * 50_000)
    return elf({".debug_abbrev": abbreviations + b"\0", ".debug_info": info, ".debug_line": lines})


def nested(depth: int) -> bytes:
    abbreviations = abbreviation(1, COMPILE_UNIT, [], children=True)
    abbreviations += abbreviation(2, SUBPROGRAM, [(NAME, STRING), *PLACE], children=True)
    abbreviations += abbreviation(3, INLINED, [(NAME, STRING), *PLACE], children=True) + b"\0"
    inner = b"\3i\0" + PLACED
    entries = b"\1\2f\0" + PLACED + inner * (depth - 1) + bytes(depth + 1)
    return elf({".debug_abbrev": abbreviations, ".debug_info": unit(entries)})


def ends_of_one_string() -> bytes:
    entries = [struct.pack("<I", i) + PLACED for i in range(100_000)]
    return functions([(NAME, STRP), *PLACE], entries, debug_str=b"s" * 100_000 + b"\0")


def symbols_of_one_string() -> bytes:
    symbols = [(i, TEXT + i) for i in range(100_000)]
    return elf({}, symbols=symbols, strings=b"s" * 100_000 + b"\0")


def ranges_named_again() -> bytes:
    """Many units of one function, whose ranges are one long list."""
    abbreviations = abbreviation(1, COMPILE_UNIT, [], children=True)
    abbreviations += abbreviation(2, SUBPROGRAM, [(RANGES, SEC_OFFSET)]) + b"\0"
    ranges = b"".join(b"\4" + uleb(TEXT + 2 * i) + uleb(TEXT + 2 * i + 1) for i in range(4000))
    ranges = struct.pack("<IHBBI", len(ranges) + 9, 5, 8, 0, 0) + ranges + b"\0"
    info = unit(b"\1\2" + struct.pack("<I", 12) + b"\0") * 20_000
    sections = {".debug_abbrev": abbreviations, ".debug_info": info, ".debug_rnglists": ranges}
    return elf(sections)


def ranges_that_are_none() -> bytes:
    """A list of base addresses only, which gives no range."""
    ranges = (b"\5" + struct.pack("<Q", 0)) * 200_000
    ranges = struct.pack("<IHBBI", len(ranges) + 9, 5, 8, 0, 0) + ranges + b"\0"
    entries = [struct.pack("<I", 12)] * 200_000
    return functions([(RANGES, SEC_OFFSET)], entries, debug_rnglists=ranges)


def abbreviations_that_overlap() -> bytes:
    """Tables that start one after the other, and all go on to the end of the section."""
    codes = range(1, 100_001)
    shapes = [abbreviation(code, COMPILE_UNIT, []) for code in codes]
    starts = np.cumsum([0, *map(len, shapes)]).tolist()
    info = b"".join(unit(uleb(i + 1), starts[i]) for i in range(20_000))
    return elf({".debug_abbrev": b"".join(shapes), ".debug_info": info})


def line_programs_that_overlap() -> bytes:
    """Headers one after the other, whose programs all begin behind the last of them."""
    header = line_program([], [])
    count, rows = 20_000, b"\x20" * 1_000_000
    lines = b""
    for i in range(count):
        behind = (count - i - 1) * len(header)
        lengths = (len(header) - 4 + behind + len(rows), 4, len(header) - 10 + behind)
        lines += struct.pack("<IHI", *lengths) + header[10:]
    abbreviations = abbreviation(1, COMPILE_UNIT, [(STMT_LIST, SEC_OFFSET)]) + b"\0"
    starts = range(0, count * len(header), len(header))
    info = b"".join(unit(b"\1" + struct.pack("<I", start)) for start in starts)
    sections = {".debug_abbrev": abbreviations, ".debug_info": info, ".debug_line": lines + rows}
    return elf(sections)


BOMBS: list[Callable[[], bytes]] = [
    directory_and_files,
    attributes_of_no_size,
    chains_of_origins,
    long_origins,
    shared_line_headers,
    ends_of_one_string,
    ranges_named_again,
    ranges_that_are_none,
    abbreviations_that_overlap,
    line_programs_that_overlap,
]


@pytest.mark.slow
@pytest.mark.parametrize("make", BOMBS)
def test_bombs_are_not_read(make: Callable[[], bytes], tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(make())
    assert in_child(path) == "it asks for far more than an honest file needs frames 0"


@pytest.mark.slow
def test_symbols_of_one_string_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(symbols_of_one_string())
    said = in_child(path)
    assert said.startswith(f"{path} asks for more than ")
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize("make", [rust_names, cpp_names])
def test_names_together_have_a_bound(make: Callable[[], bytes], tmp_path: Path) -> None:
    """A name that becomes 64 times as long stays mangled."""
    path = tmp_path / "bomb"
    path.write_bytes(make())
    script = """
found = SymbolIndex.open(sys.argv[1]).resolve(0x1000 + np.arange(4000, dtype=np.uint64))
names = demangled([found.strings[name] for name in found.function_name.tolist()])
print(sum(map(len, names)) < 80 << 20, len(set(names)))
"""
    assert run_bounded(script, path) == f"True {NAMES}"


def test_a_name_that_stands_for_too_much_stays_mangled(tmp_path: Path) -> None:
    path = tmp_path / "elf"
    path.write_bytes(one_demangled_name())
    resolution = SymbolIndex.open(str(path)).resolve(np.array([TEXT], dtype=np.uint64))
    assert resolution.strings[resolution.function_name[0]] == mangled(20).decode()
    path.write_bytes(functions([(LINKAGE_NAME, STRING), *PLACE], [mangled(2) + b"\0" + PLACED]))
    resolution = SymbolIndex.open(str(path)).resolve(np.array([TEXT], dtype=np.uint64))
    pair = "((), ())"
    for _ in range(2):
        pair = f"({pair}, {pair})"
    assert resolution.strings[resolution.function_name[0]].endswith(f"{pair}>")


def test_a_header_is_not_read_for_each_function(tmp_path: Path) -> None:
    path = tmp_path / "elf"
    path.write_bytes(headers_for_each_function())
    assert in_child(path) == "frames 5000"
    resolution = SymbolIndex.open(str(path)).resolve(np.array([TEXT], dtype=np.uint64))
    assert resolution.strings[resolution.function_file[0]] == "f8"


def test_frames_of_any_depth_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    path.write_bytes(nested(20_000))
    assert in_child(path) == "functions inlined more than 512 deep frames 0"
    path.write_bytes(nested(512))
    assert in_child(path) == f"frames {5000 * 512}"
