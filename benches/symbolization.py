"""Time symbolization of 10,000 scattered addresses, against its limits and against peers.

Usage: python benches/symbolization.py [--kernel ../shared/kernels/v6.18.15 | --vmlinux FILE]
[--runs 5]

--vmlinux is for a large one, not packed: Debian's of 409 MB, which `profdiff record` leaves among
the kernels of its cache.

Prints medians, and exits with 1 when a limit is missed. A call is `SymbolIndex.open` and `resolve`
in this process; the process row is a fresh Python that does the same, imports included.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np

from profdiff.symbolization._native import SymbolIndex

COLD_LIMIT = 0.5
LARGE_COLD_LIMIT = 0.25
WARM_LIMIT = 0.05
ADDRESSES = 10_000
FEW = 1_000

PROCESS = """
import sys
import numpy as np
from profdiff.symbolization._native import SymbolIndex
SymbolIndex.open(sys.argv[1], sys.argv[2]).resolve(np.load(sys.argv[3]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--kernel", type=Path, default=root / "../shared/kernels/v6.18.15")
    parser.add_argument("--vmlinux", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.vmlinux:
        with tempfile.TemporaryDirectory() as folder:
            return measure(options.vmlinux, None, LARGE_COLD_LIMIT, Path(folder), options.runs)
    packed = options.kernel / "vmlinux.zst"
    if not packed.exists():
        print(f"{packed} is absent: give a folder with a vmlinux.zst by --kernel")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "vmlinux"
        subprocess.run(["zstd", "-q", "-d", "--long=27", str(packed), "-o", str(plain)], check=True)
        return measure(plain, packed, COLD_LIMIT, Path(folder), options.runs)


def measure(plain: Path, packed: Path | None, cold_limit: float, folder: Path, runs: int) -> int:
    """Print the table; 1 if a limit is missed."""
    addresses = scattered(plain)
    np.save(folder / "addresses.npy", addresses)
    cache = folder / "cache"

    def call(elf: Path, kept: Path | None) -> None:
        SymbolIndex.open(str(elf), str(kept) if kept else None).resolve(addresses)

    def cold(elf: Path) -> float:
        for file in cache.glob("*"):
            file.unlink()
        return timed(lambda: call(elf, cache))

    def process() -> float:
        arguments = [str(plain), str(cache), str(folder / "addresses.npy")]
        return timed(lambda: run([sys.executable, "-c", PROCESS, *arguments], ""))

    def peer(command: list[str], count: int) -> float:
        some = addresses[:: len(addresses) // count]
        return timed(lambda: run(command, "".join(f"{address:#x}\n" for address in some)))

    rows: list[tuple[str, int, Callable[[], float], float | None, int]] = [
        ("cold call, plain ELF, index written", ADDRESSES, lambda: cold(plain), cold_limit, runs),
        ("warm call", ADDRESSES, lambda: timed(lambda: call(plain, cache)), WARM_LIMIT, runs),
        ("warm process, Python's start included", ADDRESSES, process, None, runs),
    ]
    if packed:
        name = "cold call, vmlinux.zst, index written"
        rows.insert(1, (name, ADDRESSES, lambda: cold(packed), None, runs))
    llvm = ["llvm-symbolizer", f"--obj={plain}", "--inlines"]
    binutils = ["addr2line", "-i", "-f", "-e", str(plain)]
    for command, count in ((llvm, ADDRESSES), (binutils, FEW)):
        if which(command[0]):
            peers = (command, count)
            rows.append(
                (command[0], count, lambda peers=peers: peer(*peers), None, min(runs, 3))  # type: ignore[misc]
            )
    print(f"{'':40} {'addresses':>9} {'median':>9} {'limit':>7} {'per address, cold call = 1':>27}")
    call(plain, cache)
    reference = 0.0
    missed = 0
    for name, count, once, limit, times in rows:
        if name == "warm call":
            call(plain, cache)
        median = statistics.median(once() for _ in range(times))
        reference = reference or median / count
        verdict = "" if limit is None else f"{limit:.2f} s"
        print(
            f"{name:40} {count:9,} {median:7.3f} s {verdict:>7} {median / count / reference:27.2f}"
        )
        if limit is not None and median > limit:
            missed = 1
            print(f"  MISSED: {median:.3f} s is more than {limit} s")
    return missed


def scattered(elf: Path) -> np.ndarray:
    """Addresses uniformly over .text, seeded."""
    start, size = next(
        (s, z) for name, s, z in SymbolIndex.open(str(elf)).sections() if name == ".text"
    )
    random = np.random.default_rng(1)
    return np.uint64(start) + random.integers(0, size, ADDRESSES, dtype=np.uint64)


def run(command: list[str], text: str) -> None:
    subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
