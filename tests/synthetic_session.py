"""Small made-up sessions on disk, with what an exact recording leaves, and without a guest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from counts_bytes import counts_bytes
from msgspec.structs import replace
from synthetic import Row, chains, example, manifest

from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import CODE, KERNEL_HALF


def exact_session(
    folder: Path,
    kernels: Mapping[str, Sequence[Row]] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Session:
    """A session of one exact run of each kernel. ``files``: what else each run left, by what it
    is."""
    rows = kernels or example()
    described = manifest(list(rows))
    session = Session.create(folder, described)
    (folder / "symbols").mkdir()
    runs = []
    for run in described.runs:
        place = folder / "runs" / run.id
        place.mkdir(parents=True)
        ordered, resolved = resolved_rows(rows[run.kernel])
        resolved.save(folder / f"symbols/{run.kernel}.npz")
        counted = [row[3][0] for row in ordered]
        records = list(zip(resolved.address.tolist(), counted, strict=True))
        content = {"counts": counts_file(records), **(files or {})}
        for what, data in content.items():
            (place / what).write_bytes(data)
        runs.append(m.replace(run, files={what: f"runs/{run.id}/{what}" for what in content}))
    known = [m.replace(one, symbols=f"symbols/{one.label}.npz") for one in described.kernels]
    session.save(m.replace(described, runs=runs, kernels=known))
    return session


def resolved_rows(rows: Sequence[Row]) -> tuple[list[Row], Chains]:
    """Rows with their chains as ``record`` keeps them: sorted by address, with the code of places
    in user space."""
    unsorted = chains(rows)
    order = np.argsort(unsorted.address)
    ordered = [rows[at] for at in order]
    address = unsorted.address[order]
    code = np.frombuffer(b"\x01\x90".ljust(16, b"\0") * int((address < KERNEL_HALF).sum()), CODE)
    return ordered, replace(chains(ordered), address=address, code=code)


def counts_file(
    records: Sequence[tuple[int, int]], codes: Mapping[int, bytes] | None = None
) -> bytes:
    """What the plugin writes: addresses with their counts. ``codes``: the instruction at each; else
    nothing was seen in the kernel."""
    seen = codes or {}
    return counts_bytes([(a, n, seen.get(a, b"" if a >> 63 else b"\x90")) for a, n in records])
