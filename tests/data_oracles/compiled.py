"""Made programs as a compiler and a linker leave them, and what other tools say of their code."""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from data_oracles.programs import Program
from data_oracles.records import Place

from profdiff.symbolization._native import DataIndex, Kallsyms
from profdiff.symbolization.data_accesses import DataAccesses


class Compiler(NamedTuple):
    """``architecture``: as the kernel calls it; ``linker``: of GNU; ``start``: of the program."""

    name: str
    architecture: str
    command: tuple[str, ...]
    linker: str
    start: int


_X86, _ARM = 0xFFFF_FFFF_8100_0000, 0xFFFF_8000_8001_0000
_GUARD = ("-mstack-protector-guard-reg=gs", "-mstack-protector-guard-symbol=__stack_chk_guard")
_X86_FLAGS = ("-mcmodel=kernel", "-mno-red-zone", *_GUARD)
COMPILERS = (
    Compiler("gcc", "x86_64", ("gcc", *_X86_FLAGS), "ld", _X86),
    Compiler("clang", "x86_64", ("clang-19", *_X86_FLAGS), "ld", _X86),
    Compiler(
        "gcc-arm64",
        "arm64",
        ("aarch64-linux-gnu-gcc", "-mno-outline-atomics"),
        "aarch64-linux-gnu-ld",
        _ARM,
    ),
    Compiler(
        *(
            "clang-arm64",
            "arm64",
            ("clang-19", "--target=aarch64-linux-gnu", "-mno-outline-atomics"),
        ),
        *("aarch64-linux-gnu-ld", _ARM),
    ),
)
_FLAGS = ("-w", "-ffreestanding", "-fno-pie", "-fno-pic", "-fno-strict-aliasing", "-c")


class Instruction(NamedTuple):
    """As objdump shows it."""

    address: int
    code: bytes
    text: str
    line: int


@dataclass(frozen=True)
class Compiled:
    """``offsets``: of places, bytes and size, as the compiler says."""

    program: Program
    compiler: Compiler
    file: Path
    instructions: list[Instruction]
    offsets: dict[Place, tuple[int, int]]

    def accesses(self) -> DataAccesses:
        """What profdiff says that the code accesses, all of which ran."""
        return accesses(self.file, self.compiler, self.instructions)


def accesses(
    file: Path, compiler: Compiler, ran: Sequence[Instruction], size: int | None = None
) -> DataAccesses:
    """What profdiff says that instructions access which ran; ``size``: of all code of the program
    from the first one on."""
    first, last = ran[0], ran[-1]
    code = np.zeros((len(ran), 16), np.uint8)
    for number, one in enumerate(ran):
        code[number, 0] = len(one.code)
        code[number, 1 : 1 + len(one.code)] = list(one.code)
    index = DataIndex.open(str(file))
    assert index is not None
    found = index.accesses(
        compiler.architecture,
        [(first.address, size or last.address + len(last.code) - first.address, first.address)],
        Kallsyms(b""),
        np.array([one.address for one in ran], np.uint64),
        code,
    )
    assert found is not None
    known = DataAccesses(**found)
    known.check()
    return known


def compiled(
    program: Program, compiler: Compiler, flags: tuple[str, ...], folder: Path
) -> Compiled:
    """Build a program, at an address like a kernel's."""
    file, instructions = built(program.source(), compiler, flags, folder)
    return Compiled(program, compiler, file, instructions, _offsets(program, file, folder))


def built(
    text: str, compiler: Compiler, flags: tuple[str, ...], folder: Path
) -> tuple[Path, list[Instruction]]:
    """A program in C, at an address like a kernel's, and its code."""
    source, unit, file = folder / "made.c", folder / "made.o", folder / "made"
    source.write_text(text)
    _run(*compiler.command, *_FLAGS, *flags, "-o", str(unit), str(source))
    start = f"-Ttext-segment={compiler.start:#x}"
    _run(compiler.linker, "-static", "-z", "noexecstack", start, "-o", str(file), str(unit))
    return file, _instructions(file)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


_LINE = re.compile(r"0x([0-9a-f]{16})\s+(\d+)\s+\d+\s+\d+ (.*)")
_CODE = re.compile(r"(?m)^\s*([0-9a-f]+): ((?:[0-9a-f]{2,8} )+)\s*\t(.*)$")


def _instructions(file: Path) -> list[Instruction]:
    """With LLVM's objdump, which knows all architectures, and its reader of line tables."""
    lines = _lines(file)
    starts = sorted(lines)
    found = _listed(_run("llvm-objdump-19", "-d", str(file)))
    return [
        one._replace(line=lines[starts[bisect_right(starts, one.address) - 1]]) for one in found
    ]


def disassembled(file: Path, function: str) -> list[Instruction]:
    """The code of one function of a program, without lines."""
    return _listed(_run("llvm-objdump-19", f"--disassemble-symbols={function}", str(file)))


def _listed(text: str) -> list[Instruction]:
    found: list[Instruction] = []
    for match in _CODE.finditer(text):
        words = match[2].split()
        code = b"".join(bytes.fromhex(word)[:: -1 if len(word) > 2 else 1] for word in words)
        shown = match[3].replace("\t", " ").strip()
        address = int(match[1], 16)
        if found and found[-1].text == "lock":  # a line of its own
            before = found.pop()
            address, code, shown = before.address, before.code + code, f"lock {shown}"
        found.append(Instruction(address, code, shown, 0))
    assert found
    return found


def _lines(file: Path) -> dict[int, int]:
    """Of each address at which a line's code begins the line; 0: of no line."""
    said = _run("llvm-dwarfdump-19", "--debug-line", str(file))
    found: dict[int, int] = {}
    for match in _LINE.finditer(said):
        # Where one sequence ends another may begin.
        if "end_sequence" not in match[3]:
            found[int(match[1], 16)] = int(match[2])
    return found


def _offsets(program: Program, file: Path, folder: Path) -> dict[Place, tuple[int, int]]:
    table = folder / "truth"
    _run("llvm-objcopy-19", "-O", "binary", "--only-section=.truth", str(file), str(table))
    numbers = np.frombuffer(table.read_bytes(), np.uint64).reshape(-1, 2).tolist()
    assert len(numbers) == len(program.offsets)
    return {
        place: (start, size) for place, (start, size) in zip(program.offsets, numbers, strict=True)
    }


def touches_memory(one: Instruction, architecture: str) -> bool:
    """Whether an instruction loads or stores, by its text."""
    mnemonic, _, rest = one.text.removeprefix("lock ").partition(" ")
    if architecture == "arm64":
        return bool(re.match(r"(ld|st|cas|swp|cpy|set[pme]|dc$)", mnemonic)) and "[" in rest
    if mnemonic.startswith(("nop", "prefetch")) or mnemonic in ("lea", "leal", "leaq", "leaw"):
        return False
    moves = mnemonic.startswith(("push", "pop", "call", "ret", "leave"))
    rest = rest.split(" <")[0] if mnemonic.startswith(("call", "j")) else rest.split("#")[0]
    jumps = mnemonic.startswith("j") and "*" not in rest
    return moves or (not jumps and bool(re.search(r"\(|%[fg]s:|(^|[ ,])-?0x[0-9a-f]+(,|$)", rest)))
