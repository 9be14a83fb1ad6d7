"""Small programs compiled here: nested inlining, namesakes, compressed sections, modules."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from extent import is_nightly
from oracles import llvm_chains
from support import need_program

from profdiff.symbolization._native import NativeError, Resolution, SymbolIndex, elf_build_id

SOURCE = """
#define INLINE static inline __attribute__((always_inline))
volatile int sink;
INLINE void inner(int x) { sink += x; sink *= 3; }
INLINE void middle(int x) { inner(x); sink -= 1; inner(x + 1); }
static int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__attribute__((noinline)) void outer(int x) { middle(x); sink ^= x; middle(2 * x); }
__attribute__((noinline)) int recursive(int n) { sink = 1; return factorial(n); }
static __attribute__((noinline)) int namesake(int x) { return x + sink; }
int use_namesake(int x) { return namesake(x); }
#ifndef ONE_SECTION
__attribute__((section(".init.text"))) int early(int x) { inner(x); return sink; }
#endif
"""
OTHER = """
extern volatile int sink;
extern void outer(int); extern int recursive(int); extern int use_namesake(int);
static __attribute__((noinline)) int namesake(int x) { return x * sink; }
int main(int argc, char **argv) { outer(argc);
    return recursive(argc) + use_namesake(1) + namesake(2); }
