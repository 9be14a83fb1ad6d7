"""Kernels' accesses with variables, for layouts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made_accesses import Layout, Site, accesses
from msgspec.structs import replace
from synthetic import Row, frame
from synthetic_session import exact_session

from profdiff.profile.data.type_layout import Accessed
from profdiff.session import manifest as m
from profdiff.symbolization.data_accesses import DataAccesses


class Variable(NamedTuple):
    """A variable of the ELF file."""

    name: str
    address: int
    size: int
    accessed: bool = False
    section: str = ".data"


def with_variables(found: DataAccesses, variables: Sequence[Variable]) -> DataAccesses:
    """The same accesses of a kernel that has these variables."""
    strings = list(found.strings)

    def interned(texts: Sequence[str]) -> list[int]:
        strings.extend(text for text in dict.fromkeys(texts) if text not in strings)
        return [strings.index(text) for text in texts]

    rows = sorted(variables, key=lambda one: one.address)
    made = replace(
        found,
        strings=strings,
        global_name=np.array(interned([one.name for one in rows]), np.uint32),
        global_section=np.array(interned([one.section for one in rows]), np.uint32),
        global_address=np.array([one.address for one in rows], np.uint64),
        global_size=np.array([one.size for one in rows], np.uint32),
        global_accessed=np.array([one.accessed for one in rows], np.uint8),
    )
    made.check()
    return made


def kernel(
    sites: Sequence[Site], layouts: Mapping[str, Layout], variables: Sequence[Variable] = ()
) -> Accessed:
    """A kernel that executed these."""
    found = with_variables(accesses(sites, layouts), variables)
    return Accessed(found, np.array([site.count for site in sites], np.int64))


def session(folder: Path, kernels: Mapping[str, Accessed | None]) -> Path:
    """A recording of kernels, the base first, that keeps their accesses, each in a function of its
    own; None: of a kernel of which they are not known."""
    rows: dict[str, list[Row]] = {}
    for label, one in kernels.items():
        counts = [1] if one is None else one.count.tolist()
        rows[label] = [
            ([frame(f"f{number}")], f"f{number}", True, [count])
            for number, count in enumerate(counts)
        ]
    made = exact_session(folder, rows)
    described = []
    for known in made.manifest.kernels:
        one = kernels[known.label]
        if one is not None:
            relative = f"symbols/{known.label}.accesses.npz"
            one.accesses.save(folder / relative)
            known = m.replace(known, accesses=relative)
        described.append(known)
    runs = [
        m.replace(
            run,
            measured=[
                m.Measured(
                    "instructions",
                    "instructions",
                    "lower",
                    True,
                    [float(sum(row[3][0] for row in rows[run.kernel]))],
                )
            ],
        )
        for run in made.manifest.runs
    ]
    made.save(m.replace(made.manifest, kernels=described, runs=runs))
    return folder
