"""Disassembly of whole programs and kernels against objdump: texts, lengths, flows, classes."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from extent import is_nightly
from objdump_oracle import Listing, flow, listing, with_reference, x86_classes
from support import need_program

from profdiff.symbolization._native import (
    Disassembly,
    SymbolIndex,
    classes,
    disassemble,
    elf_code,
    flows,
    split_code,
)


def kernel_text(vmlinux: Path) -> Listing:
    """A part of a fixture kernel that has mm/ and fs/: a MiB, half of it in the usual run."""
    half = 1 << (19 if is_nightly() else 18)
    first = SymbolIndex.open(str(vmlinux)).symbol_address("do_mprotect_pkey")
    assert first
    start, stop = (
        f"--start-address={first - half:#x}",
        f"--stop-address={first + half:#x}",
    )
    return listing(need_program("objdump"), vmlinux, "--insn-width=16", start, stop)


def decoded(architecture: str, told: Listing) -> Disassembly:
    code = np.zeros((len(told.code), 16), np.uint8)
    for row, one in zip(code, told.code, strict=True):
        row[: 1 + len(one)] = [len(one), *one]
    return disassemble(architecture, told.addresses, code)


def texts(out: Disassembly) -> list[str]:
    strings = out.strings
    columns = zip(out.operation.tolist(), out.operands.tolist(), strict=True)
    return [f"{strings[operation]} {strings[operands]}".strip() for operation, operands in columns]


def different(told: Listing, out: Disassembly) -> Counter[tuple[str, str]]:
    """Pairs of objdump's text and profdiff's, beside what differs by design: rotations and shifts
    by 1 name the 1, as binutils 2.41 and newer do, and debug registers are Intel's %dr."""
    found: Counter[tuple[str, str]] = Counter()
    triples = zip(told.texts, texts(out), out.reference.tolist(), strict=True)
    for theirs, ours, reference in triples:
        theirs = with_reference(theirs, reference).replace("%db", "%dr")
        theirs = re.sub(r"^((?:sa|sh|ro|rc)[lr][bwlq]? )(?!\$|%cl,)", r"\1$0x1,", theirs)
        if theirs != ours and not theirs.startswith((".word", ".inst", ".long")):
            found[theirs, ours] += 1
    return found


@pytest.fixture(scope="module")
def kernel(fixture_vmlinux: Callable[[str], Path]) -> tuple[Listing, Disassembly]:
    told = kernel_text(fixture_vmlinux("v7.1.8"))
    return told, decoded("x86_64", told)


def test_texts_of_a_kernel(kernel: tuple[Listing, Disassembly]) -> None:
    told, out = kernel
    assert len(told.code) > (200_000 if is_nightly() else 100_000)
    found = different(told, out)
    assert found.total() < len(told.code) / 1000, found.most_common(20)


@pytest.mark.slow
def test_texts_of_a_program() -> None:
    """In the usual run of a quarter of its code."""
    program = Path(need_program("busybox"))
    _, start, size = next(
        one for one in SymbolIndex.open(str(program)).sections() if one[0] == ".text"
    )
    stop = f"--stop-address={start + size // (1 if is_nightly() else 4):#x}"
    told = listing(need_program("objdump"), program, "--insn-width=16", stop)
    assert len(told.code) > (200_000 if is_nightly() else 50_000)
    found = different(told, decoded("x86_64", told))
    assert found.total() < len(told.code) / 1000, found.most_common(20)


def test_lengths(kernel: tuple[Listing, Disassembly]) -> None:
    """objdump begins anew at each symbol, and so does whoever splits the code of a function."""
    told, _ = kernel
    lengths = [len(one) for one in told.code]
    assert split_code("x86_64", b"".join(told.code)).tolist() == lengths


def test_flows_and_references(kernel: tuple[Listing, Disassembly]) -> None:
    told, out = kernel
    names = flows()
    ways = [names[code] for code in out.flow.tolist()]
    pairs = [(text, way) for text, way in zip(told.texts, ways, strict=True) if "(bad)" not in text]
    found = Counter((text, way) for text, way in pairs if flow(text) != way)
    assert not found, found.most_common(20)
    assert set(names) - {"leave"} <= set(ways)
    for text, way, reference in zip(told.texts, ways, out.reference.tolist(), strict=True):
        if way in ("call", "jump", "conditional"):
            assert f"{reference:x}" == text.split(" ")[-1]


def test_classes(kernel: tuple[Listing, Disassembly]) -> None:
    told, out = kernel
    names = classes()
    found: Counter[tuple[str, str]] = Counter()
    covered = 0
    seen: set[str] = set()
    for text, bits in zip(told.texts, out.classes.tolist(), strict=True):
        ours = {name for bit, name in enumerate(names) if bits >> bit & 1}
        seen |= ours
        theirs, complete = x86_classes(text)
        covered += complete
        if not complete:
            ours -= {"load", "store"}
        if ours != theirs and not text.endswith("(bad)"):
            found[text, str(sorted(ours ^ theirs))] += 1
    assert not found, (found.total(), found.most_common(30))
    assert covered > 0.9 * len(told.texts)
    assert seen > {"load", "store", "locked", "call", "indirect-call", "conditional", "repeated"}


def test_code_is_the_files(
    fixture_vmlinux: Callable[[str], Path], kernel: tuple[Listing, Disassembly]
) -> None:
    told, _ = kernel
    whole = b"".join(told.code)
    starts = told.addresses[:1]
    sizes = np.array([len(whole)], np.uint64)
    vmlinux = str(fixture_vmlinux("v7.1.8"))
    assert elf_code(vmlinux, starts, sizes) == [whole]
    assert elf_code(vmlinux, np.array([0x1000], np.uint64), sizes) == [b""]


