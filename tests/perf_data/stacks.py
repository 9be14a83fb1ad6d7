"""The stacks of a perf.data file by physical functions: ours, and perf script's."""

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from profdiff.symbolization._native import PerfData
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import Places

UNKNOWN = "[unknown]"
# A frame: the ELF symbol that covers it, and how far into it perf's address is.
Frame = tuple[str, int]
Stack = tuple[str, tuple[str, ...]]


def own_stacks(data: PerfData, chains: Chains) -> Counter[Stack]:
    """Samples by thread name and symbols, root first, of all events."""
    places = np.arange(len(data.place_address), dtype=np.uint32)
    offsets = np.arange(len(places) + 1, dtype=np.uint32)
    first = len(places)
    tree = data.expand(offsets, places, np.zeros(len(places), np.bool_), first)
    # Without the versions that some symbol tables have in their names.
    symbols = [chains.strings[row].partition("@")[0] or UNKNOWN for row in chains.symbol]
    found: Counter[Stack] = Counter()
    for stack, samples in zip(tree.entry_stack.tolist(), data.entry_samples.tolist(), strict=True):
        frames: list[str] = []
        at = stack
        while tree.parent[at] >= 0:
            frames.append(symbols[tree.function[at]])
            at = int(tree.parent[at])
        name = data.threads[tree.function[at] - first]
        found[name, tuple(reversed(frames))] += samples
    return found


def perf_stacks(file: Path, *options: str | Path) -> list[tuple[str, list[Frame]]]:
    """Each sample of perf script: its thread's name, and its frames, root first."""
    command = ["perf", "script", "-i", file, *options, "--no-inline"]
    command += ["-F", "comm,tid,time,event,ip,sym,symoff"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    samples: list[tuple[str, list[Frame]]] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        if not lines:
            continue
        head = re.match(r"\s*(.*?)\s+\d+\s+[\d.]+:\s+\S+:", lines[0])
        assert head, lines[0]
        frames = [_frame(line) for line in lines[1:]]
        samples.append((head[1], frames[::-1]))
    return samples


def _frame(line: str) -> Frame:
    _, _, symbol = line.strip().partition(" ")
    name, _, offset = symbol.rpartition("+0x")
    # perf makes names for entries of the PLT, which have no symbol, and shows symbol versions.
    # Where it does not, it stretches _init, which stands before them.
    if not name or name.endswith("@plt") or name == "_init":
        return UNKNOWN, 1
    return name.partition("@")[0], int(offset, 16)


Addresses = dict[str, set[int]]


def matches(own: tuple[str, ...], frames: Sequence[Frame], addresses: Addresses) -> bool:
    """Whether our symbols are perf's: the same, or another name of the same code.

    Two differences are meant. Where symbols nest, perf takes the outer one or the inner, profdiff
    the one that begins nearest before the address. And perf looks a caller up where it goes on:
    after a call that does not return that is the next function, at offset 0, where profdiff looks
    one byte before.
    """
    if len(own) != len(frames):
        return False
    for position, (mine, (name, offset)) in enumerate(zip(own, frames, strict=True)):
        # A frame that perf cannot name may be known here, not the other way round.
        if name in (mine, UNKNOWN):
            continue
        nested = any(
            start <= inner <= start + offset
            for start in addresses.get(name, ())
            for inner in addresses.get(mine, ())
        )
        innermost = position == len(frames) - 1
        if not nested and (innermost or offset != 0):
            return False
    return True


def assert_equal_stacks(
    own: Counter[Stack],
    samples: list[tuple[str, list[Frame]]],
    addresses: Addresses,
    corrupt: int,
) -> None:
    """Each sample of perf is one of ours, and none is left over.

    Of ``corrupt`` call chains perf shows nothing, where profdiff keeps what is sound.
    """
    left = Counter(own)
    unequal: Counter[tuple[str, tuple[Frame, ...]]] = Counter()
    for name, frames in samples:
        stack = (name, tuple(symbol for symbol, _ in frames))
        if not frames:
            corrupt -= 1
        elif left[stack] > 0:
            left[stack] -= 1
        else:
            unequal[name, tuple(frames)] += 1
    # Few distinct stacks are left: those in which a symbol has another name. One of ours can
    # match several of perf's, so samples flow from perf's stacks to ours.
    left = +left
    mine = list(left)
    of_shape: dict[tuple[str, int], list[int]] = {}
    for index, (name, symbols) in enumerate(mine):
        of_shape.setdefault((name, len(symbols)), []).append(index)
    source, sink = len(mine) + len(unequal), len(mine) + len(unequal) + 1
    edges = [(index, sink, count) for index, count in enumerate(left.values())]
    for row, ((name, theirs), count) in enumerate(unequal.items(), len(mine)):
        near = of_shape.get((name, len(theirs)), [])
        alike = [index for index in near if matches(mine[index][1], theirs, addresses)]
        ours = [mine[index][1] for index in near]
        assert alike, f"perf has a stack that we have not: {name} {theirs}; ours: {ours}"
        edges.append((source, row, count))
        edges += [(row, index, count) for index in alike]
    rows, columns, counts = np.array(edges or [(source, sink, 0)], np.int32).T
    graph = csr_array((counts, (rows, columns)), shape=(sink + 1, sink + 1))
    paired = int(maximum_flow(graph, source, sink).flow_value)
    missing = unequal.total() - paired
    assert missing == 0, f"perf has {missing} samples more than we have of {unequal}; ours: {left}"
    alone = left.total() - paired
    discarded = sum(1 for _, frames in samples if not frames)
    assert corrupt >= 0, f"perf shows nothing of {discarded} samples"
    assert alone == discarded, f"ours alone, {alone} of: {left.most_common(3)}"


def kernel_share(data: PerfData, chains: Chains) -> float:
    """The part of the kernel's places that have a symbol."""
    kernel = Places.of_samples(data).in_kernel
    return float((chains.symbol[kernel] != 0).mean()) if kernel.any() else 1.0


def symbol_addresses(elf_files: list[Path]) -> Addresses:
    """Where each symbol begins, in any of the files (nm)."""
    addresses: Addresses = {}
    for file in elf_files:
        for options in ([], ["-D"]):
            command = ["nm", *options, file]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            _add(addresses, result.stdout)
    return addresses


def kallsyms_addresses(text: bytes) -> Addresses:
    """Where each symbol of /proc/kallsyms begins."""
    addresses: Addresses = {}
    _add(addresses, text.decode())
    return addresses


def _add(addresses: Addresses, listing: str) -> None:
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 3:
            addresses.setdefault(words[2].partition("@")[0], set()).add(int(words[0], 16))
