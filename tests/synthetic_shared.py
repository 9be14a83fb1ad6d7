"""Made-up suites of transfers on disk: what the sharing collector measured, without a guest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synthetic_experiment import ICOUNT

from profdiff.collectors.sharing.entry import MISSES, TRANSFERS
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

# By kernel, the transfers and misses of each state, the plain one first.
Values = Mapping[str, Sequence[tuple[float, float]]]


def shared_suite(folder: Path, cells: Mapping[str, Values]) -> Suite:
    """A workload for each cell, with 600 ops of two vCPUs. Kernels' labels are their releases."""
    made = Suite.create(
        folder,
        "shared",
        ["profdiff", "record", "--suite", "shared"],
        [SuiteWorkload(name=name, tags=["shared"], op="call") for name in cells],
    )
    for name, kernels in cells.items():
        _session(made.part(name), kernels)
    return made


def _session(folder: Path, kernels: Values) -> None:
    states = max(map(len, kernels.values()))
    manifest = m.Manifest(
        schema=m.SCHEMA,
        profdiff="0.1.0",
        created="2026-11-25T12:00:00Z",
        command=["profdiff", "record"],
        collectors=["sharing"],
        repeat=1,
        verify=False,
        workload=m.Workload(argv=["two.c"], guest_argv=["/work/two"], kind="source", files=[]),
        points=[m.Point({}, 2, 600)],
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0, restored=True),
        order=m.Order(states=states - 1),
        kernels=[
            m.Kernel(
                label=label,
                spec=label,
                image_sha256="00" * 32,
                release=label,
                build_id=label.encode().hex().ljust(40, "0"),
                inlines={"vmlinux": True},
            )
            for label in kernels
        ],
        runs=[
            _run(label, state, *values)
            for label, every in kernels.items()
            for state, values in enumerate(every)
        ],
    )
    Session.create(folder, manifest).save(manifest)


def _run(label: str, state: int, transfers: float, misses: float) -> m.Run:
    name = f"{label}-{state}"
    return m.Run(
        id=name,
        kernel=label,
        collector="sharing",
        point=0,
        repetition=1 + state,
        state=state,
        started="2026-11-25T12:00:00Z",
        wall_seconds=0.5,
        files={"sharing": f"runs/{name}/sharing.bin", "stdout": f"runs/{name}/stdout"},
        qemu=m.replace(ICOUNT, plugin_api=1, architecture="x86_64"),
        window=m.Window(kind="marks", count=1),
        measured=[
            m.Measured(one.name, one.unit, one.better, False, [value])
            for one, value in ((TRANSFERS, transfers), (MISSES, misses))
        ],
    )
