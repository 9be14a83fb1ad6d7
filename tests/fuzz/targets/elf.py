"""ELF files and their debug information: symbols, modules, packed files, programs, the cache."""

import lzma
import subprocess
import zlib
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from support import need_program

from fuzz.mutation import integer, mutate
from fuzz.structured import in_lines, in_xz
from fuzz.target import Target
from profdiff.collectors.workload.elf import read_elf
from profdiff.symbolization._native import (
    Kallsyms,
    NativeError,
    SymbolIndex,
    elf_build_id,
    elf_code,
    elf_debug_info,
    file_offsets_to_svma,
    place_module,
    place_user,
    statements,
)

_SOURCE = """
#define INLINE static inline __attribute__((always_inline))
volatile int sink;
INLINE void inner(int x) { sink += x; sink *= 3; }
INLINE void middle(int x) { inner(x); sink -= 1; inner(x + 1); }
__attribute__((noinline)) void outer(int x) { middle(x); sink ^= x; middle(2 * x); }
static __attribute__((noinline)) int namesake(int x) { return x + sink; }
int use_namesake(int x) { return namesake(x); }
__attribute__((section(".init.text"))) int early(int x) { inner(x); return sink; }
int main(int argc, char **argv) { outer(argc); return use_namesake(argc); }
"""
_CXX = """
namespace some { template <class T> struct S { static inline T twice(T t) { return t + t; } };
struct Base { virtual int f(int x) const { return x; } virtual ~Base() {} };
struct Derived : Base { int f(int x) const override { return S<int>::twice(x); } }; }
int main(int c, char **) { some::Derived d; const some::Base &b = d; return b.f(c); }
"""


def compiled(source: str, *flags: str, language: str = "c") -> bytes:
    """In the current folder, whose name no debug information holds."""
    need_program("gcc")
    if language == "c++":
        need_program("g++")
    Path("a.c").write_text(source)
    # Else the same case is another one with each run.
    prefix = f"-ffile-prefix-map={Path.cwd()}=."
    command = ["gcc", "-g", "-O2", prefix, "-Wl,--build-id", "-x", language, "a.c", *flags]
    subprocess.run([*command, "-o", "out"], check=True)
    return Path("out").read_bytes()


@cache
def _elf_seeds() -> list[bytes]:
    shared = ("-shared", "-fPIC", "-nostdlib", "-Wl,-z,norelro", "-Wl,-z,noseparate-code")
    return [
        compiled(_SOURCE, "-c"),
        compiled(_SOURCE, *shared),
        compiled(_SOURCE, "-gdwarf-4", "-fno-pic", *shared[:1], *shared[2:], "-fPIC"),
        compiled(_SOURCE, "-gz=zlib", *shared),
        compiled(_CXX, "-c", language="c++"),
        compiled(_SOURCE, "-g0", *shared),
    ]


def sections_of(data: bytes) -> list[tuple[int, int, int]]:
    """Sections as (place of the header, offset, size)."""
    start = int.from_bytes(data[40:48], "little")
    count = int.from_bytes(data[60:62], "little")
    found = []
    for at in range(start, start + 64 * min(count, 200), 64):
        offset, size = (int.from_bytes(data[at + k : at + k + 8], "little") for k in (24, 32))
        if at + 64 <= len(data) and size and offset + size <= len(data):
            found.append((at, offset, size))
    return found


def _in_section(random: Random, data: bytes) -> bytes:
    """A change within one section that leaves the file's layout: small sections as often as large
    ones."""
    sections = sections_of(data)
    if not sections:
        return mutate(random, data)
    _, offset, size = random.choice(sections)
    content = mutate(random, data[offset : offset + size])
    return data[:offset] + content[:size].ljust(size, b"\0") + data[offset + size :]


