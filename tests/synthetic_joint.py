"""Small made-up recordings over several architectures: a session on disk for each, with what exact
recordings leave at every point of a sweep, and without a guest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from synthetic import Row, chains, frame, manifest
from synthetic_experiment import ICOUNT
from synthetic_session import counts_file

from profdiff.session import manifest as m
from profdiff.session.architectures import Architectures
from profdiff.session.folder import Session

# By label: rows whose counts are by point.
Kernels = Mapping[str, Sequence[Row]]
POINTS = (m.Point({"folio_kib": "4"}, 1, 1000), m.Point({"folio_kib": "64"}, 1, 1000))


def part(
    folder: Path, kernels: Kernels, points: Sequence[m.Point] = POINTS, machine: str = "x86_64"
) -> Session:
    """A session of one exact run of each kernel at each point."""
    described = manifest(list(kernels))
    session = Session.create(folder, described)
    (folder / "symbols").mkdir()
    qemu = m.replace(ICOUNT, plugin_api=1, architecture=machine)
    known = []
    runs: list[m.Run] = []
    for kernel in described.kernels:
        unsorted = chains(kernels[kernel.label])
        order = np.argsort(unsorted.address)
        rows = [kernels[kernel.label][at] for at in order]
        resolved = replace(chains(rows), address=unsorted.address[order])
        resolved.save(folder / f"symbols/{kernel.label}.npz")
        known.append(m.replace(kernel, symbols=f"symbols/{kernel.label}.npz"))
        for point in range(len(points)):
            counted = [row[3][point] for row in rows]
            pairs = zip(resolved.address.tolist(), counted, strict=True)
            name = f"{kernel.label}-exact-p{point}-1"
            place = folder / "runs" / name
            place.mkdir(parents=True)
            (place / "counts").write_bytes(counts_file([one for one in pairs if one[1]]))
            total = m.Measured("instructions", "instructions", "lower", True, [float(sum(counted))])
            runs.append(
                m.replace(
                    described.runs[0],
                    id=name,
                    kernel=kernel.label,
                    point=point,
                    qemu=qemu,
                    files={"counts": f"runs/{name}/counts"},
                    measured=[total],
                )
            )
    session.save(m.replace(described, runs=runs, kernels=known, points=list(points)))
    return session


def joint(
    folder: Path,
    parts: Mapping[str, Kernels] | None = None,
    points: Sequence[m.Point] = POINTS,
) -> Architectures:
    """A folder of parts, each with all points."""
    kernels = parts or example()
    command = ["profdiff", "record", "--arch", ",".join(kernels)]
    made = Architectures.create(folder, list(kernels), command)
    for name, one in kernels.items():
        part(made.part(name), one, points, machine={"arm64": "aarch64"}.get(name, name))
    return made


def example() -> dict[str, Kernels]:
    """In the manner of mprotect's batching: small folios cost more, on one architecture far more;
    large ones less. ``flush`` is of x86-64 alone, ``contpte`` of arm64."""
    return {
        "x86_64": {
            "base": [
                _row("change_pte_range", 150_000, 150_000),
                _row("flush", 40_000, 40_000),
                _user("main", 8_000, 8_000),
            ],
            "new": [
                _row("change_pte_range", 200_000, 110_000),
                _row("prot_commit_flush_ptes", 120_000, 20_000),
                _row("flush", 62_000, 27_000),
                _user("main", 8_000, 8_000),
            ],
        },
        "arm64": {
            "base": [
                _row("change_pte_range", 150_000, 200_000),
                _row("contpte", 45_000, 77_000),
                _user("main", 8_000, 8_000),
            ],
            "new": [
                _row("change_pte_range", 170_000, 70_000),
                _row("prot_commit_flush_ptes", 70_000, 20_000),
                _row("contpte", 22_000, 19_000),
                _user("main", 8_000, 8_000),
            ],
        },
    }


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, counts)


def _user(name: str, *counts: int) -> Row:
    return ([frame(name, owner="work", file="work.c")], name, False, counts)
