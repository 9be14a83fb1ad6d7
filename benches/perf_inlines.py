"""What perf shows of inlined kernel functions: the perf of several suites of Debian, on a recording
of the fixture kernel v6.18.15.

    python benches/perf_inlines.py [--suites trixie,trixie-backports] [--perf PROGRAM]

Each perf is unpacked into the cache with the libraries of Debian 13, once. Call chains are compared
with profdiff's, which looks a caller up at its call and not behind it. Exit status 1 if what
docs/perf.md says of these versions is not what they show: below 7.0 no inlined kernel function;
from 7.0 on in call chains, without a count of its own, and nowhere in `diff` and `script -G`.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache import cache_folder
from profdiff.collectors.kernels.apt import Apt
from profdiff.symbolization._native import SymbolIndex

SHARED = Path(__file__).resolve().parents[2] / "shared"
KERNELS = ("v6.12.107", "v6.18.15")
FUNCTION = "commit_anon_folio_batch"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Where the kernel is: callers in user space have no debug ELF here.
_KERNEL = 1 << 63


def main() -> int:
    """Measure each perf, print a column for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", default="trixie,trixie-backports", help="Debian's, with commas")
    parser.add_argument("--perf", type=Path, action="append", default=[], help="a program as well")
    options = parser.parse_args()
    programs = [
        *options.perf,
        *(from_debian(suite) for suite in options.suites.split(",") if suite),
    ]
    with tempfile.TemporaryDirectory() as name:
        shown = [measure(program, Path(name)) for program in programs]
    for one in shown:
        print(one.text(), end="")
    return 0 if all(one.is_as_documented() for one in shown) else 1


@dataclass(frozen=True)
class Shown:
    """What one perf shows of the recording of v6.18.15; ``sites``: distinct callers in the kernel,
    and those with another chain than the call has; ``callers``: the same, counted in samples."""

    version: str
    inlined_frames: int
    function_frames: int
    rows: int
    names: int
    largest_self: float
    in_diff: int
    in_folded: int
    sites: tuple[int, int]
    callers: tuple[int, int]

    def text(self) -> str:
        """For a reader, a line for each fact."""
        lines = [
            ("script", f"{self.inlined_frames} inlined frames, {FUNCTION} {self.function_frames}"),
            ("report", f"{self.rows} rows of {self.names} inlined functions"),
            ("report", f"largest self of one: {self.largest_self:.2f}%"),
            ("diff", f"{self.in_diff} inlined functions"),
            ("script -G", f"{self.in_folded} inlined functions"),
        ]
        if self.inlined_frames:
            (sites, wrong), (frames, wrong_frames) = self.sites, self.callers
            share = f"{wrong_frames / frames:.1%} of {frames} callers' frames"
            lines.append(("script", f"{wrong} of {sites} call sites have another chain, {share}"))
        table = "".join(f"  perf {command:12}{what}\n" for command, what in lines)
        return f"perf {self.version}\n{table}"

    def is_as_documented(self) -> bool:
        """Whether docs/perf.md is right about this version."""
        expands = int(self.version.partition(".")[0]) >= 7
        nowhere = not self.in_diff and not self.in_folded and not self.largest_self
        return nowhere and (self.inlined_frames > 0) == (self.function_frames > 0) == expands


def from_debian(suite: str) -> Path:
    """A program that starts the perf of a suite, with Debian 13's libraries."""
    folder = cache_folder("perfs")
    own, libraries = folder / suite, folder / "trixie-libraries"
    if not own.is_dir():
        Apt((suite,)).unpack(
            f"perf from {suite}", Apt((suite,)).packages("linux-perf"), own, ["./usr/*"]
        )
    if not libraries.is_dir():
        apt = Apt(("trixie",))
        apt.unpack(
            "perf's libraries", apt.closure(["linux-perf"]), libraries, [f"./{_LIBRARIES}/*"]
        )
    where = libraries / _LIBRARIES
    program = folder / f"perf-{suite}"
    start = f"{where}/ld-linux-x86-64.so.2 --library-path {where} {own}/usr/bin/perf"
    program.write_text(f'#!/bin/sh\nexec {start} "$@"\n')
    program.chmod(0o755)
    return program


