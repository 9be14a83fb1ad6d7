"""Made-up suites on disk: sessions with measured totals and kept functions, without a guest, and
as large as one wants."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from synthetic_experiment import ICOUNT

from profdiff.profile.function_identity import Function
from profdiff.profile.kept_cells import fingerprint
from profdiff.profile.kept_functions import KeptFunctions, SelfCounts
from profdiff.profile.seat import KeptSeats
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

OPS = 100
SHOWN = {"vmlinux": True}
ABSENT = m.Failure("absent", "not there: io_uring_setup (ENOSYS)")


def large_suite(
    folder: Path, kernels: int, workloads: int, points: int = 1, functions: int = 300, seed: int = 1
) -> Suite:
    """``workloads`` × ``points`` cells of ``kernels``, one exact run each, with ``functions`` in
    each cell; each function changes on some kernels, and one kernel in 50 lacks what a cell in 20
    calls."""
    some = random.Random(seed)
    numbers = np.random.default_rng(seed)
    labels = [f"v{number:04}" for number in range(kernels)]
    known = [Function(f"function_{n}", "vmlinux", "mm/x.c", True) for n in range(4 * functions)]
    described = [SuiteWorkload(name=f"w{n:03}", tags=["mm"], op="call") for n in range(workloads)]
    suite = Suite.create(folder, "large", ["profdiff", "record", "--suite", "large"], described)
    for number, workload in enumerate(described):
        found: dict[int, SelfCounts] = {}
        totals: dict[int, Mapping[str, int]] = {}
        for point in range(points):
            rows = sorted(some.sample(range(len(known)), functions))
            lacking = {one for one in range(1, kernels) if number % 20 == 0 and one % 50 == 0}
            there = [one for one in range(kernels) if one not in lacking]
            counts = numbers.integers(1, 10_000, (functions, 1)) * OPS
            steps = numbers.random((functions, kernels)) < 3 / kernels
            growth = np.cumprod(1 + steps * numbers.normal(0, 0.2, steps.shape), axis=1)
            every = (counts * growth).astype(np.int64).clip(0)[:, there]
            own = [labels[one] for one in there]
            named = [known[row] for row in rows]
            # Some function of the cell is each change's seat.
            seat = numbers.integers(-1, functions, (len(own), 2))
            delta = np.stack([every.sum(axis=0) - every.sum(axis=0)[0]] * 2, axis=1)
            found[point] = SelfCounts(named, own, every, KeptSeats(own, named, seat, delta))
            totals[point] = dict(zip(own, every.sum(axis=0).tolist(), strict=True))
        session(suite.part(workload.name), labels, totals, found)
    return suite


def session(
    folder: Path,
    labels: Sequence[str],
    totals: Mapping[int, Mapping[str, int]],
    found: Mapping[int, SelfCounts],
    parameter: str = "size",
) -> Session:
    """One workload: an exact run of each kernel at each point, which counted ``totals``; where
    there is none, the kernel lacks what it calls."""
    runs = [_run(label, point, totals[point].get(label)) for point in totals for label in labels]
    points = [m.Point({parameter: str(4 << point)}, 1, OPS) for point in totals]
    manifest = m.Manifest(
        schema=m.SCHEMA,
        profdiff="0.1.0",
        created="2026-11-22T12:00:00Z",
        command=["profdiff", "record"],
        collectors=["exact"],
        repeat=1,
        verify=False,
        workload=m.Workload(
            argv=["work.c", "{size}"], guest_argv=["/work/work"], kind="source", files=[]
        ),
        points=points,
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0),
        kernels=[
            m.Kernel(
                label=label, spec=label, image_sha256="00" * 32, release=f"6.{n}.0", inlines=SHOWN
            )
            for n, label in enumerate(labels)
        ],
        runs=runs,
    )
    made = Session.create(folder, manifest)
    (folder / "symbols").mkdir()
    known = {(point, 0): counts for point, counts in found.items()}
    kept = KeptFunctions.of_cells(fingerprint(made), labels, known)
    kept.save(folder / "symbols/functions.npz")
    made.save(m.replace(manifest, functions="symbols/functions.npz"))
    return made


def _run(label: str, point: int, total: int | None) -> m.Run:
    name = f"{label}-p{point + 1}-1"
    return m.Run(
        id=name,
        kernel=label,
        collector="exact",
        point=point,
        repetition=1,
        started="2026-11-22T12:00:00Z",
        wall_seconds=0.5,
        files={"counts": f"runs/{name}/counts", "stdout": f"runs/{name}/stdout"},
        qemu=m.replace(ICOUNT, plugin_api=1, architecture="x86_64"),
        failure=ABSENT if total is None else None,
        window=None if total is None else m.Window(kind="marks", count=1),
        instructions=None
        if total is None
        else m.Instructions(kernel=total, user=0, each_iteration=total),
        measured=[]
        if total is None
        else [m.Measured("instructions", "instructions", "lower", True, [float(total)])],
    )
