"""riscv64: the disassembly against objdump, and chains of what a guest executed against
llvm-symbolizer."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from objdump_oracle import Listing, flow, listing, with_reference
from oracles import Nm, built_in, chains, difference, frames, llvm_halves
from support import need_program
from test_disassembly_oracles import decoded, texts

from profdiff.collectors.architecture import RISCV64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.session.session import Session
from profdiff.symbolization._native import Disassembly, classes, flows, split_code

_SYSTEM = {
    "csrr a0,sstatus": "privileged", "csrw satp,a0": "privileged", "rdcycle a0": "",
    "frcsr a0": "", "ecall": "", "ebreak": "", "sret": "serialising privileged",
    "mret": "serialising privileged", "wfi": "privileged", "sfence.vma": "serialising privileged",
    "fence.i": "serialising", "fence rw,w": "", "lr.d a0,(a1)": "load",
    "sc.d a0,a2,(a1)": "store locked", "amoadd.d a0,a2,(a1)": "load store locked",
    "amoswap.w.aqrl a0,a2,(a1)": "load store locked", "cbo.zero (a0)": "store",
    "cbo.flush (a0)": "", "div a0,a1,a2": "division", "remuw a0,a1,a2": "division",
    "mul a0,a1,a2": "", "fld fa0,8(a0)": "load vector", "fsw fa0,0(sp)": "store vector",
    "fdiv.d fa0,fa1,fa2": "division vector", "fmadd.d fa0,fa1,fa2,fa3": "vector",
    "jalr t1": "indirect-call", "jr t1": "indirect-jump", "ret": "", "clz a0,a1": "",
    "sh1add a0,a1,a2": "", "andn a0,a1,a2": "", "rori a0,a1,0x3f": "", "bexti a0,a1,0x21": "",
    "sinval.vma a0,a1": "serialising privileged", "czero.eqz a0,a1,a2": "", "unimp": "",
    "slti zero,zero,1169": "", "jalr t0,12(t0)": "indirect-call", "jalr t1,t3": "indirect-jump",
}  # fmt: skip


def plain(text: str) -> str:
    """objdump leaves the i of instructions with a number out, and names two masks and moves."""
    match = re.fullmatch(r"(add|and|or|xor|sll|srl|sra)(w?) (\w+,\w+,-?\d\w*)", text)
    text = f"{match[1]}i{match[2]} {match[3]}" if match else text
    text = re.sub(r"^zext\.b (\w+,\w+)$", r"andi \1,255", text)
    return re.sub(r"^(csrr[wsc])(?= \w+,\w+,\d)", r"\1i", text)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Listing, Disassembly]:
    """Of a program with all of the C library, and of what only a kernel executes."""
    compiler = need_program(RISCV64.compiler, RISCV64.packages[RISCV64.compiler])
    folder = tmp_path_factory.mktemp("riscv64")
    march = "rv64gc_zba_zbb_zbs_zicbom_zicboz_zifencei_zicsr_svinval"
    lines = [".option norelax", ".option norvc", ".globl system_things", "system_things:"]
    lines += [text if "czero" not in text else ".4byte 0x0ec5d533" for text in _SYSTEM]
    (folder / "s.s").write_text("\n".join([*lines, ""]))
    (folder / "a.c").write_text('#include <stdio.h>\nint main(void) { printf("1"); }\n')
    assembler = need_program(f"{RISCV64.triplet}-as", "binutils-riscv64-linux-gnu")
    subprocess.run([assembler, f"-march={march}", "s.s", "-o", "s.o"], cwd=folder, check=True)
    subprocess.run([compiler, "-O2", "-static", "a.c", "s.o", "-o", "a"], cwd=folder, check=True)
    told = listing(f"{RISCV64.triplet}-objdump", folder / "a")
    return told, decoded(RISCV64.name, told)


@pytest.mark.build
def test_texts(program: tuple[Listing, Disassembly]) -> None:
    told, out = program
    assert len(told.code) > 50_000
    found: Counter[tuple[str, str]] = Counter()
    for theirs, ours, to in zip(told.texts, texts(out), out.reference.tolist(), strict=True):
        theirs = plain(with_reference(theirs, to))
        if theirs != ours and not theirs.startswith("."):
            found[theirs, ours] += 1
    assert found.total() < len(told.code) / 1000, found.most_common(20)


@pytest.mark.build
def test_lengths(program: tuple[Listing, Disassembly]) -> None:
    told, _ = program
    lengths = [len(one) for one in told.code]
    assert {*lengths} == {2, 4}
    assert split_code(RISCV64.name, b"".join(told.code)).tolist() == lengths


@pytest.mark.build
def test_flows_and_references(program: tuple[Listing, Disassembly]) -> None:
    told, out = program
    columns = zip(told.texts, out.flow.tolist(), out.reference.tolist(), strict=True)
    ways = [(text, flows()[code], to) for text, code, to in columns if not text.startswith(".")]
    assert not Counter((text, way) for text, way, _ in ways if flow(text) != way)
    assert {way for _, way, _ in ways} == {*flows()}
    for text, way, to in ways:
        if way in ("call", "jump", "conditional"):
            assert f"{to:x}" == text.split(" ")[-1].split(",")[-1]


@pytest.mark.build
def test_classes(program: tuple[Listing, Disassembly]) -> None:
    told, out = program
    at = next(i for i, text in enumerate(told.texts) if text == "csrr a0,sstatus")
    for i, (text, expected) in enumerate(_SYSTEM.items(), at):
        assert told.texts[i] == text or told.texts[i].startswith(".") or plain(text) == text
        kinds = {name for bit, name in enumerate(classes()) if out.classes[i] >> bit & 1}
        assert kinds == set(expected.split()), told.texts[i]


def of_the_kernel(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of the kernel that a recording executed, and their code."""
    session = Session.open(folder)
    counts = Counts.load(session.path(session.manifest.runs[0].files["counts"]))
    return counts.address[counts.in_kernel], counts.executed[counts.in_kernel]