def measure(program: Path, folder: Path) -> Shown:
    """Run a perf on both recordings, with a home of its own, which has both kernels."""
    home = folder / program.name
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "DEBUGINFOD_URLS": ""}

    def perf(*words: str | Path) -> str:
        command = [program, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout

    recordings = [SHARED / f"perf-data/mprotect-{kernel}.perf.data" for kernel in KERNELS]
    debug = [unpacked(kernel, folder) for kernel in KERNELS]
    for elf in debug:
        perf("buildid-cache", "--add", elf)
    script = perf("script", "-i", recordings[1], "-k", debug[1], "--inline", "-F", "ip,sym")
    report = perf(
        *("report", "-i", recordings[1], "-k", debug[1], "--stdio", "--inline", "--children"),
        *("--call-graph", "none", "--percent-limit", "0", "--field-separator", ";"),
    )
    folded = perf("script", "-G", "-i", recordings[1], "-k", debug[1])
    rows = [line.split(";") for line in report.splitlines() if "(inlined)" in line]
    names = Counter(re.sub(r"^\[.\] ", "", row[-1].strip()) for row in rows)
    sites, callers = wrong_callers(script, SymbolIndex.open(str(debug[1])))
    return Shown(
        version=perf("--version").split()[-1],
        inlined_frames=script.count("(inlined)"),
        function_frames=len(re.findall(rf"\b{FUNCTION} ", script)),
        rows=sum(names.values()),
        names=len(names),
        largest_self=max((float(row[1].strip().rstrip("%")) for row in rows), default=0.0),
        in_diff=inlined_in(perf("diff", *recordings)),
        in_folded=inlined_in(folded),
        sites=sites,
        callers=callers,
    )


def inlined_in(text: str) -> int:
    """How often a text tells of inlining, or names the function that is only ever inlined."""
    return text.count("(inlined)") + text.count(FUNCTION)


def unpacked(kernel: str, folder: Path) -> Path:
    """The debug ELF of a fixture kernel."""
    elf = folder / f"vmlinux-{kernel}"
    if not elf.exists():
        packed = SHARED / "kernels" / kernel / "vmlinux.zst"
        subprocess.run(["zstd", "-dq", "--long=27", packed, "-o", elf], check=True)
    return elf


def wrong_callers(script: str, index: SymbolIndex) -> tuple[tuple[int, int], tuple[int, int]]:
    """Callers in the kernel, and those whose chain perf took from behind the call: as distinct
    addresses, and as frames of samples."""
    seen: Counter[int] = Counter()
    chains: dict[int, list[str]] = {}
    for sample in script.split("\n\n"):
        frames = [line.split() for line in sample.splitlines() if len(line.split()) > 1]
        found: dict[int, list[str]] = {}
        for at, name, *more in frames:
            inlined = found.setdefault(int(at, 16), [])
            if "(inlined)" in more:
                inlined.append(name)
        # The first is where the sample was taken.
        for address, chain in list(found.items())[1:]:
            if address >= _KERNEL:
                seen[address] += 1
                chains[address] = chain
    addresses = np.array(list(seen), np.uint64)
    at_the_call = inlined_chains(index, addresses - np.uint64(1))
    wrong = {
        address
        for address, right in zip(addresses.tolist(), at_the_call, strict=True)
        if chains[address] != right
    }
    return (len(seen), len(wrong)), (seen.total(), sum(seen[one] for one in wrong))


def inlined_chains(index: SymbolIndex, addresses: NDArray[np.uint64]) -> list[list[str]]:
    """The inlined functions at each address, innermost first."""
    found = index.resolve(addresses)
    names = [found.strings[row] for row in found.function_name[found.frame_function]]
    ends = found.chain_offsets.tolist()
    chains = [found.chain_frames[low:high][::-1] for low, high in itertools.pairwise(ends)]
    return [[names[row] for row in chain if found.frame_inlined[row]] for chain in chains]


if __name__ == "__main__":
    sys.exit(main())