"""

Compile = Callable[..., Path]


@pytest.fixture
def compile_c(tmp_path: Path) -> Compile:
    need_program("gcc")
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "b.c").write_text(OTHER)

    def compiled(*flags: str, sources: tuple[str, ...] = ("a.c", "b.c")) -> Path:
        target = tmp_path / "out"
        command = ["gcc", "-g", "-O2", "-Wl,--build-id", *flags, "-o", str(target), *sources]
        subprocess.run(command, cwd=tmp_path, check=True)
        return target

    return compiled


def chain(resolution: Resolution, index: int) -> list[tuple[str, bool, str, int]]:
    rows = resolution.chain_frames[
        resolution.chain_offsets[index] : resolution.chain_offsets[index + 1]
    ]
    strings = resolution.strings
    return [
        (
            strings[resolution.function_name[resolution.frame_function[row]]],
            bool(resolution.frame_inlined[row]),
            strings[resolution.frame_file[row]],
            int(resolution.frame_line[row]),
        )
        for row in rows
    ]


def section(elf: Path, name: str) -> np.ndarray:
    """Every address of a section."""
    sections = {n: (start, size) for n, start, size in SymbolIndex.open(str(elf)).sections()}
    start, size = sections[name]
    return np.arange(start, start + size, dtype=np.uint64)


def check_against_llvm(elf: Path, folder: Path, svma: np.ndarray, offset: int) -> list[str]:
    """All addresses that llvm-symbolizer can name have equal chains. Returns the names seen."""
    need_program("llvm-symbolizer", "llvm")
    resolution = SymbolIndex.open(str(elf)).resolve(svma)
    others = llvm_chains(elf, svma - np.uint64(offset), str(folder))
    names = []
    for i, other in enumerate(others):
        if other[0][0]:
            assert chain(resolution, i) == other, hex(svma[i])
            names.append("/".join(frame[0] for frame in other))
    return names


@pytest.mark.parametrize("flags", [(), ("-gdwarf-4",), ("-static",), ("-no-pie",), ("-O0",)])
def test_programs_equal_llvm_symbolizer(
    compile_c: Compile, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    elf = compile_c(*flags)
    svma = section(elf, ".text")
    if flags == ("-static",) and not is_nightly():
        # The program itself, and of the C library behind it every tenth address.
        end = SymbolIndex.open(str(elf)).symbol_address("__libc_start_main")
        assert end
        svma = svma[(svma < end) | (svma % 10 == 0)]
    names = check_against_llvm(elf, tmp_path, svma, 0)
    assert "outer/middle/inner" in names
    assert "recursive/factorial" in names or flags == ("-O0",) or "recursive" in names


def test_namesakes_are_told_apart_by_file(compile_c: Compile) -> None:
    elf = compile_c()
    resolution = SymbolIndex.open(str(elf)).resolve(section(elf, ".text"))
    functions = {
        (resolution.strings[name], resolution.strings[file])
        for name, file in zip(
            resolution.function_name.tolist(), resolution.function_file.tolist(), strict=True
        )
    }
    assert {("namesake", "a.c"), ("namesake", "b.c")} <= functions


@pytest.mark.parametrize("packing", ["zlib", "zstd", "file.zst", "file.xz"])
def test_compression_changes_nothing(compile_c: Compile, tmp_path: Path, packing: str) -> None:
    elf = compile_c()
    packed = tmp_path / "packed"
    if packing.startswith("file."):
        tool = need_program({"file.zst": "zstd", "file.xz": "xz"}[packing])
        with elf.open("rb") as source, packed.open("wb") as target:
            subprocess.run([tool, "-c"], stdin=source, stdout=target, check=True)
    else:
        tool = need_program("objcopy", "binutils")
        command = [tool, f"--compress-debug-sections={packing}", str(elf), str(packed)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip(f"this objcopy does not pack with {packing}")
    svma = section(elf, ".text")
    plain, other = (SymbolIndex.open(str(path)).resolve(svma) for path in (elf, packed))
    assert [chain(plain, i) for i in range(len(svma))] == [
        chain(other, i) for i in range(len(svma))
    ]
    assert elf_build_id(str(packed)) == elf_build_id(str(elf)) is not None


def test_relocatable_files_are_relocated(compile_c: Compile, tmp_path: Path) -> None:
    # llvm-symbolizer takes an offset for any section's, so that it gets a file with one.
    elf = compile_c("-c", "-DONE_SECTION", sources=("a.c",))
    text = section(elf, ".text")
    names = check_against_llvm(elf, tmp_path, text, int(text[0]))
    assert "outer/middle/inner" in names
    elf = compile_c("-c", sources=("a.c",))
    early = SymbolIndex.open(str(elf)).resolve(section(elf, ".init.text"))
    assert chain(early, 8)[0][0] == "early"


def test_without_debug_information_symbols_remain(compile_c: Compile) -> None:
    elf = compile_c("-g0")
    index = SymbolIndex.open(str(elf))
    address = index.symbol_address("outer")
    assert address is not None
    assert not index.has_inlines
    resolution = index.resolve(np.array([address, 1], dtype=np.uint64))
    assert chain(resolution, 0) == [("outer", False, "", 0)]
    assert resolution.reason.tolist() == [0, 2]


def test_lines_alone_do_not_tell_what_is_inlined(compile_c: Compile, tmp_path: Path) -> None:
    whole, lines = compile_c(), tmp_path / "lines"
    assert SymbolIndex.open(str(whole)).has_inlines
    names = ("info", "abbrev", "rnglists", "aranges", "loclists")
    without = [f"--remove-section=.debug_{name}" for name in names]
    subprocess.run(["objcopy", *without, whole, lines], check=True)
    assert not SymbolIndex.open(str(lines)).has_inlines


def test_damage_never_crashes(compile_c: Compile, tmp_path: Path) -> None:
    """Seeded mutations and cuts: an error or an answer, never a panic, a hang or a bus error."""
    good = compile_c().read_bytes()
    rng = random.Random(7)
    path = tmp_path / "bad"
    errors = 0
    for turn in range(400):
        data = bytearray(good)
        if turn % 4 == 0:
            del data[rng.randrange(len(data)) :]
        else:
            for _ in range(rng.choice([1, 4, 64])):
                data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        try:
            index = SymbolIndex.open(str(path))
            index.resolve(np.arange(0x1000, 0x2000, dtype=np.uint64))
            elf_build_id(str(path))
        except NativeError as error:
            errors += 1
            assert str(path) in str(error)
            assert "\n" not in str(error)
    assert errors > 20


@pytest.mark.slow
def test_declared_sizes_are_not_believed(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zst"
    zstd = need_program("zstd")
    zeros = b"\x7fELF" + bytes(300 << 20)
    bomb.write_bytes(subprocess.run([zstd, "-c"], input=zeros, capture_output=True).stdout)
    with pytest.raises(NativeError, match=r"more than .* are not read"):
        SymbolIndex.open(str(bomb))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"#!/bin/sh\n", "is not a 64-bit"), (b"", "is not a 64-bit"), (b"\x7fELF", "is not a 64-b")],
)
def test_what_is_no_elf_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "script"
    path.write_bytes(content)
    with pytest.raises(NativeError, match=f"{path} {message}"):
        SymbolIndex.open(str(path))
    with pytest.raises(NativeError, match="absent"):
        SymbolIndex.open(str(tmp_path / "absent"))


ENTRIES = """
volatile int sink;
static inline __attribute__((always_inline)) void inner(int x) { sink += x; }
static __attribute__((noinline)) int last_line_of_this_is_5(int x) {
    return x * 7; }
