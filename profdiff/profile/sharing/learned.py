"""What instructions access of which nothing is known, as other lines tell: code that only ever
accessed one field of one record, where it is known what lies there, accesses it elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from profdiff.profile.sharing.instructions import Said
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
