"""Kernels that are made up of lines which change hands: who accesses what in them."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made_accesses import Layout, Site, Variables, accesses, row
from msgspec.structs import replace
from synthetic import KERNEL_BASE, chains, manifest

from profdiff.collectors.sharing import lines as files
from profdiff.collectors.sharing.lines import SharedLines
from profdiff.evidence.sharing import SharingRow, SharingTable
from profdiff.profile.sharing.runs import KernelLines, rows_of
from profdiff.session import manifest as m
from profdiff.session.session import Session

OPS = 100
"""Of all vCPUs."""


class On(NamedTuple):
    """Accesses by one instruction and vCPU to bytes of a line."""

    site: Site
    vcpu: int
    offset: int
    store: bool = False
    size: int = 8
    count: int = OPS // 2
    misses: int = 0
    locked: bool = False
    repeated: bool = False


class Hold(NamedTuple):
    """What a vCPU executes from one store to a word of the line to another one. ``call``: of the
    function that the first is in."""

    taken: Site
    released: Site
    call: Site | None = None
    offset: int = 0
    times: int = OPS
    instructions: int = 10 * OPS


class MadeLine(NamedTuple):
    """A line with those accesses and ``holds``; ``lines``: how many it stands for, where they are
    summed; ``range``: of its misses in other orders, not known by default."""

    address: int
    on: Sequence[On]
    transfers: int = OPS
    read_fetches: int = 0
    write_fetches: int = 0
    upgrades: int = 0
    user: bool = False
    lines: int = 0
    range: tuple[int, int] = (1, 0)
    holds: Sequence[Hold] = ()


def sites(made: Sequence[MadeLine]) -> list[Site]:
    """All instructions, in order."""
    found: dict[object, Site] = {}
    for line in made:
        for site in (
            *(one.site for one in line.on),
            *(site for one in line.holds for site in (one.taken, one.released, one.call) if site),
        ):
            found.setdefault(_key(site), site)
    return list(found.values())


def _key(site: Site) -> object:
    return site._replace(
        alternatives=tuple(site.alternatives),
        nested=tuple(site.nested),
        origins=tuple(site.origins),
    )


def encoded(
    made: Sequence[MadeLine],
    *,
    vcpus: int = 2,
    ops: int = OPS,
    line_size: int = 64,
    instructions: int = 100 * OPS,
) -> bytes:
    """What the plugin writes."""
    known = {_key(site): number for number, site in enumerate(sites(made))}
    tables = {
        "vcpu": np.zeros(vcpus, files._VCPU),
        "place": np.zeros(len(known), files._PLACE),
        "line": np.zeros(len(made), files._LINE),
        "touch": np.zeros(0, files._TOUCH),
        "access": np.zeros(sum(len(line.on) for line in made), files._ACCESS),
        "hold": np.zeros(sum(len(line.holds) for line in made), files._HOLD),
    }
    tables["vcpu"]["instructions"] = instructions // vcpus
    tables["vcpu"]["ops"] = [ops // vcpus + (one < ops % vcpus) for one in range(vcpus)]
    tables["place"]["address"] = [KERNEL_BASE + 4 * number for number in known.values()]
    tables["place"]["code"] = np.void(bytes([2, 0x89, 0x07]) + bytes(13))
    at = hold = 0
    for number, line in enumerate(made):
        tables["line"][number] = (
            line.address,
            line.lines or 1,
            line.user | 2 * bool(line.lines),
            *(line.transfers, line.read_fetches, line.write_fetches, line.upgrades),
            *line.range,
            line.address if line.user else 0,
        )
        for one in line.on:
            flags = one.store | 2 * one.locked | 4 * one.repeated
            place = known[_key(one.site)]
            where = number, place, one.vcpu, one.offset, one.size, flags, 0
            tables["access"][at] = (*where, one.count, one.misses)
            at += 1
        for each in line.holds:
            taken, released = known[_key(each.taken)], known[_key(each.released)]
            call = files._NO_CALL if each.call is None else known[_key(each.call)]
            of = number, taken, released, call, each.offset, 0
            tables["hold"][hold] = (*of, each.times, each.instructions)
            hold += 1
    head = struct.pack("<8sIIII", b"PDSHARED", 3, 2, line_size, 1)
    head += struct.pack("<9Q", 1, 1, 0, *map(len, tables.values()))
    return head + b"".join(table.tobytes() for table in tables.values())


def kernel_lines(
    label: str,
    made: Sequence[MadeLine],
    folder: Path,
    layouts: Mapping[str, Layout] | None = None,
    variables: Variables | None = None,
    **more: int,
) -> KernelLines:
    """What is known of one kernel."""
    path = folder / f"{label}.bin"
    path.write_bytes(encoded(made, **more))
    lines = SharedLines.load(path)
    known = sites(made)
    resolved = chains([row(site)[0] for site in known])
    functions, rows = rows_of(lines, accesses(known, layouts or {}, variables), resolved)
    described = manifest([label]).kernels[0]
    return KernelLines(described, lines, 1, "", functions, rows)


def of_lines(
    lines: SharedLines,
    made: Sequence[MadeLine],
    layouts: Mapping[str, Layout] | None = None,
    variables: Variables | None = None,
) -> SharingTable:
    """The table of one kernel, of lines whose places are the instructions of ``made``."""
    known = sites(made)
    resolved = chains([row(site)[0] for site in known])
    functions, rows = rows_of(lines, accesses(known, layouts or {}, variables), resolved)
    described = manifest(["base"]).kernels[0]
    return SharingTable([KernelLines(described, lines, 1, "", functions, rows)])


def permuted(lines: SharedLines, order: Sequence[int]) -> SharedLines:
    """The same with the accesses in another order."""
    names = (
        *("access_line", "access_place", "access_vcpu", "access_offset", "access_size"),
        *("store", "locked", "repeated", "count", "misses"),
    )
    columns = {name: getattr(lines, name)[np.array(order, np.int64)] for name in names}
    return replace(lines, **columns)


def table(
    kernels: Mapping[str, Sequence[MadeLine]],
    folder: Path,
    layouts: Mapping[str, Layout] | None = None,
    variables: Variables | None = None,
    **more: int,
) -> SharingTable:
    """The table of kernels by label."""
    return SharingTable(
        [
            kernel_lines(label, made, folder, layouts, variables, **more)
            for label, made in kernels.items()
        ]
    )


def named(found: SharingTable) -> dict[str, SharingRow]:
    """Rows by what they are called, in short."""
    told = {}
    for one in found.rows():
        name = one.name
        owner = name.type or name.symbol or name.kind
        function = found.functions.functions[name.function].name if name.function >= 0 else ""
        told[".".join(filter(None, (owner, name.path, function)))] = one
    return told


def session(
    folder: Path,
    kernels: Mapping[str, Sequence[Sequence[MadeLine]]],
    layouts: Mapping[str, Layout] | None = None,
    variables: Variables | None = None,
    **more: int,
) -> Session:
    """A session on disk; of each kernel so many runs with the same instructions."""
    most = max(map(len, kernels.values()))
    described = manifest(list(kernels), runs=most)
    found = Session.create(folder, described)
    (folder / "symbols").mkdir()
    runs, known = [], []
    for kernel in described.kernels:
        own = sites(kernels[kernel.label][0])
        chains([row(site)[0] for site in own]).save(folder / f"symbols/{kernel.label}.npz")
        relative = f"symbols/{kernel.label}.accesses.npz"
        accesses(own, layouts or {}, variables).save(folder / relative)
        names = {"symbols": f"symbols/{kernel.label}.npz", "accesses": relative}
        known.append(m.replace(kernel, **names))
    for run in described.runs:
        recorded = kernels[run.kernel]
        if run.repetition <= len(recorded):
            place = folder / "runs" / run.id
            place.mkdir(parents=True)
            (place / "sharing.bin").write_bytes(encoded(recorded[run.repetition - 1], **more))
            of = {"sharing": f"runs/{run.id}/sharing.bin"}
            every = sum(one.transfers for one in recorded[run.repetition - 1])
            told = m.Measured("transfers", "lines per op", "lower", False, [every / OPS])
            more_of = {"collector": "sharing", "instructions": None, "measured": [told]}
            runs.append(m.replace(run, files=of, **more_of))
    points = [m.replace(one, cpus=2) for one in described.points]
    found.save(
        m.replace(described, runs=runs, kernels=known, points=points, collectors=["sharing"])
    )
    return Session.open(folder)