@pytest.mark.guest
@pytest.mark.network
def test_chains_are_llvm_symbolizers(recorded_riscv64: Path, riscv64_kernel: KernelFiles) -> None:
    need_program("llvm-symbolizer", "llvm")
    vmlinux = riscv64_kernel.debug_elf
    assert vmlinux
    addresses = np.unique(of_the_kernel(recorded_riscv64)[0])
    result, nm = chains(vmlinux, addresses), Nm(vmlinux)
    others = llvm_halves(vmlinux, addresses, built_in(vmlinux))
    assert len(addresses) > 300
    different = []
    inlined = 0
    compared = assembly = 0
    for i, other in enumerate(others):
        # What ftrace patches, before what the debug information calls the function: "entry" in
        # differences.md; and the exception's entry, which some kernels do not call a function.
        if not other[0][0]:
            assembly += frames(result, i)[0][2].endswith(".S")
            continue
        compared += 1
        own = frames(result, i)
        inlined += len(own) > 1
        if kind := difference(
            own, other, result.strings[result.symbol[i]], nm.covering(int(addresses[i]))
        ):
            different.append((kind, hex(int(addresses[i])), own, other))
    assert inlined > 50
    assert compared > 0.9 * (len(addresses) - assembly)
    assert assembly < 0.2 * len(addresses)
    assert len(different) < 0.01 * compared, different[:5]


@pytest.mark.guest
@pytest.mark.network
def test_executed_code_is_the_files_where_nothing_patched_it(
    recorded_riscv64: Path, riscv64_kernel: KernelFiles
) -> None:
    objdump = need_program(f"{RISCV64.triplet}-objdump", "binutils-riscv64-linux-gnu")
    own, code = of_the_kernel(recorded_riscv64)
    assert riscv64_kernel.debug_elf
    # objdump takes minutes for all that lies between the first address and the last: the parts of
    # 32 KiB in which most executed.
    part, often = np.unique(own >> 15, return_counts=True)
    busiest = part[np.argsort(-often)][:12]
    known = {}
    for first in busiest.tolist():
        limits = f"--start-address={first << 15:#x}", f"--stop-address={(first + 1 << 15) + 4:#x}"
        told = listing(str(objdump), riscv64_kernel.debug_elf, *limits)
        known |= zip(told.addresses.tolist(), told.code, strict=True)
    inside = np.isin(own >> 15, busiest)
    own, code = own[inside], code[inside]
    rows = zip(own.tolist(), code, strict=True)
    equal = [bytes(one[1 : 1 + one[0]]) == known.get(at) for at, one in rows]
    assert len(equal) > 300
    assert sum(equal) > 0.9 * len(equal)
