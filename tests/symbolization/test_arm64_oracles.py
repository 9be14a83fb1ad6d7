"""Chains of Debian's arm64 kernels against llvm-symbolizer and nm.

differences.md explains each class of difference that is allowed here.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from oracles import Frame, built_in, chains, difference, frames, llvm_halves, nm_of, sample
from support import need_program

from profdiff.base.errors import ProfdiffError
from profdiff.collectors.kernels.debian import fetch

# GCC 12 and GCC 14; the newer one has Rust, too. What GCC 12 does at entries is in
# test_small_elf.py.
SUITES = [pytest.param("bookworm-backports", marks=pytest.mark.nightly), "trixie-backports"]
SEED = 20261
#: So many that more than COVERED of them lie in functions with debug information.
ADDRESSES = 23_000
COVERED = 20_000
#: The most that a class may hold of the addresses of one kernel, as in differences.md.
MOST = {"arm64 assembly": 500, "arm64 padding": 1_400, "entry": 800, "rust": 300}

pytestmark = pytest.mark.network

NOP = bytes.fromhex("1f2003d5")


@pytest.fixture(scope="module", params=SUITES)
def vmlinux(request: pytest.FixtureRequest) -> Path:
    """The debug ELF of the newest kernel of a suite."""
    need_program("apt-get", "apt")
    try:
        folder = fetch(f"debian:{request.param}/cloud-arm64")
    except ProfdiffError as error:
        pytest.skip(f"Debian's archive cannot be reached: {error}")
    found = [path for path in folder.glob("usr/lib/debug/boot/vmlinux-*") if path.is_file()]
    if not found:
        pytest.skip(f"{folder.name} has no debug symbols")
    return found[0]


class Text:
    """The code of an ELF file, by address."""

    def __init__(self, elf: Path) -> None:
        with elf.open("rb") as file:
            self._sections = [
                (section["sh_addr"], section.data())
                for section in ELFFile(file).iter_sections()
                if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS"
            ]

    def word(self, address: int) -> bytes:
        """The instruction there."""
        for start, data in self._sections:
            if start <= address < start + len(data):
                return bytes(data[address - start : address - start + 4])
        raise AssertionError(hex(address))


def rust(own: list[Frame], other: list[Frame]) -> bool:
    """Whether they differ only in how names of Rust are written: llvm's have no path."""
    return len(own) == len(other) and all(
        mine[1:] == theirs[1:] and (mine[0] == theirs[0] or _last(mine[0]) == _last(theirs[0]))
        for mine, theirs in zip(own, other, strict=True)
    )


def _last(name: str) -> str:
    """The last part of a path, without what is generic in it."""
    while (plain := re.sub(r"(?:::)?<[^<>]*>", "", name)) != name:
        name = plain
    return name.rpartition("::")[2]


def _plain(symbols: set[str]) -> set[str]:
    """Without what GCC appends to the names of clones: .isra.0, .part.0."""
    return {symbol.partition(".")[0] for symbol in symbols}


def classes(
    vmlinux: Path, addresses: np.ndarray
) -> Iterable[tuple[int, str | None, list[Frame], list[Frame]]]:
    """Each address, its class of difference, profdiff's chain and llvm-symbolizer's."""
    folder, result, nm = built_in(vmlinux), chains(vmlinux, addresses), nm_of(vmlinux)
    others = llvm_halves(vmlinux, addresses, folder)
    entries: list[tuple[int, list[Frame], list[Frame]]] = []
    for i, (address, other) in enumerate(zip(addresses.tolist(), others, strict=True)):
        own, symbol = frames(result, i), result.strings[result.symbol[i]]
        kind = difference(own, other, symbol, nm.covering(address))
        if kind == "undocumented" and rust(own, other) and own[-1][2].endswith(".rs"):
            kind = "rust"
        elif kind == "undocumented" and own and own[0][0] in _plain(nm.around(address)):
            if own == [(own[0][0], False, "", 0)] and other == [("", False, "", 0)]:
                kind = "assembly"  # a function around the symbol, in a unit that llvm does not find
            else:
                entries.append((address, own, other))
                continue
        yield address, kind, own, other
    yield from _entries(vmlinux, folder, entries)


