"""The chains, the code and the accesses of one kernel that several recordings kept, each of what it
executed, as one."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.symbolization.chains import Chains
from profdiff.symbolization.data_accesses import UNKNOWN, DataAccesses, bounded_origins
from profdiff.symbolization.kernel_code import KernelCode
from profdiff.symbolization.merge import distinct_rows
from profdiff.symbolization.places import CODE, KERNEL_HALF, among, distinct, place_keys
from profdiff.symbolization.statements import joined_statements


def joined_chains(every: Sequence[Chains]) -> Chains:
    """The chains of all places that any of them has, sorted; of a place that several have, those of
    the first. Raises ValueError where one does not tell the places of user space apart (format
    1)."""
    strings: dict[str, int] = {"": 0}
    reasons: dict[str, int] = {}
    functions, frames, keys, members, lengths = [], [], [], [], []
    symbol, reason, frame_count, function_count = [], [], 0, 0
    for one in every:
        texts = np.array([strings.setdefault(t, len(strings)) for t in one.strings], np.uint32)
        known = np.array([reasons.setdefault(t, len(reasons)) for t in one.reasons], np.uint8)
        named = (texts[one.function_name], texts[one.function_object], texts[one.function_file])
        functions.append(np.stack([*named, one.function_line], axis=1))
        own = (one.frame_function + np.uint32(function_count), one.frame_inlined.astype(np.uint32))
        frames.append(np.stack([*own, texts[one.frame_file], one.frame_line], axis=1))
        keys.append(place_keys(one.address, _code(one)))
        members.append(one.frames + np.uint32(frame_count))
        lengths.append(np.diff(one.offsets.astype(np.int64)))
        symbol.append(texts[one.symbol])
        reason.append(known[one.reason])
        function_count += len(one.function_name)
        frame_count += len(one.frame_function)
    table, function_of = distinct_rows(functions)
    raw = np.concatenate([np.zeros((0, 4), np.uint32), *frames])
    raw[:, 0] = function_of[raw[:, 0]]
    frame_table, frame_of = distinct_rows([raw])
    merged = np.concatenate(keys)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    whole = Chains(
        strings=list(strings),
        function_name=table[:, 0].copy(),
        function_object=table[:, 1].copy(),
        function_file=table[:, 2].copy(),
        function_line=table[:, 3].copy(),
        frame_function=frame_table[:, 0].copy(),
        frame_inlined=frame_table[:, 1].astype(np.bool_),
        frame_file=frame_table[:, 2].copy(),
        frame_line=frame_table[:, 3].copy(),
        offsets=offsets.astype(np.uint32),
        frames=frame_of[np.concatenate(members)],
        symbol=np.concatenate(symbol),
        reason=np.concatenate(reason),
        address=merged["address"],
        reasons=list(reasons),
        blind=sorted({name for one in every for name in one.blind}),
        unread=list(dict.fromkeys(text for one in every for text in one.unread)),
    )
    known_keys, first = np.unique(merged, return_index=True)
    found = whole.taken(first)
    user = found.address < KERNEL_HALF
    return replace(found, code=np.ascontiguousarray(known_keys["code"][user]))


def _code(one: Chains) -> NDArray[np.void]:
    code, user = np.zeros(len(one), CODE), one.address < KERNEL_HALF
    if len(one.code):
        code[user] = one.code
    elif user.any():
        raise ValueError("these chains do not tell the places of user space apart")
    return code


def joined_code(every: Sequence[KernelCode]) -> KernelCode:
    """The code of all ranges that any of them has; those that overlap are one. Raises ValueError
    for several architectures."""
    if len({one.architecture for one in every}) > 1:
        raise ValueError("the code is of several architectures")
    ranges: list[tuple[int, bytes]] = []
    for one in every:
        text, ends = one.text.tobytes(), np.cumsum(one.size.astype(np.int64)).tolist()
        starts = [0, *ends[:-1]]
        places = zip(one.start.tolist(), starts, ends, strict=False)
        ranges += [(address, text[start:end]) for address, start, end in places]
    found: list[tuple[int, bytearray]] = []
    for address, text in sorted(ranges):
        if found and address < found[-1][0] + len(found[-1][1]):
            begin, before = found[-1]
            before += text[begin + len(before) - address :]
        else:
            found.append((address, bytearray(text)))
    names: dict[str, int] = {}
    reference, number, offset = [], [], []
    for one in every:
        own = np.array([names.setdefault(name, len(names)) for name in one.names], np.uint32)
        reference.append(one.reference)
        number.append(own[one.reference_name] if len(own) else one.reference_name)
        offset.append(one.reference_offset)
    known, first = np.unique(np.concatenate(reference), return_index=True)
    return KernelCode(
        architecture=every[0].architecture,
        start=np.array([address for address, _ in found], np.uint64),
        size=np.array([len(text) for _, text in found], np.uint32),
        text=np.frombuffer(b"".join(bytes(text) for _, text in found), np.uint8),
        chains=_without_code(joined_chains([one.chains for one in every])),
        names=list(names),
        reference=known,
        reference_name=np.concatenate(number)[first],
        reference_offset=np.concatenate(offset)[first],
        statements=joined_statements([one.statements for one in every]),
    )


def _without_code(one: Chains) -> Chains:
    return one.taken(np.arange(len(one)))


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
