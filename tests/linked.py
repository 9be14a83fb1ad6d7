"""Small kernels for tests: linked to where kernels lie, of C that each test writes."""

import subprocess
from itertools import accumulate
from pathlib import Path

import numpy as np
from support import need_program

from profdiff.symbolization._native import elf_code, split_code

_FLAGS = ["-O2", "-g0", "-ffreestanding", "-ffunction-sections", "-fno-pie"]
_FLAGS += ["-fno-asynchronous-unwind-tables", "-fno-stack-protector"]
_LINK = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id,-e,0"]
COMPILERS = {
    "x86_64": ["gcc", "-mcmodel=kernel", "-mno-red-zone", "-mno-sse", "-fcf-protection=none"],
    "aarch64": ["aarch64-linux-gnu-gcc", "-mno-outline-atomics"],
}
_START = {"x86_64": "0xffffffff81000000", "aarch64": "0xffff800080000000"}


def link(folder: Path, *sources: str, architecture: str = "x86_64") -> Path:
    """The ELF file of C sources, in their order: the folder's next."""
    compiler, *own = COMPILERS[architecture]
    need_program(compiler)
    here = folder / f"{len(list(folder.iterdir()))}"
    here.mkdir()
    for number, text in enumerate(sources):
        # Each has the name that it has elsewhere, whatever stands before it.
        name = text.split("\n", 1)[0].removeprefix("// ").strip()
        (here / f"{number}").mkdir()
        (here / f"{number}/{name}").write_text(text)
    files = [str(path.relative_to(here)) for path in sorted(here.glob("*/*.c"))]
    start = f"-Wl,-Ttext={_START[architecture]}"
    command = [compiler, *own, *_FLAGS, *_LINK, start, *files, "-o", "vmlinux"]
    subprocess.run(command, cwd=here, check=True)
    return here / "vmlinux"


def functions(elf: Path) -> dict[str, tuple[int, int]]:
    """Where each function with a size begins, and its size."""
    command = [need_program("nm"), "-S", "--defined-only", str(elf)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in told.splitlines()]
    sized = [row for row in rows if len(row) == 4 and row[2] in "tT"]
    return {name: (int(start, 16), int(size, 16)) for start, size, _, name in sized}


def instructions(elf: Path, name: str, architecture: str = "x86_64") -> dict[int, bytes]:
    """A function's instructions, by address."""
    start, size = functions(elf)[name]
    (code,) = elf_code(str(elf), np.array([start], np.uint64), np.array([size], np.uint64))
    lengths = split_code(architecture, code).tolist()
    ends = [*accumulate(lengths)]
    return {
        start + end - length: code[end - length : end]
        for end, length in zip(ends, lengths, strict=True)
    }