def _entries(
    vmlinux: Path, folder: str, entries: list[tuple[int, list[Frame], list[Frame]]]
) -> Iterable[tuple[int, str, list[Frame], list[Frame]]]:
    """Of these addresses those of NOPs right before what llvm-symbolizer calls the function."""
    text = Text(vmlinux)
    words = [[(address & ~3) + more for more in (0, 4, 8)] for address, _, _ in entries]
    told = llvm_halves(vmlinux, np.array(words, np.uint64).ravel(), folder)
    for i, (address, own, other) in enumerate(entries):
        here = told[3 * i : 3 * i + 3]
        behind = next((at for at, chain in enumerate(here) if chain[0][0]), 0)
        same = behind > 0 and len(own) == 1 and not other[0][0]
        same &= all(text.word(at) == NOP for at in words[i][:behind])
        name, inlined, file, line = own[0]
        same &= (name, inlined) == here[behind][0][:2]
        # The line is that of the function's first instruction, or of its declaration.
        same &= (file, line) == here[behind][0][2:] if len(here[behind]) == 1 else line > 0
        yield address, "entry" if same else "undocumented", own, other


def test_chains_equal_llvm_symbolizers(vmlinux: Path) -> None:
    need_program("llvm-symbolizer", "llvm")
    addresses = sample(vmlinux, ADDRESSES, SEED)
    counts: Counter[str] = Counter()
    undocumented = []
    inlined = 0
    for address, kind, own, other in classes(vmlinux, addresses):
        if kind is None:
            inlined += len(own) > 1
        else:
            counts[kind] += 1
        if kind == "undocumented":
            undocumented.append((hex(address), own, other))
    assert not undocumented, (len(undocumented), undocumented[:5])
    for kind, most in MOST.items():
        assert counts[kind.removeprefix("arm64 ")] <= most, (kind, counts)
    assert ADDRESSES - counts.total() >= COVERED, counts
    assert inlined > 5_000


def test_symbols_are_nms(vmlinux: Path) -> None:
    addresses = sample(vmlinux, 5_000, SEED + 1)
    result, nm = chains(vmlinux, addresses), nm_of(vmlinux)
    for i, address in enumerate(addresses):
        symbol, covering = result.strings[result.symbol[i]], nm.covering(int(address))
        assert symbol in covering or (not symbol and not covering), hex(address)


def test_an_entry_is_its_functions(vmlinux: Path) -> None:
    """The first instruction of a function, where its calls are counted, has the declaration that
    the rest has, whichever compiler made it: else a function would be two."""
    with vmlinux.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        starts = [
            symbol["st_value"]
            for symbol in map(table.get_symbol, range(40_000, min(60_000, table.num_symbols())))
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"] > 24
        ]
    first = np.array(starts[::3], np.uint64)
    entry, rest = chains(vmlinux, first), chains(vmlinux, first + 12)
    declared = 0
    for i in range(len(first)):
        functions = [
            one.frame_function[one.frames[one.offsets[i]]]
            for one in (entry, rest)
            if one.offsets[i] < one.offsets[i + 1]
        ]
        names = [
            (
                one.strings[one.function_name[function]],
                one.strings[one.function_file[function]],
                one.function_line[function],
            )
            for one, function in zip((entry, rest), functions, strict=True)
        ]
        assert names[0] == names[1], hex(int(first[i]))
        declared += names[0][2] > 0
    assert declared > 1_000


def test_limits_are_the_documented_ones() -> None:
    document = Path(__file__).with_name("differences.md").read_text()
    for kind, most in MOST.items():
        assert f"| {kind} | {most:,} |" in document
