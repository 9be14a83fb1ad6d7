"""A made-up series: a base, two patches that built and one between them that did not."""

from collections.abc import Sequence
from pathlib import Path

from synthetic import Row, frame
from synthetic_experiment import ICOUNT
from synthetic_session import exact_session

from profdiff.session import manifest as m
from profdiff.session.session import Session

OPS = 100
HOLE = "mm/mprotect.c:3: error: expected ';'"
# Self counts by function, of each kernel that there is.
COUNTS = {
    "base": {"change_pte_range": 4_000, "can_change_pte_writable": 2_000, "mas_find": 500},
    "1-hoist": {"change_pte_range": 5_000, "mas_find": 500},
    "3-helper": {"change_pte_range": 4_200, "commit_protection": 1_100, "mas_find": 510},
}


def rows(counts: dict[str, int]) -> Sequence[Row]:
    """A function a row."""
    return [([frame(name)], name, True, [count]) for name, count in counts.items()]


def source(label: str, number: int, repository: str = "/src/linux") -> m.BuiltFrom:
    digits = f"{number:x}" * 40
    return m.BuiltFrom(
        repository=repository,
        commit=digits,
        described=f"v6.12-{number}-g{digits[:12]}",
        subject=f"mm/mprotect: {label}",
        tree=digits,
        built=digits,
        compiler="gcc 12.2.0",
        arch="x86_64",
    )


def series(folder: Path, repository: str = "/src/linux") -> Session:
    """A session of exact counts with the total as its metric, and a hole."""
    session = exact_session(folder, {label: rows(counts) for label, counts in COUNTS.items()})
    described = session.manifest
    kernels = [
        m.replace(kernel, source=source(kernel.label, number, repository))
        for number, kernel in enumerate(described.kernels)
    ]
    kernels.insert(2, m.Kernel(label="2-broken", spec="git:/src/linux@2", hole=HOLE))
    runs = [
        m.replace(
            run,
            qemu=ICOUNT,
            measured=[
                m.Measured(
                    "instructions",
                    "instructions",
                    "lower",
                    True,
                    [float(sum(COUNTS[run.kernel].values()))],
                )
            ],
        )
        for run in described.runs
    ]
    points = [m.Point(cpus=1, ops=OPS)]
    session.save(m.replace(described, kernels=kernels, runs=runs, points=points))
    return session