def _section_header(random: Random, data: bytes) -> bytes:
    """A field of a section's header: type, flags, address, offset, size, link."""
    sections = sections_of(data)
    if not sections:
        return mutate(random, data)
    at = random.choice(sections)[0]
    width, place = random.choice(((4, 0), (4, 4), (8, 8), (8, 16), (8, 24), (8, 32), (4, 40)))
    value = integer(random, width)
    if random.random() < 0.5:
        # As another section has it: what is read as what it is not.
        other = random.choice(sections)[0] + place
        value = int.from_bytes(data[other : other + width], "little")
    place += at
    return data[:place] + value.to_bytes(width, "little") + data[place + width :]


def _in_debug_information(random: Random, data: bytes) -> bytes:
    """A byte of a section at the places where abbreviations, line programs and units begin."""
    sections = [one for one in sections_of(data) if one[2] > 16]
    if not sections:
        return mutate(random, data)
    _, offset, size = random.choice(sections)
    at = offset + random.randrange(min(size, 64))
    byte = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return data[:at] + bytes([byte]) + data[at + 1 :]


MUTATIONS = [_in_section, _in_section, _section_header, _in_debug_information]


def _all_addresses(index: SymbolIndex) -> np.ndarray:
    """Some of every section, and what lies outside."""
    parts = [np.array([0, 1, 2**63, 2**64 - 1], np.uint64)]
    for _, start, size in index.sections()[:50]:
        ends = min(size, 2048)
        parts.append(np.uint64(start) + np.arange(0, ends, 3, dtype=np.uint64))
    return np.concatenate(parts)


def _use(index: SymbolIndex) -> None:
    resolution = index.resolve(_all_addresses(index))
    assert int(resolution.chain_offsets[-1]) == len(resolution.chain_frames)
    for column, count in (
        (resolution.chain_frames, len(resolution.frame_function)),
        (resolution.frame_function, len(resolution.function_name)),
        (resolution.function_name, len(resolution.strings)),
        (resolution.function_file, len(resolution.strings)),
        (resolution.frame_file, len(resolution.strings)),
        (resolution.symbol, len(resolution.strings)),
    ):
        assert int(column.max(initial=0)) < max(count, 1)
    index.symbol_address("main")


def _read_elf(data: bytes, folder: Path) -> None:
    path = folder / "elf"
    path.write_bytes(data)
    elf_build_id(str(path))
    elf_debug_info(str(path))
    index = SymbolIndex.open(str(path))
    _use(index)
    start, end = index.symbol_ranges(_all_addresses(index))
    assert (start <= end).all()
    # Each symbol once, as one asks for functions.
    start, once = np.unique(start, return_index=True)
    size = end[once] - start
    statements(str(path), np.array([0], np.uint64), np.array([2**64 - 1], np.uint64))
    for code, expected in zip(elf_code(str(path), start, size), size.tolist(), strict=True):
        assert len(code) in (0, expected)


_BEHIND = b"<what belongs to the file>"
_MODULE_AT = 0xFFFF_FFFF_C000_0000


def _module_seeds() -> list[bytes]:
    """A module, kallsyms, and the lines that tell where its sections are."""
    names = ("outer", "use_namesake", "main", "namesake")
    lines = [f"{_MODULE_AT + 16 * n:x} t {name}\t[mod]\n" for n, name in enumerate(names)]
    lines.insert(0, "ffffffff81000000 T _text\nffffffff81000000 T _stext\n")
    sections = f"mod .text {_MODULE_AT:#x}\nmod .init.text {_MODULE_AT + 4096:#x}\n"
    parts = [compiled(_SOURCE, "-c"), "".join(lines).encode(), sections.encode()]
    return [_BEHIND.join(parts), _BEHIND.join([*parts[:2], b""])]


def _in_part(random: Random, data: bytes) -> bytes:
    """The file, or one of the texts that belong to it."""
    parts = data.split(_BEHIND)
    number = random.randrange(len(parts))
    changes = [in_lines] if number else MUTATIONS
    parts[number] = random.choice(changes)(random, parts[number])
    return _BEHIND.join(parts)


