"""The names of the bytes of a line."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from profdiff.profile.sharing.instructions import Said
from profdiff.profile.sharing.names import Name, cut
from profdiff.profile.sharing.objects import Touched, implied
from profdiff.profile.sharing.owners import Place, alone
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.variables import Object, Variables


class Named(NamedTuple):
    """``alternatives``: other paths that a union leaves, and titles of what it may be as well."""

    name: Name
    alternatives: tuple[str, ...] = ()


def one_of(several: Iterable[Named]) -> Named:
    """What has one of some names, at least one."""
    name = Name.one_of(one.name for one in several)
    return Named(name, name.among)


class LineNames:
    """The names on one line that holds what is at ``places``."""

    def __init__(
        self,
        touched: Sequence[Touched],
        places: Sequence[Place],
        line_size: int,
        records: Records,
        variables: Variables,
    ) -> None:
        self._places, self._size = places, line_size
        self._records, self._variables = records, variables
        self._told: defaultdict[int, Counter[Named]] = defaultdict(Counter)
        for one in touched:
            several = self._objects(one.offset)
            if len(several) == 1 and (known := self._direct(one, several[0])) is not None:
                self._told[one.offset][known] += one.times

    def covers(self, name: Name) -> set[str]:
        """The paths of the object that has a name, as far as they lie on the line: those up to
        which names go, but no other name of the same place, of a union."""
        found: set[str] = set()
        for place in self._places:
            for one in place.objects:
                if one.kind == name.kind and one.name in (name.type, name.symbol):
                    type_, start = self._type(one), -one.base
                    every = self._records.within(type_, start, start + self._size)
                    paths = {self._records.cut(type_, path) for path in every}
                    own = self._records.start(type_, name.path)
                    found |= {
                        path
                        for path in paths
                        if path == name.path or self._records.start(type_, path) != own
                    }
        return found

    def of(self, one: Touched) -> Named | None:
        """What an access is of; None where nothing tells."""
        several = self._objects(one.offset)
        if not several:
            every = [
                Named(name, name.among or _cut(said))
                for said in one.said
                if (name := alone(said, self._records, self._variables)) is not None
            ]
            return min(every, key=lambda named: (named.name.kind != "field", named), default=None)
        if len(several) == 1:
            return self._in(several[0], one)
        return one_of(self._in(found, one) for found in several)

    def _in(self, found: Object, one: Touched) -> Named:
        """The same, of what lies in an object."""
        if (known := self._direct(one, found)) is not None:
            return known
        type_ = self._type(found)
        at = one.offset - found.base
        for said in one.said:
            for origin in said.origins:
                if (origin.name, origin.offset) == (found.name, at) and origin.path:
                    return self._named(found, self._records.cut(type_, origin.path))
            path = self._records.embedded(type_, said, at)
            if path is not None:
                return self._named(found, self._records.cut(type_, path))
        if told := self._told.get(one.offset):
            return min(told, key=lambda named: (-told[named], named))
        return self._named(found, self._records.cut(type_, self._records.leaf(type_, at)))

    def _objects(self, offset: int) -> tuple[Object, ...]:
        return next((place.objects for place in self._places if place.holds(offset)), ())

    def _type(self, one: Object) -> str:
        return one.name if one.kind == "field" else self._variables.type_of(one.name)

    def _direct(self, one: Touched, found: Object) -> Named | None:
        """As the instruction itself names a part of the object that it accesses."""
        type_ = self._type(found)
        for said in one.said:
            own = implied(said, one.offset, self._size, self._records)
            if said.kind == "field":
                # Which element of an array it is, another instruction may know better.
                same = said.type == type_ and (
                    own is None or said.offset is None or own.base == found.base
                )
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
        sorted(
            {
                alternative
                for alternative in said.alternatives
                if alternative != own and not alternative.startswith(inside)
            }
        )
    )
