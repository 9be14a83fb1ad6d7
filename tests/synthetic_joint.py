"""Small made-up recordings over several architectures, or compilers: a session on disk for each,
with what exact recordings leave at every point of a sweep, and without a guest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synthetic import Row, frame, manifest
from synthetic_experiment import ICOUNT
from synthetic_session import counts_file, resolved_rows

from profdiff.session import manifest as m
from profdiff.session.held import ARCHITECTURE, PartKind
from profdiff.session.parts import Parts
from profdiff.session.session import Session

# By label: rows whose counts are by point.
Kernels = Mapping[str, Sequence[Row]]
POINTS = (m.Point({"folio_kib": "4"}, 1, 1000), m.Point({"folio_kib": "64"}, 1, 1000))


def part(
    folder: Path,
    kernels: Kernels,
    points: Sequence[m.Point] = POINTS,
    machine: str = "x86_64",
    code: bytes = b"",
) -> Session:
    """A session of one exact run of each kernel at each point. ``code``: what was seen of each
    instruction."""
    described = manifest(list(kernels))
    session = Session.create(folder, described)
    (folder / "symbols").mkdir()
    qemu = m.replace(ICOUNT, plugin_api=1, architecture=machine)
    known = []
    runs: list[m.Run] = []
    for kernel in described.kernels:
        rows, resolved = resolved_rows(kernels[kernel.label])
        resolved.save(folder / f"symbols/{kernel.label}.npz")
        known.append(m.replace(kernel, symbols=f"symbols/{kernel.label}.npz"))
        for point in range(len(points)):
            counted = [row[3][point] for row in rows]
            pairs = zip(resolved.address.tolist(), counted, strict=True)
            name = f"{kernel.label}-exact-p{point}-1"
            place = folder / "runs" / name
            place.mkdir(parents=True)
            codes = dict.fromkeys(resolved.address.tolist(), code) if code else None
            (place / "counts").write_bytes(counts_file([one for one in pairs if one[1]], codes))
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
    kind: PartKind = ARCHITECTURE,
) -> Parts:
    """A folder of parts, each with all points."""
    kernels = parts or (example() if kind is ARCHITECTURE else by_compiler())
    command = ["profdiff", *kind.made_by.split(), ",".join(kernels)]
    made = Parts.create(folder, list(kernels), command, kind)
    for name, one in kernels.items():
        known = {"arm64": "aarch64"} if kind is ARCHITECTURE else dict.fromkeys(kernels, "x86_64")
        part(made.part(name), one, points, machine=known.get(name, name))
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


def by_compiler() -> dict[str, Kernels]:
    """A change of the algorithm (``change_pte_range`` and what it calls), one of gcc-12's code
    alone (``flush``), one that goes two ways (``walk``), one of two compilers (``note``), and
    nothing (``same``). Under gcc-14, ``flush`` differs by less than a tenth of that."""
    return {
        "gcc-12": {
            "base": _rows(change_pte_range=150, flush=40, walk=10, note=5, same=20),
            "new": _rows(change_pte_range=200, commit=120, flush=62, walk=12, note=6, same=20),
        },
        "gcc-14": {
            "base": _rows(change_pte_range=140, flush=40, walk=11, note=5, same=20),
            "new": _rows(change_pte_range=180, commit=110, flush=41, walk=8, note=6, same=20),
        },
        "clang-19": {
            "base": _rows(change_pte_range=160, flush=38, walk=9, note=7, same=22),
            "new": _rows(change_pte_range=220, commit=100, flush=38, walk=9, note=7, same=22),
        },
    }


def _rows(**counts: int) -> list[Row]:
    """A thousand of each at both points."""
    return [_row(name, 1000 * count, 1000 * count) for name, count in counts.items()]


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, counts)


def _user(name: str, *counts: int) -> Row:
    return ([frame(name, owner="work", file="work.c")], name, False, counts)
