"""Made-up recordings of releases on disk, for atlases."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synthetic import Row, frame
from synthetic_joint import part

from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

# By function, thousands of instructions; a thousand ops.
Counts = Mapping[str, int]


def suite(
    folder: Path,
    workloads: Mapping[str, Mapping[str, Counts]],
    about: str = "",
    **manifest: object,
) -> Suite:
    """A suite whose workloads were counted on releases: each label is its kernel's release."""
    made = Suite.create(
        folder,
        folder.name,
        ["profdiff", "record", "--suite", folder.name],
        [SuiteWorkload(name=name, tags=["mm"], op="page", about=about) for name in workloads],
    )
    for name, kernels in workloads.items():
        session(folder / name, kernels, **manifest)
    return made


def session(folder: Path, kernels: Mapping[str, Counts], **manifest: object) -> Session:
    """A session of one point. ``manifest``: fields that are otherwise."""
    rows: dict[str, Sequence[Row]] = {
        label: [
            ([frame(function)], function, True, (1000 * count,))
            for function, count in counts.items()
        ]
        for label, counts in kernels.items()
    }
    made = part(folder, rows, [m.Point({}, 1, 1000)])
    described = [
        m.replace(one, release=one.label, build_id=f"{hash_of(one.label):040x}")
        for one in made.manifest.kernels
    ]
    made.save(m.replace(made.manifest, kernels=described, **manifest))
    return Session.open(folder)


def hash_of(text: str) -> int:
    """The same each time."""
    return int.from_bytes(text.encode()[:16], "big")
