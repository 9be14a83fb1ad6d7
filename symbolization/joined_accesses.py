"""What the instructions of one kernel access, which several recordings kept, each of what it
executed, as one."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.symbolization.data_accesses import UNKNOWN, DataAccesses, bounded_origins
from profdiff.symbolization.places import among, distinct

_Columns = dict[str, NDArray[np.generic]]


def joined_accesses(every: Sequence[DataAccesses]) -> DataAccesses:
    """The accesses of all addresses that any of them has, the types and the variables; of what
    several have, those of the first, but the origins of all. At least one."""
    strings: dict[str, int] = {"": 0}
    known = [_renumbered(one, strings) for one in every]
    columns = {**_accesses(known), **_layouts(known), **_globals(known)}
    columns["origins"] = _origins(known, columns["address"], columns["origins"], strings)
    found = replace(every[0], strings=list(strings), **columns)
    found.check()
    return found


def _renumbered(one: DataAccesses, strings: dict[str, int]) -> DataAccesses:
    """With rows of ``strings``, which has those of all."""
    own = np.array([strings.setdefault(text, len(strings)) for text in one.strings], np.uint32)
    texts = {name: own[getattr(one, name)] for name in DataAccesses.TEXTS}
    return replace(one, **texts)


def _accesses(every: Sequence[DataAccesses]) -> _Columns:
    wanted, seen = [], np.empty(0, np.uint64)
    for one in every:
        wanted.append(~among(one.address, seen))
        seen = distinct(np.concatenate([seen, one.address]))
    order = np.argsort(_of(every, "address", wanted), kind="stable")
    return {name: _of(every, name, wanted)[order] for name in DataAccesses.GROUPS["address"]}


def _origins(
    every: Sequence[DataAccesses],
    address: NDArray[np.generic],
    first: NDArray[np.generic],
    strings: dict[str, int],
) -> NDArray[np.generic]:
    """What is known of the objects of each access: that of the ``first`` recording has the calls
    that all of them executed."""
    texts = list(strings)
    several: dict[tuple[int, int], set[str]] = {}
    for one in every:
        for key, origins in zip(_keys(one.address), one.origins.tolist(), strict=True):
            if origins:
                several.setdefault(key, set()).update(texts[origins].split("|"))
    for one in every:
        for key, origins in zip(_keys(one.address), one.origins.tolist(), strict=True):
            if not origins and key in several:
                several[key].add(UNKNOWN)
    joined = first.copy()
    for row, key in enumerate(_keys(address)):
        if names := several.get(key):
            text = "|".join(bounded_origins(names))
            joined[row] = strings.setdefault(text, len(strings))
    return joined


def _keys(address: NDArray[np.generic]) -> Iterator[tuple[int, int]]:
    """By access, its instruction, and which of the accesses of that instruction it is."""
    first = np.searchsorted(address, address, "left")
    numbers = np.arange(len(address)) - first
    return zip(address.tolist(), numbers.tolist(), strict=True)


def _layouts(every: Sequence[DataAccesses]) -> _Columns:
    """Types by their names; of one, the recording that has it first."""
    known, rows = np.empty(0, np.uint32), 0
    types, fields, numbers = [], [], []
    for one in every:
        types.append(new := ~among(one.layout_type, known))
        known = distinct(np.concatenate([known, one.layout_type]))
        fields.append(wanted := new[one.field_type] if len(new) else np.empty(0, np.bool_))
        number = rows + np.cumsum(new, dtype=np.uint32) - 1
        numbers.append(number[one.field_type[wanted]].astype(np.uint32))
        rows += int(new.sum())
    groups = DataAccesses.GROUPS
    columns: _Columns = {name: _of(every, name, types) for name in groups["layout_type"]}
    columns |= {name: _of(every, name, fields) for name in groups["field_type"]}
    return {**columns, "field_type": np.concatenate(numbers)}


def _globals(every: Sequence[DataAccesses]) -> _Columns:
    """Variables by address, section and name, accessed where any recording accessed them."""
    names = DataAccesses.GROUPS["global_address"]
    rows: dict[tuple[int, int, int], list[int]] = {}
    for one in every:
        for row in zip(*(getattr(one, column).tolist() for column in names), strict=True):
            name, section, address, size, accessed = row
            known = rows.setdefault((address, section, name), [name, section, address, size, 0])
            known[4] |= accessed
    table = [rows[key] for key in sorted(rows)]
    columns: _Columns = {}
    for at, column in enumerate(names):
        columns[column] = np.array([row[at] for row in table], getattr(every[0], column).dtype)
    return columns


def _of(
    every: Sequence[DataAccesses], name: str, wanted: Sequence[NDArray[np.bool_]]
) -> NDArray[np.generic]:
    found: NDArray[np.generic] = np.concatenate(
        [getattr(one, name)[rows] for one, rows in zip(every, wanted, strict=True)]
    )
    return found
