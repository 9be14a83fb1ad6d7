"""Independent symbolizers, and how their answers become comparable with profdiff's."""

import bisect
import json
import posixpath
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray
from support import frames_of

from profdiff.symbolization._native import SymbolIndex
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.symbolizer import symbolize

Frame = tuple[str, bool, str, int]
"""Function, inlined, file relative to the source tree, line."""


def llvm_chains(elf: Path, addresses: NDArray[np.uint64], folder: str) -> list[list[Frame]]:
    """llvm-symbolizer's chains, outermost first; unknown names and files are empty."""
    arguments = ["--output-style=JSON", "--inlines", "--functions=short", "--no-demangle"]
    done = subprocess.run(
        ["llvm-symbolizer", f"--obj={elf}", *arguments],
        input="".join(f"{address:#x}\n" for address in addresses),
        capture_output=True,
        text=True,
        check=True,
    )
    chains = []
    for line in done.stdout.splitlines():
        if not line:
            continue
        frames = [
            (frame["FunctionName"], False, tree_name(frame["FileName"], folder), frame["Line"])
            for frame in reversed(json.loads(line)["Symbol"])
        ]
        chains.append([(name, i > 0, file, at) for i, (name, _, file, at) in enumerate(frames)])
    assert len(chains) == len(addresses)
    return chains


def tree_name(path: str, folder: str) -> str:
    """A file's name relative to the folder that the kernel was compiled in."""
    if not path:
        return ""
    path = posixpath.normpath(path)
    return path.removeprefix(folder.rstrip("/") + "/")


def llvm_halves(elf: Path, addresses: NDArray[np.uint64], folder: str) -> list[list[Frame]]:
    """The same, by two processes side by side."""
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(lambda half: llvm_chains(elf, half, folder), np.array_split(addresses, 2))
        return [chain for half in halves for chain in half]


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
            # Mapping symbols of arm64 ($x, $d) say what is code and what is data.
            if len(fields) < 3 or fields[-2] in "UaA" or fields[-1].startswith("$"):
                continue
            size = int(fields[1], 16) if len(fields) == 4 else 0
            self._symbols.setdefault(int(fields[0], 16), []).append((fields[-1], size))
        self._starts = sorted(self._symbols)
        self._sections = _sections(elf)

    def covering(self, address: int) -> set[str]:
        last = bisect.bisect_right(self._starts, address) - 1
        # A few sized symbols hold labels or smaller symbols.
        for start in reversed(self._starts[max(0, last - 16) : last + 1]):
            names = {
                name
                for name, size in self._symbols[start]
                if address < start + size
                or (size == 0 and start == self._starts[last] and self._together(start, address))
            }
            if names:
                return names
        return set()

    def around(self, address: int) -> set[str]:
        """Names of all symbols with a size that reach it, also of those that hold smaller ones."""
        last = bisect.bisect_right(self._starts, address)
        nearest = self._starts[max(0, last - 16) : last]
        pairs = [(start, pair) for start in nearest for pair in self._symbols[start]]
        return {name for start, (name, size) in pairs if address < start + size}

    def _together(self, start: int, address: int) -> bool:
        """Whether a label at ``start`` can reach ``address``: it does not leave its section."""
        section = bisect.bisect_right(self._sections, (start, 2**64)) - 1
        return section >= 0 and address < self._sections[section][1]


@cache
def nm_of(elf: Path) -> Nm:
    """The same for all tests of a process."""
    return Nm(elf)


def _sections(elf: Path) -> list[tuple[int, int]]:
    """First address and first one past the end of each section in memory, by readelf."""
    argv = ["readelf", "-SW", str(elf)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    rows = re.findall(r"^ *\[ *\d+\] \S+ +\S+ +(\w{16}) \w+ (\w+) \w+ +\w*A\w* ", done.stdout, re.M)
    return sorted((int(start, 16), int(start, 16) + int(size, 16)) for start, size in rows)


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
