"""A program of two parts, as distributions have it: stripped, and what was stripped off it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from support import need_program

from profdiff.symbolization._native import elf_build_id

_SOURCE = """
static volatile long sink;
static inline __attribute__((always_inline)) void inlined(long i) { sink += i * i; }
static __attribute__((noinline)) void hidden(long n) { while (n--) inlined(n); }
int main(void) { for (int i = 0; i < 300; i++) hidden(1000000); return 0; }
"""


@dataclass(frozen=True)
class Parts:
    """``whole`` has everything; ``program`` is stripped, ``debug`` has the rest."""

    whole: Path
    program: Path
    debug: Path
    build_id: str


def parts(folder: Path) -> Parts:
    """The parts, each in a folder of its own."""
    need_program("gcc")
    for name in ("whole", "bin", "debug"):
        (folder / name).mkdir()
    source, whole = folder / "prog.c", folder / "whole/prog"
    source.write_text(_SOURCE)
    made = Parts(whole, folder / "bin/prog", folder / "debug/prog.debug", "")
    objcopy = need_program("objcopy", "binutils")
    for command in (
        ["gcc", "-O2", "-g", "-Wl,--build-id", source, "-o", whole],
        [objcopy, "--only-keep-debug", whole, made.debug],
        [objcopy, "--strip-all", f"--add-gnu-debuglink={made.debug}", whole, made.program],
    ):
        subprocess.run(command, check=True)
    build_id = elf_build_id(str(whole))
    assert build_id
    return Parts(whole, made.program, made.debug, build_id)