__attribute__((noinline)) int plain(int x)
{
    return x * sink + last_line_of_this_is_5(x);
}
__attribute__((noinline)) void inlines(int x) { inner(x); sink ^= x; }
int main(int argc, char **argv) { inlines(argc); return plain(argc); }
"""


@pytest.mark.build
@pytest.mark.parametrize("compiler", ["gcc", "aarch64-linux-gnu-gcc"])
def test_instructions_to_patch_are_of_the_function_that_they_begin(
    compiler: str, tmp_path: Path
) -> None:
    """GCC 12 has no debug information for them on arm64, and none at the start of inlines()."""
    need_program(compiler, compiler if compiler == "gcc" else "gcc-aarch64-linux-gnu")
    (tmp_path / "e.c").write_text(ENTRIES)
    command = [compiler, "-g", "-O2", "-fpatchable-function-entry=4,2", "-c", "e.c", "-o", "e.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    index = SymbolIndex.open(str(tmp_path / "e.o"))
    length = 4 if compiler != "gcc" else 1
    for name, lines in (("plain", range(6, 9)), ("inlines", [10])):
        start = index.symbol_address(name)
        assert start is not None
        two = index.resolve(np.array([start, start + 2 * length - 1], dtype=np.uint64))
        for i in range(2):
            ((function, inlined, file, line),) = chain(two, i)
            assert (function, inlined, file) == (name, False, "e.c")
            assert line in lines
        assert len(set(two.frame_function.tolist())) == 1
        # What lies before the symbol is of nobody, as for those who patch it.
        before = index.resolve(np.array([start - 1], dtype=np.uint64))
        assert not chain(before, 0) or chain(before, 0)[0][0] != name


@pytest.mark.build
def test_labels_before_a_function_are_not_its_entry(tmp_path: Path) -> None:
    """A symbol without a size, or one whose code another symbol divides, keeps its own code."""
    need_program("gcc")
    head = ".globl {0}\n.type {0}, @function\n{0}: nop\n"
    (tmp_path / "h.S").write_text(
        '.section .text.a,"ax"\n' + head.format("unsized") + "ret\n.previous\n"
        '.section .text.c,"ax"\n' + head.format("sized") + "other: nop\nret\n"
        ".size sized, . - sized + 4\n.previous\n"
    )
    (tmp_path / "h.c").write_text(
        '__attribute__((section(".text.b"))) int b(int x) { return x; }\n'
        '__attribute__((section(".text.d"))) int d(int x) { return x; }\n'
        "int main(void) { return b(1) + d(2); }\n"
    )
    (tmp_path / "h.ld").write_text(
        "SECTIONS { .text : { *(.text .text.[e-z]*) h*.o(.text.a) *(.text.b) *(.text.c) "
        "*(.text.d) } }\nINSERT BEFORE .rodata;\n"
    )
    flags = ["-g0", "-O2", "-c"]
    subprocess.run(["gcc", *flags, "h.S", "-o", "h1.o"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-g", "-O2", "-c", "h.c", "-o", "h2.o"], cwd=tmp_path, check=True)
    subprocess.run(["ld", "-r", "-T", "h.ld", "h1.o", "h2.o", "-o", "h"], cwd=tmp_path, check=True)
    index = SymbolIndex.open(str(tmp_path / "h"))
    for name in ("unsized", "sized"):
        start = index.symbol_address(name)
        assert start is not None
        found = index.resolve(np.array([start], dtype=np.uint64))
        assert [frame[0] for frame in chain(found, 0)] == [name]


@pytest.mark.build
def test_mapping_symbols_name_nothing(tmp_path: Path) -> None:
    need_program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    (tmp_path / "m.S").write_text("lonely:\n nop\n .word 0\nothers:\n nop\n")
    command = ["aarch64-linux-gnu-gcc", "-c", "m.S", "-o", "m.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    nm = subprocess.run(
        ["nm", "--special-syms", "m.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert nm.stdout.count("$") >= 3
    index = SymbolIndex.open(str(tmp_path / "m.o"))
    found = index.resolve(section(tmp_path / "m.o", ".text"))
    assert [chain(found, i)[0][0] for i in range(0, 12, 4)] == ["lonely", "lonely", "others"]
