"""Small made-up sessions on disk, with what an exact recording leaves, and without a guest."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from synthetic import Row, chains, example, manifest

from profdiff.session import manifest as m
from profdiff.session.session import Session

_HEADER = struct.Struct("<8sIIQQQQ")
_RECORD = struct.Struct("<QQB15s")


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
        # As symbolization leaves them: sorted by address.
        unsorted = chains(rows[run.kernel])
        order = np.argsort(unsorted.address)
        ordered = [rows[run.kernel][at] for at in order]
        resolved = replace(chains(ordered), address=unsorted.address[order])
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


def counts_file(
    records: Sequence[tuple[int, int]], codes: Mapping[int, bytes] | None = None
) -> bytes:
    """What the plugin writes: addresses with their counts. ``codes``: the instruction at each; else
    nothing was seen in the kernel."""
    head = _HEADER.pack(b"PDCOUNTS", 1, 2, 1, 1, 0, len(records))
    made = []
    for address, count in records:
        code = (codes or {}).get(address, b"" if address >> 63 else b"\x90")
        made.append(_RECORD.pack(address, count, len(code), code))
    return head + b"".join(made)
