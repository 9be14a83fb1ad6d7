"""The exact collector's counts file, and what a report's first steps make of it."""

from pathlib import Path
from random import Random

import numpy as np
from counts_bytes import counts_bytes

from fuzz.mutation import integer
from fuzz.target import Target
from profdiff.collectors.exact.context import Entries, own_context
from profdiff.collectors.exact.counts import Counts

_NONE = 0xFFFF_FFFF
_KERNEL = 0xFFFF_FFFF_8100_0000
_ENTRIES = Entries.of(
    [("kthread", _KERNEL + 16, _KERNEL + 32), ("nmi", _KERNEL + 40, _KERNEL + 64)]
)


def seeds() -> list[bytes]:
    """Small ones, with more and more tables."""
    places = [(0x40_1000 + 4 * n, n + 1, b"\x90\x90") for n in range(30)]
    places += [(0xFFFF_FFFF_8100_0000 + 4 * n, 5, b"") for n in range(30)]
    nodes = [(_NONE, _NONE, _NONE, 0, 0)]
    nodes += [(n // 2, n % 60, (n + 7) % 60, 0, n) for n in range(25)]
    rows = [(n % 26, n, places[n][1]) for n in range(60)]
    # The kernel patched its text: two instructions at each of its addresses.
    patched = places[:30] + [
        (address, n, code) for address, n, _ in places[30:45] for code in (b"\x90", b"\xeb\x05")
    ]
    repeated, branches = [(9, 10**6)], [(n, n % 5, 1) for n in range(4, 40, 3)]
    idle = (10**7, 4000, [5000, 7000], [(n, 10 * n, n) for n in range(26)])
    return [
        counts_bytes(places),
        counts_bytes(places, nodes, rows),
        counts_bytes(patched, nodes, rows, [(n, 100 * n) for n in range(3, 45, 3)]),
        counts_bytes(patched, nodes, rows, repeated, branches),
        counts_bytes(patched, nodes, rows, repeated, branches, idle),
        counts_bytes([]),
    ]


def _number(random: Random, data: bytes) -> bytes:
    """A number of four bytes where the format has numbers."""
    at = 4 * random.randrange(max(len(data) // 4, 1))
    return data[:at] + integer(random, 4).to_bytes(4, "little") + data[at + 4 :]


def _read(data: bytes, folder: Path) -> None:
    path = folder / "counts.bin"
    path.write_bytes(data)
    counts = Counts.load(path)
    assert len(counts.address) == len(counts.count) == len(counts.code) == len(counts.executed)
    assert counts.in_kernel.sum() + (~counts.in_kernel).sum() == len(counts.address)
    assert (counts.each_iteration >= counts.count).all()
    if counts.taken is not None:
        assert counts.untold is not None
        assert min(counts.taken.min(initial=0), counts.untold.min(initial=0)) >= 0
        assert (counts.taken + counts.untold <= counts.count).all()
    if counts.clock is not None:
        assert max(counts.clock.idle, *counts.clock.vcpus, 0) <= counts.clock.advanced
    if counts.calls:
        if counts.calls.idle:
            assert counts.clock
            assert counts.calls.idle.time.sum() <= sum(counts.clock.vcpus)
        counts.calls.unequal(counts.count)
        counts.calls.placed(np.arange(len(counts.address)))
    if told := own_context(counts, _ENTRIES):
        own, beside = told
        assert own.calls
        assert own.calls.unequal(own.count) == 0
        assert own.count.min(initial=0) >= 0
        assert int(own.count.sum()) + beside == counts.count.sum()


TARGETS = (Target("counts", seeds, _read, cases=3000, mutations=[_number], words=[b"PDCOUNTS"]),)
