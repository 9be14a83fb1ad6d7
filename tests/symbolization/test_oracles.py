"""Chains of the fixture kernels against llvm-symbolizer, nm and pyelftools.

differences.md explains each class of difference that is allowed here.
"""

import bisect
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyelftools_oracle
import pytest
from elftools.elf.elffile import ELFFile
from oracles import Frame, llvm_chains
from support import frames_of, need_program

from profdiff.symbolization._native import SymbolIndex
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.symbolizer import symbolize

RELEASES = ["v6.12.107", "v6.18.15", "v7.1.8"]
SEED = 20260
#: So many that more than COVERED of them lie in functions with debug information.
ADDRESSES = 32_000
COVERED = 20_000

#: The most that a class of difference may hold of the addresses of one kernel. Measured:
#: see differences.md, which a test below compares with these.
MOST = {"assembly": 10_575, "padding": 803}


def sample(vmlinux: Path, count: int, seed: int) -> np.ndarray:
    """Distinct addresses, uniformly over all executable sections."""
    sections = SymbolIndex.open(str(vmlinux)).sections()
    sizes = np.array([size for _, _, size in sections], dtype=np.uint64)
    starts = np.array([start for _, start, _ in sections], dtype=np.uint64)
    ends = np.cumsum(sizes)
    random = np.random.default_rng(seed)
    at = np.sort(random.choice(int(ends[-1]), count, replace=False).astype(np.uint64))
    section = np.searchsorted(ends, at, side="right")
    return starts[section] + (at - (ends[section] - sizes[section]))


def built_in(vmlinux: Path) -> str:
    """The folder that the kernel was built in, which llvm-symbolizer puts before file names."""
    with vmlinux.open("rb") as file:
        unit = next(ELFFile(file).get_dwarf_info().iter_CUs())
        folder: bytes = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value
        return folder.decode()


def chains(vmlinux: Path, addresses: np.ndarray) -> Chains:
    result = symbolize(
        Places.of_code(addresses, np.zeros((len(addresses), 16), dtype=np.uint8)),
        KernelSymbols(vmlinux),
        Binaries(),
        None,
    )
    result.check()
    return result


def frames(result: Chains, index: int) -> list[Frame]:
    return [(name, inlined, file, at) for name, _, inlined, file, at in frames_of(result, index)]


class Nm:
    """What nm(1) says of an address: the names of the nearest symbols that reach it."""

    def __init__(self, elf: Path) -> None:
        done = subprocess.run(["nm", "-nS", str(elf)], capture_output=True, text=True, check=True)
        self._symbols: dict[int, list[tuple[str, int]]] = {}
        for line in done.stdout.splitlines():
            fields = line.split()
            if len(fields) < 3 or fields[-2] in "UaA":
                continue
            size = int(fields[1], 16) if len(fields) == 4 else 0
            self._symbols.setdefault(int(fields[0], 16), []).append((fields[-1], size))
        self._starts = sorted(self._symbols)

    def covering(self, address: int) -> set[str]:
        last = bisect.bisect_right(self._starts, address) - 1
        # A few sized symbols hold labels or smaller symbols.
        for start in reversed(self._starts[max(0, last - 16) : last + 1]):
            names = {
                name
                for name, size in self._symbols[start]
                if address < start + size or (size == 0 and start == self._starts[last])
            }
            if names:
                return names
        return set()


def difference(own: list[Frame], other: list[Frame], symbol: str, covering: set[str]) -> str | None:
    """The documented class of a difference between profdiff's chain and llvm-symbolizer's."""
    if own == other:
        return None
    nameless = len(other) == 1 and other[0][0] == ""
    if nameless and not own and not covering:
        return "padding"
    if nameless and own == [(symbol, False, *other[0][2:])] and symbol in covering:
        return "assembly"
    return "undocumented"


@pytest.mark.parametrize("release", RELEASES)
def test_chains_equal_llvm_symbolizers(
    release: str, fixture_vmlinux: Callable[[str], Path]
) -> None:
    need_program("llvm-symbolizer", "llvm")
    vmlinux = fixture_vmlinux(release)
    addresses = sample(vmlinux, ADDRESSES, SEED)
    folder = built_in(vmlinux)
    result = chains(vmlinux, addresses)
    nm = Nm(vmlinux)
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(
            lambda half: llvm_chains(vmlinux, half, folder), np.array_split(addresses, 2)
        )
        others = [chain for half in halves for chain in half]
    counts: Counter[str] = Counter()
    undocumented = []
    for i, other in enumerate(others):
        own = frames(result, i)
        symbol = result.strings[result.symbol[i]]
        kind = difference(own, other, symbol, nm.covering(int(addresses[i])))
        if kind:
            counts[kind] += 1
        if kind == "undocumented":
            undocumented.append((hex(addresses[i]), own, other))
    assert not undocumented, undocumented[:5]
    for kind, most in MOST.items():
        assert counts[kind] <= most, (kind, counts)
    assert ADDRESSES - counts.total() >= COVERED


@pytest.mark.parametrize("release", RELEASES)
def test_symbols_are_nms(release: str, fixture_vmlinux: Callable[[str], Path]) -> None:
    vmlinux = fixture_vmlinux(release)
    addresses = sample(vmlinux, 5_000, SEED + 1)
    result, nm = chains(vmlinux, addresses), Nm(vmlinux)
    for i, address in enumerate(addresses):
        symbol, covering = result.strings[result.symbol[i]], nm.covering(int(address))
        assert symbol in covering or (not symbol and not covering), hex(address)


def test_chains_equal_pyelftools(fixture_vmlinux: Callable[[str], Path]) -> None:
    """A second oracle that shares no code with the first: whole units, read in Python."""
    vmlinux = fixture_vmlinux("v6.18.15")
    wanted = {"mm/mprotect.c", "lib/glob.c", "kernel/sys.c", "mm/mmap.c", "fs/open.c"}
    with vmlinux.open("rb") as file:
        spans = pyelftools_oracle.spans(ELFFile(file), wanted)
    random = np.random.default_rng(SEED)
    addresses = np.unique(
        np.concatenate(
            [
                random.integers(low, high, 400, dtype=np.uint64)
                for unit in spans
                for low, high in unit.functions
            ]
        )
    )
    result = chains(vmlinux, addresses)
    compared = 0
    for i, address in enumerate(addresses):
        others = [chain for unit in spans if (chain := unit.chain(int(address)))]
        assert len(others) == 1, hex(address)
        own = [(name, inlined) for name, inlined, _, _ in frames(result, i)]
        calls = [(file, at) for _, _, file, at in frames(result, i)[:-1]]
        assert own == [(frame.name, frame.inlined) for frame in others[0]], hex(address)
        assert calls == [(frame.call_file, frame.call_line) for frame in others[0][1:]]
        compared += 1
    assert compared > 1_000


def test_limits_are_the_documented_ones() -> None:
    document = Path(__file__).with_name("differences.md").read_text()
    for kind, most in MOST.items():
        assert f"| {kind} | {most:,} |" in document
