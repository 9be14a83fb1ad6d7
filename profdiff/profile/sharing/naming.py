"""The names of the bytes of a line."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from profdiff.profile.sharing.instructions import Said
from profdiff.profile.sharing.names import Name, cut
from profdiff.profile.sharing.objects import Touched, implied
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.variables import Object, Variables


class Named(NamedTuple):
    """``alternatives``: other paths that a union leaves."""

    name: Name
    alternatives: tuple[str, ...] = ()


class LineNames:
    """The names on one line that holds ``objects``."""

    def __init__(
        self,
        touched: Sequence[Touched],
        objects: Sequence[Object],
        line_size: int,
        records: Records,
        variables: Variables,
    ) -> None:
        self._objects, self._size = objects, line_size
        self._records, self._variables = records, variables
        self._told: defaultdict[int, Counter[Named]] = defaultdict(Counter)
        for one in touched:
            if (known := self._direct(one, self._object(one.offset))) is not None:
                self._told[one.offset][known] += one.times

    def of(self, one: Touched) -> Named | None:
        """What an access is of; None where nothing tells."""
        found = self._object(one.offset)
        if found is None:
            best = min(one.said, key=lambda said: (said.kind != "field", said.name), default=None)
            return None if best is None else Named(best.name, _cut(best))
        if (known := self._direct(one, found)) is not None:
            return known
        type_ = self._type(found)
        at = one.offset - found.base
        for said in one.said:
            path = self._records.embedded(type_, said, at)
            if path is not None:
                return self._named(found, self._records.cut(type_, path))
        if told := self._told.get(one.offset):
            return min(told, key=lambda named: (-told[named], named))
        return self._named(found, self._records.cut(type_, self._records.leaf(type_, at)))

    def _object(self, offset: int) -> Object | None:
        return next((one for one in self._objects if one.holds(offset)), None)

    def _type(self, one: Object) -> str:
        return one.name if one.kind == "field" else self._variables.type_of(one.name)

    def _direct(self, one: Touched, found: Object | None) -> Named | None:
        """As the instruction itself names a part of the object that it accesses."""
        if found is None:
            return None
        type_ = self._type(found)
        for said in one.said:
            own = implied(said, one.offset, self._size, self._records)
            if said.kind == "field":
                same = said.type == type_ and (own is None or own.base == found.base)
            else:
                same = own is not None and (own.kind, own.name) == (found.kind, found.name)
            if same:
                return self._named(found, cut(said.type, said.path, said.nested), _cut(said))
        return None

    def _named(self, one: Object, path: str, alternatives: tuple[str, ...] = ()) -> Named:
        if one.kind == "field":
            return Named(Name("field", one.name, path=path), alternatives)
        return Named(Name(one.kind, symbol=one.name, path=path), alternatives)


def _cut(said: Said) -> tuple[str, ...]:
    """The other names of the place, but those that lie within the one that it has."""
    own = cut(said.type, said.path, said.nested)
    if not own:
        return ()
    inside = (f"{own}.", f"{own}[")
    return tuple(
        sorted({one for one in said.alternatives if one != own and not one.startswith(inside)})
    )
