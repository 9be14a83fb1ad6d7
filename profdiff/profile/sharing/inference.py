"""What instructions access of which nothing is known, as other lines and callers tell: code that
only ever accessed one field of one record, where it is known what lies there, accesses it always.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.collectors.sharing.lines import SharedLines
from profdiff.profile.sharing.instructions import Instructions, Origin, Said
from profdiff.profile.sharing.objects import Touched
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.variables import Object

# So many places of a record must agree where it begins: one instruction may see several types.
_AGREE = 2

_Code = tuple[int, bool, int]
_Lines = Mapping[int, Sequence[Object]]


def with_learned(
    touched: Sequence[Sequence[Touched]], known: _Lines, records: Records
) -> list[list[Touched]]:
    """The accesses to each line, ``known``: the objects on some."""
    seen: defaultdict[_Code, set[tuple[str, int]]] = defaultdict(set)
    for line, there in known.items():
        for one in touched[line]:
            if not one.said and (found := _holder(there, one.offset)) is not None:
                seen[_code(one)].add((found.name, one.offset - found.base))
    learned = {code: next(iter(some)) for code, some in seen.items() if len(some) == 1}
    result = [list(each) for each in touched]
    for line, there in known.items():
        open_ = [
            (number, *learned[_code(one)])
            for number, one in enumerate(touched[line])
            if not one.said and _code(one) in learned and not _is_held(there, one.offset)
        ]
        places = {(type_, touched[line][number].offset - at, at) for number, type_, at in open_}
        bases = Counter((type_, base) for type_, base, _ in places)
        for number, type_, at in open_:
            one = touched[line][number]
            if bases[type_, one.offset - at] >= _AGREE:
                said = Said(
                    "field", type_, "", records.leaf(type_, at), at, records.size(type_), (), ()
                )
                result[line][number] = one._replace(said=(said,))
    return result


def _code(one: Touched) -> _Code:
    return one.place, one.store, one.size


def _is_held(there: Sequence[Object], offset: int) -> bool:
    return any(one.holds(offset) for one in there)


def _holder(there: Sequence[Object], offset: int) -> Object | None:
    return next((one for one in there if one.kind == "field" and one.holds(offset)), None)


# A lock that is given begins at most so many bytes before what is stored to.
_NEAR = 64


def led_by_calls(
    touched: list[list[Touched]], lines: SharedLines, instructions: Instructions
) -> list[list[Touched]]:
    """The accesses to each line, whose instructions are known to be given only what the calls give
    that led there. ``_raw_spin_lock`` takes all locks, but few of them on one line."""
    calls: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    columns = (lines.hold_line, lines.hold_taken, lines.hold_released, lines.hold_call)
    for line, taken, released, call in zip(*(column.tolist() for column in columns), strict=True):
        # What is released is what was taken.
        calls[line, taken].add(call)
        calls[line, released].add(call)
    given = {key: _given(found, instructions) for key, found in calls.items()}
    return [
        [
            one
            if (gives := given.get((line, one.place))) is None
            else one._replace(said=tuple(_only(said, gives) for said in one.said))
            for one in each
        ]
        for line, each in enumerate(touched)
    ]


class _Given(NamedTuple):
    """What some calls give; ``whole``: whether that is known of all of them."""

    origins: list[Origin]
    whole: bool


def _given(calls: set[int], instructions: Instructions) -> _Given | None:
    """None where nothing is known of one of them."""
    each = [instructions.given(call) if call >= 0 else None for call in sorted(calls)]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    return _Given([origin for one in known for origin in one], all(known))


def _only(said: Said, given: _Given) -> Said:
    """The same of these objects alone, if its function is given what it accesses."""
    if not said.origins:
        return said
    kept = tuple(
        origin for origin in said.origins if any(_near(origin, call) for call in given.origins)
    )
    found = all(any(_near(origin, call) for origin in said.origins) for call in given.origins)
    return said._replace(origins=kept, whole=given.whole and found)


def _near(one: Origin, given: Origin) -> bool:
    return one.name == given.name and 0 <= one.offset - given.offset < _NEAR
