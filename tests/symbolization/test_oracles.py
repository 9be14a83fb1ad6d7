"""Chains of the fixture kernels against llvm-symbolizer, nm and pyelftools.

differences.md explains each class of difference that is allowed here.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyelftools_oracle
import pytest
from elftools.elf.elffile import ELFFile
from extent import examples
from oracles import built_in, chains, difference, frames, llvm_halves, nm_of, sample
from support import need_program

from profdiff.symbolization._native import SymbolIndex

# pyelftools is asked of the one in the middle.
RELEASES = ["v6.12.107", pytest.param("v6.18.15", marks=pytest.mark.nightly), "v7.1.8"]
# Units that pyelftools reads, and a function of each.
UNITS = {
    "mm/mprotect.c": "do_mprotect_pkey",
    "lib/glob.c": "glob_match",
    "kernel/sys.c": "__x64_sys_times",
    "mm/mmap.c": "do_mmap",
    "fs/open.c": "vfs_open",
}
SEED = 20260
#: So many that more than COVERED of them lie in functions with debug information.
ADDRESSES = 32_000
COVERED = 20_000

#: The most that a class of difference may hold of the addresses of one kernel. Measured:
#: see differences.md, which a test below compares with these.
MOST = {"assembly": 10_575, "padding": 803}


@pytest.mark.parametrize("release", RELEASES)
def test_chains_equal_llvm_symbolizers(
    release: str, fixture_vmlinux: Callable[[str], Path]
) -> None:
    need_program("llvm-symbolizer", "llvm")
    vmlinux = fixture_vmlinux(release)
    addresses = sample(vmlinux, ADDRESSES, SEED)
    folder = built_in(vmlinux)
    result = chains(vmlinux, addresses)
    nm = nm_of(vmlinux)
    others = llvm_halves(vmlinux, addresses, folder)
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
    result, nm = chains(vmlinux, addresses), nm_of(vmlinux)
    for i, address in enumerate(addresses):
        symbol, covering = result.strings[result.symbol[i]], nm.covering(int(address))
        assert symbol in covering or (not symbol and not covering), hex(address)


def test_chains_equal_pyelftools(fixture_vmlinux: Callable[[str], Path]) -> None:
    """A second oracle that shares no code with the first: whole units, read in Python."""
    vmlinux = fixture_vmlinux("v6.18.15")
    index = SymbolIndex.open(str(vmlinux))
    with vmlinux.open("rb") as file:
        known = [index.symbol_address(name) for name in UNITS.values()]
        units = pyelftools_oracle.spans(ELFFile(file), filter(None, known))
    assert units.keys() == UNITS.keys()
    spans = units.values()
    random = np.random.default_rng(SEED)
    addresses = np.unique(
        np.concatenate(
            [
                random.integers(low, high, examples(400), dtype=np.uint64)
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