_ARM64 = r"""
#include <stdint.h>
#include <string.h>
#include <stdatomic.h>
_Atomic long counter; double d[64]; float f[64]; uint8_t bytes[4096];
long many(long a, long b, char *p) {
    for (int i = 0; i < 64; i++) { d[i] = d[i] / 3.0 + f[i]; f[i] *= 2; }
    for (int i = 0; i < 4096; i++) bytes[i] = bytes[i] * 3 + (bytes[i] >> 2);
    atomic_fetch_add(&counter, a); atomic_exchange(&counter, b);
    long e = 7; atomic_compare_exchange_strong(&counter, &e, a);
    memcpy(p, bytes, 77);
    return a / b + (unsigned long)a % 10 + counter + (a << 13 ^ b >> 7);
}
void system_things(void) {
    asm volatile("mrs x0, tpidr_el1\nmsr daifset, #3\nisb\ndsb sy\ndmb ish\neret\nsvc #0\nhvc #0\n"
        "tlbi vmalle1\nic ivau, x0\ndc civac, x0\ndc zva, x0\nwfi\nyield\nat s1e1r, x0\n"
        "ldxr x1, [x0]\nstxr w2, x1, [x0]\nldaxp x1, x2, [x0]\nstlxp w3, x1, x2, [x0]\n"
        "ldar x1, [x0]\nstlr x1, [x0]\nldtr x1, [x0]\nsttrb w1, [x0, #5]\nprfm pldl1keep, [x0]\n"
        "casal x1, x2, [x0]\nldaddal x1, x2, [x0]\nstadd x1, [x0]\nswp x1, x2, [x0]\n"
        "ldp x1, x2, [x0], #16\nstp q0, q1, [x0, #-32]!\nld1 {v0.16b}, [x0]\nst1 {v0.4s}, [x0]\n"
        "ldapr x1, [x0]\nbraa x1, x2\nblraa x1, x2\nretaa\nbrk #1\nblr x1\nbr x2");
}
"""
# Of each instruction of system_things(): what the Arm Architecture Reference Manual says it does.
_ARM64_CLASSES = {
    "mrs": "privileged", "msr": "privileged", "isb": "serialising", "dsb": "serialising", "dmb": "",
    "eret": "serialising privileged", "svc": "", "hvc": "privileged", "tlbi": "privileged",
    "ic": "",
    "dc civac, x0": "", "dc zva, x0": "store", "wfi": "", "yield": "", "at": "privileged",
    "ldxr": "load", "stxr": "store locked", "ldaxp": "load", "stlxp": "store locked",
    "ldar": "load",
    "stlr": "store", "ldtr": "load", "sttrb": "store", "prfm": "", "casal": "load store locked",
    "ldaddal": "load store locked", "stadd": "load store locked", "swp": "load store locked",
    "ldp": "load", "stp": "store vector", "ld1": "load vector", "st1": "store vector",
    "ldapr": "load", "braa": "indirect-jump", "blraa": "indirect-call", "retaa": "", "brk": "",
    "blr": "indirect-call", "br": "indirect-jump",
}  # fmt: skip


@pytest.fixture(scope="module")
def arm64(tmp_path_factory: pytest.TempPathFactory) -> tuple[Listing, Disassembly]:
    compiler = need_program("aarch64-linux-gnu-gcc")
    folder = tmp_path_factory.mktemp("arm64")
    (folder / "a.c").write_text(_ARM64 + "int main(void) { return many(1, 2, (char *)d); }")
    command = [compiler, "-O3", "-march=armv8.6-a", "-static", "a.c", "-o", "a"]
    subprocess.run(command, cwd=folder, check=True)
    told = listing(need_program("aarch64-linux-gnu-objdump"), folder / "a")
    return told, decoded("aarch64", told)


@pytest.mark.build
def test_texts_of_arm64(arm64: tuple[Listing, Disassembly]) -> None:
    told, out = arm64
    assert len(told.code) > 50_000
    found = different(told, out)
    assert found.total() < len(told.code) / 1000, found.most_common(20)


@pytest.mark.build
def test_flows_of_arm64(arm64: tuple[Listing, Disassembly]) -> None:
    told, out = arm64
    columns = zip(told.texts, out.flow.tolist(), strict=True)
    found = Counter((text, flows()[code]) for text, code in columns if flow(text) != flows()[code])
    assert not found, found.most_common(20)
    assert len({*out.flow.tolist()}) == len(flows())


@pytest.mark.build
def test_classes_of_arm64(arm64: tuple[Listing, Disassembly]) -> None:
    told, out = arm64
    at = next(i for i, text in enumerate(told.texts) if text == "mrs x0, tpidr_el1")
    for i, (name, expected) in enumerate(_ARM64_CLASSES.items(), at):
        assert told.texts[i].startswith(name)
        kinds = {name for bit, name in enumerate(classes()) if out.classes[i] >> bit & 1}
        assert kinds == set(expected.split()), told.texts[i]


@pytest.mark.build
def test_loads_and_stores_of_arm64(arm64: tuple[Listing, Disassembly]) -> None:
    told, out = arm64
    load, store = (1 << classes().index(name) for name in ("load", "store"))
    for text, bits in zip(told.texts, out.classes.tolist(), strict=True):
        name = text.split(" ")[0]
        if re.match(r"(ld(?!1r)[rpnu]|ld[1-4]$|ld[1-4]r)", name) or name == "ldpsw":
            assert bits & (load | store) == load, text
        elif re.match(r"st[rpnu]|st[1-4]$", name):
            assert bits & (load | store) == store, text
        elif re.match(r"(add|sub|mov|cmp|b|cb|tb|adr|ret|and|orr|fadd)", name):
            assert not bits & (load | store), text
