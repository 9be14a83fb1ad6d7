"""Small kernels for tests: linked to where kernels lie, of C that each test writes."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support import need_program

from profdiff.symbolization._native import compare_code, verdicts

_FLAGS = ["-O2", "-g0", "-ffreestanding", "-ffunction-sections", "-fno-pie"]
_FLAGS += ["-fno-asynchronous-unwind-tables", "-fno-stack-protector"]
_LINK = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none,-e,0"]
COMPILERS = {
    "x86_64": ["gcc", "-mcmodel=kernel", "-mno-red-zone", "-mno-sse", "-fcf-protection=none"],
    "aarch64": ["aarch64-linux-gnu-gcc", "-mno-outline-atomics"],
}
_START = {"x86_64": "0xffffffff81000000", "aarch64": "0xffff800080000000"}


def link(
    folder: Path, *sources: str, flags: Sequence[str] = (), architecture: str = "x86_64"
) -> Path:
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
    command = [compiler, *own, *_FLAGS, *flags, *_LINK, start, *files, "-o", "vmlinux"]
    subprocess.run(command, cwd=here, check=True)
    return here / "vmlinux"


def functions(elf: Path) -> dict[str, int]:
    """The address of each function with a size."""
    command = [need_program("nm"), "-S", "--defined-only", str(elf)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in told.splitlines()]
    return {row[3]: int(row[0], 16) for row in rows if len(row) == 4 and row[2] in "tT"}


def verdict(old: Path, new: Path, *names: str) -> dict[str, str]:
    """What each function (all, unless they are named) of one file is in the other; ``unknown``
    and all that differ, with a detail."""
    known = functions(old)
    svma = np.array(sorted(known[name] for name in names or known), np.uint64)
    found = compare_code(str(old), str(new), svma)
    told = [verdicts()[one] for one in found.verdict.tolist()]
    assert all(
        bool(detail) == (one != "equal") for one, detail in zip(told, found.detail, strict=True)
    )
    assert found.function.tolist() == list(range(len(svma)))
    return dict(zip(found.name, told, strict=True))


def different(old: Path, new: Path) -> dict[str, str]:
    """The functions that are not equal."""
    return {name: one for name, one in verdict(old, new).items() if one != "equal"}
