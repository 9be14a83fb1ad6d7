"""The file of shared lines, and what a report makes of it."""

from pathlib import Path
from random import Random

import made_sharing as made
from made_accesses import LOAD, STORE, Layout, Site, accesses, row
from made_sharing import Hold, MadeLine, On
from synthetic import KERNEL_BASE, chains, manifest

from fuzz.mutation import integer
from fuzz.target import Target
from profdiff.collectors.sharing.lines import SharedLines
from profdiff.evidence.sharing import SharingTable
from profdiff.forms import text
from profdiff.profile.sharing.runs import KernelLines, rows_of
from profdiff.shapes.selected import selected
from profdiff.topics.sharing.measure import Lines
from profdiff.topics.sharing.shapes import of_lines

_BOTH = frozenset({LOAD, STORE})
_COUNT = Site("f_count.counter", 1, "fget", does=_BOTH, type="file", nested=["atomic64_t:counter"])
_SITES = [
    *(_COUNT, Site("f_mode", 1, "vfs_read", type="file", offset=12)),
    Site("", 1, "free", does=_BOTH).hidden(),
    Site("", 1, "tick", does=_BOTH, kind="global", type="long", symbol="jiffies"),
]
_LAYOUTS: dict[str, Layout] = {"file": (184, {"f_count.counter": (0, 8), "f_mode": (12, 4)})}
_VARIABLES = {"jiffies": (".data", KERNEL_BASE + 0x100_0000, 8)}
_HEADER = 24 + 9 * 8


def _lines() -> list[MadeLine]:
    every = [
        On(site, vcpu, 8 * n, store=n != 1) for n, site in enumerate(_SITES) for vcpu in (0, 1)
    ]
    holds = [Hold(_SITES[0], _SITES[3], _SITES[2]), Hold(_SITES[3], _SITES[0], offset=24)]
    return [
        MadeLine(0xFFFF_8880_0000_0000, every, holds=holds),
        MadeLine(0, every, lines=90),
        MadeLine(KERNEL_BASE + 0x100_0000, every[-2:]),
        MadeLine(0x7F00_0000_0000, every[:3], user=True),
    ]


def _seeds() -> list[bytes]:
    lines = _lines()
    return [
        made.encoded(lines),
        made.encoded(lines, vcpus=8, line_size=128),
        made.encoded(lines, ops=0),
    ]


def _number(random: Random, data: bytes) -> bytes:
    """Another number in some field of a row."""
    if len(data) < _HEADER + 8:
        return data
    at = random.randrange(_HEADER, len(data) - 7)
    size = random.choice((1, 4, 8))
    value = integer(random, size).to_bytes(size, "little")
    return data[:at] + value + data[at + size :]


def _read(data: bytes, folder: Path) -> str:
    """As two kernels: what changed is looked at, too."""
    (folder / "file").write_bytes(data)
    lines = SharedLines.load(folder / "file")
    resolved = chains([row(site)[0] for site in _SITES])
    if len(lines.address) != len(_SITES):
        return ""
    known = accesses(_SITES, _LAYOUTS, _VARIABLES)
    functions, rows = rows_of(lines, known, resolved)
    kernels = [
        KernelLines(one, lines, 1, "", functions, rows) for one in manifest(["base", "new"]).kernels
    ]
    found = Lines(SharingTable(kernels))
    assert found.total.sums[1].transfers == int(lines.transfers.sum())
    return text.render(selected(of_lines(found), 20), width=100)


TARGETS = (Target("shared-lines", _seeds, _read, 1500, mutations=(_number,), words=[b"PDSHARED"]),)
