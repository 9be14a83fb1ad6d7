"""Kernels that are made up of accesses: what each instruction accesses, in which functions, and how
often."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

import numpy as np
from classes import compare
from synthetic import KERNEL_BASE, Row, frame
from synthetic_session import exact_session

from profdiff.profile.comparison import Comparison
from profdiff.profile.data.cells import Cells, counted
from profdiff.profile.data.table import DataRow, DataTable
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import KINDS, REASONS, DataAccesses

LOAD, STORE = "load", "store"
_CODE = {
    frozenset({LOAD}): "mov (%rdi),%eax",
    frozenset({STORE}): "mov %eax,(%rdi)",
    frozenset({LOAD, STORE}): "incl (%rdi)",
    frozenset[str](): "nop",
}
# By name: its section, address in the ELF file, and size.
Variables = Mapping[str, tuple[str, int, int]]
# Size, and by path the offset and size of each field, in bytes.
Layout = tuple[int, Mapping[str, tuple[int, int]]]


class Site(NamedTuple):
    """An instruction that accesses one thing. ``count``: of one run, or of several. ``inlined``:
    the function in which ``function`` is inlined, "" where it is out of line."""

    path: str
    count: int | Sequence[int]
    function: str = "work"
    inlined: str = ""
    does: frozenset[str] = frozenset({LOAD})
    kind: str = "field"
    type: str = "thing"
    symbol: str = ""
    size: int = 8
    offset: int = 0
    flags: int = 0
    alternatives: Sequence[str] = ()
    reason: str = ""
    file: str = "mm/x.c"
    nested: Sequence[str] = ()
    origins: Sequence[str] = ()

    def hidden(self, reason: str = "loaded") -> "Site":
        """The same, of which nothing tells what it accesses."""
        gone = Site("", self.count, self.function, self.inlined, self.does, "unresolved")
        return gone._replace(type="", reason=reason, file=self.file)


def made(
    kernels: Mapping[str, Sequence[Site]],
    layouts: Mapping[str, Layout] | None = None,
    *,
    ops: int | None = None,
) -> tuple[Comparison, list[DataAccesses]]:
    """The comparison of kernels by label, and what each accesses."""
    rows = {label: [row(site) for site in sites] for label, sites in kernels.items()}
    comparison = compare(rows, ops=ops)
    return comparison, [accesses(sites, layouts or {}) for sites in kernels.values()]


def row(site: Site) -> tuple[Row, str]:
    frames = [frame(site.function, inlined=bool(site.inlined), file=site.file)]
    if site.inlined:
        frames.insert(0, frame(site.inlined))
    count = [site.count] if isinstance(site.count, int) else site.count
    return (frames, frames[0][0], True, count), _CODE[site.does]


def accesses(
    sites: Sequence[Site], layouts: Mapping[str, Layout], variables: Variables | None = None
) -> DataAccesses:
    """The accesses of instructions from ``KERNEL_BASE`` on, four bytes each."""
    strings = [""]

    def intern(text: str) -> int:
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    columns: dict[str, list[int]] = {}

    def add(**row: int) -> None:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)

    for number, site in enumerate(sites):
        does = (LOAD in site.does) * int(known.LOAD) | (STORE in site.does) * int(known.STORE)
        add(
            address=KERNEL_BASE + 4 * number,
            flags=does | site.flags,
            size=site.size,
            kind=KINDS.index(site.kind),
            reason=REASONS.index(site.reason),
            type=intern(site.type),
            symbol=intern(site.symbol),
            field=intern(site.path),
            alternatives=intern("|".join(site.alternatives)),
            nested=intern("|".join(site.nested)),
            origins=intern("|".join(site.origins)),
            offset=site.offset,
            type_size=0,
        )
    for number, (name, (size, fields)) in enumerate(layouts.items()):
        add(layout_type=intern(name), layout_size=size, layout_alignment=0)
        for path, (offset, width) in fields.items():
            add(
                field_type=number,
                field_name=intern(path),
                field_offset=8 * offset,
                field_size=8 * width,
            )
    known_at = sorted((variables or {}).items(), key=lambda one: one[1][1])
    for name, (section, address, size) in known_at:
        add(
            global_name=intern(name),
            global_section=intern(section),
            global_address=address,
            global_size=size,
            global_accessed=1,
        )
    made = {
        name: np.array(columns.get(name, []), _dtype(hint))
        for name, hint in get_type_hints(DataAccesses).items()
        if name in {one for names in DataAccesses.GROUPS.values() for one in names}
    }
    found = DataAccesses(strings=strings, **made)  # type: ignore[arg-type]
    found.check()
    return found


def _dtype(hint: object) -> object:
    """Of ``NDArray[np.uint64]``."""
    (of,) = get_args(get_args(hint)[1])
    return of


def cells(
    kernels: Mapping[str, Sequence[Site]],
    layouts: Mapping[str, Layout] | None = None,
    *,
    fold_folios: bool = False,
) -> Cells:
    """What these kernels access."""
    comparison, known_ = made(kernels, layouts)
    return counted(comparison, known_, fold_folios=fold_folios)


def table(
    kernels: Mapping[str, Sequence[Site]],
    layouts: Mapping[str, Layout] | None = None,
    *,
    fold_folios: bool = False,
) -> DataTable:
    """The table of what these kernels access."""
    return DataTable(cells(kernels, layouts, fold_folios=fold_folios))


def row_of(rows: Sequence[DataRow], path: str, *, store: bool = False) -> DataRow:
    """The one row of data that has a name for the field."""
    (found,) = (one for one in rows if path in one.paths and one.store == store)
    return found


def session(
    folder: Path,
    kernels: Mapping[str, Sequence[Site]],
    layouts: Mapping[str, Layout] | None = None,
    *,
    ops: int | None = None,
) -> Session:
    """A session on disk that keeps what its kernels access."""
    rows: dict[str, list[Row]] = {}
    for label, sites in kernels.items():
        rows[label] = [row(site)[0] for site in sites]
    found = exact_session(folder, rows)
    described = []
    for kernel in found.manifest.kernels:
        relative = f"symbols/{kernel.label}.accesses.npz"
        accesses(kernels[kernel.label], layouts or {}).save(folder / relative)
        described.append(m.replace(kernel, accesses=relative))
    points = [m.replace(one, ops=ops) for one in found.manifest.points]
    found.save(m.replace(found.manifest, kernels=described, points=points))
    return Session.open(folder)