def _read_module(data: bytes, folder: Path) -> None:
    elf, kallsyms, sections = (*data.split(_BEHIND), b"", b"")[:3]
    path = folder / "mod.ko"
    path.write_bytes(elf)
    index = SymbolIndex.open(str(path))
    known = Kallsyms(kallsyms)
    placed = place_module(index, "mod", known, sections)
    known.displacement(index)
    for svma, size, _ in placed:
        index.resolve(np.array([svma, (svma + size) % 2**64], np.uint64))


def _read_user(data: bytes, folder: Path) -> None:
    path = folder / "elf"
    path.write_bytes(data)
    code = np.zeros((4, 16), np.uint8)
    code[:, :2] = (1, 0xC3)
    addresses = np.array([0x1000, 0x40_1000, 2**47, 2**64 - 1], np.uint64)
    place_user([str(path)], addresses, code)
    file_offsets_to_svma(str(path), np.array([0, 0x1000, 2**63, 2**64 - 1], np.uint64))


def _read_closure(data: bytes, folder: Path) -> None:
    path = folder / "workload"
    path.write_bytes(data)
    read_elf(path)


def _closure_seeds() -> list[bytes]:
    main = 'int puts(const char *); int main(void) { return puts("x"); }'
    return [
        compiled(main, "-g0", "-s"),
        compiled(main, "-g0", "-s", "-Wl,-rpath,$ORIGIN/lib:/opt"),
        compiled(main, "-g0", "-c"),
    ]


def _packed_seeds() -> list[bytes]:
    zstd = need_program("zstd")
    plain = _elf_seeds()[1]
    packed = subprocess.run([zstd, "-1", "-c"], input=plain, capture_output=True, check=True)
    return [lzma.compress(plain, preset=0), packed.stdout]


def _cache_seeds() -> list[bytes]:
    """An ELF file and its index, as one input."""
    made = []
    for number, elf in enumerate(_elf_seeds()[1:3]):
        path, folder = Path(f"elf{number}"), Path(f"cache{number}")
        path.write_bytes(elf)
        SymbolIndex.open(str(path), str(folder))
        (index,) = folder.glob("*.symbols")
        made.append(elf + _BEHIND + index.name.encode() + _BEHIND + index.read_bytes())
    return made


def _index(random: Random, data: bytes) -> bytes:
    """The index, with the checksum right."""
    elf, _, rest = data.partition(_BEHIND)
    name, _, index = rest.partition(_BEHIND)
    if random.random() < 0.3 and len(index) > 400:
        # A column's first byte or its length.
        at = 16 + 8 * random.randrange(46)
        index = index[:at] + integer(random, 8).to_bytes(8, "little") + index[at + 8 :]
    else:
        index = index[:16] + mutate(random, index[16:])
    if random.random() < 0.9:
        index = index[:12] + zlib.crc32(index[16:]).to_bytes(4, "little") + index[16:]
    return elf + _BEHIND + name + _BEHIND + index


def _read_cache(data: bytes, folder: Path) -> None:
    elf, _, rest = data.partition(_BEHIND)
    name, _, index = rest.partition(_BEHIND)
    (folder / "elf").write_bytes(elf)
    kept = folder / "cache"
    kept.mkdir()
    if name.isascii() and name.replace(b"-", b"").replace(b".", b"").isalnum() and len(name) < 200:
        (kept / name.decode()).write_bytes(index)
    _use(SymbolIndex.open(str(folder / "elf"), str(kept)))


_REFUSALS = (NativeError,)

TARGETS = (
    Target("elf-dwarf", _elf_seeds, _read_elf, 1500, _REFUSALS, MUTATIONS),
    Target("module", _module_seeds, _read_module, 800, _REFUSALS, [_in_part]),
    Target("user-elf", _elf_seeds, _read_user, 1500, _REFUSALS, MUTATIONS),
    Target("packed-elf", _packed_seeds, _read_elf, 400, _REFUSALS, [in_xz]),
    Target("symbol-cache", _cache_seeds, _read_cache, 1000, _REFUSALS, [_index, _index]),
    Target("workload-elf", _closure_seeds, _read_closure, 800, mutations=MUTATIONS),
)
