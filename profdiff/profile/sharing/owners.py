"""Whose parts lie on a line: what code accesses that has a pointer to a lock, a list or a counter
alone. Calls tell which objects these may be in, and the line which of them fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.profile.sharing.instructions import Origin, Said
from profdiff.profile.sharing.names import PRIMITIVES, Name
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.variables import Object, Variables

Key = tuple[int, Sequence[Said]]
"""Accesses at an offset of the line, by what their instructions say."""

Known = frozenset[tuple[str, int]]
"""Records, by their addresses, that instructions name somewhere."""


class Place(NamedTuple):
    """An object on a line, or several of which one is there: at ``offsets`` alone."""

    objects: tuple[Object, ...]
    offsets: frozenset[int] = frozenset()

    def holds(self, offset: int) -> bool:
        """Whether it has the byte at an offset in the line."""
        if len(self.objects) > 1:
            return offset in self.offsets
        return self.objects[0].holds(offset)


class Owners:
    """Whose parts lie on the line at ``address``. ``known``: records with their addresses;
    ``chosen``: the objects on the line, by instructions with pointers to whole objects."""

    def __init__(
        self,
        records: Records,
        variables: Variables,
        known: Known,
        address: int,
        weights: Mapping[Key, int],
        chosen: Sequence[Object],
    ) -> None:
        self._records, self._variables = records, variables
        self._known, self._address = known, address
        self._weights, self._chosen = weights, chosen

    def places(self) -> list[Place]:
        """All that lies on the line."""
        left = {key for key in self._weights if self._is_open(key)}
        found: list[Place] = []
        while left:
            place, covered = self._next(left)
            if place is None:
                left -= covered
                continue
            found.append(place)
            left = {key for key in left if key not in covered and not place.holds(key[0])}
        owners = [place.objects[0] for place in found if len(place.objects) == 1]
        rest = [one for one in self._chosen if not any(_meet(one, owner) for owner in owners)]
        return [*found, *(Place((one,)) for one in rest)]

    def _is_open(self, key: Key) -> bool:
        """Whether its instructions have a pointer to a part, and nothing else says of what."""
        offset, several = key
        if not any(said.origins for said in several):
            return False
        holder = self._holder(offset)
        return holder is None or (holder.kind == "field" and self._is_part(holder))

    def _holder(self, offset: int) -> Object | None:
        return next((one for one in self._chosen if one.holds(offset)), None)

    def _is_part(self, holder: Object) -> bool:
        if holder.name in PRIMITIVES:
            return True
        naming = [
            said
            for offset, several in self._weights
            for said in several
            if holder.holds(offset) and said.type == holder.name
        ]
        return all(said.origins for said in naming)

    def _next(self, left: set[Key]) -> tuple[Place | None, set[Key]]:
        """What explains most of the accesses that are left, and which these are."""
        supported: dict[Object, set[Key]] = {}
        for key in left:
            for candidate in self._candidates(key):
                supported.setdefault(candidate, set()).add(key)
        fitting = {one: keys for one, keys in supported.items() if self._fits(one)}
        if not fitting:
            return None, set(left)
        weights = {one: sum(map(self._weights.__getitem__, fitting[one])) for one in fitting}
        best = min(fitting, key=lambda one: (-weights[one], -len(fitting[one]), one))
        covered = fitting[best]
        # Those that leave out what the best one explains must lack it.
        rivals = [
            one
            for one, keys in fitting.items()
            if keys & covered and all(one.holds(offset) for offset, _ in covered - keys)
        ]
        rivals = [
            rival for rival in rivals if not any(self._within(rival, inner) for inner in rivals)
        ]
        sure = [
            rival for rival in rivals if (rival.name, self._address + rival.base) in self._known
        ]
        if len(sure) == 1:
            return Place((sure[0],)), covered
        if not self._is_whole(covered) and not (len(rivals) == 1 and self._twice(best, covered)):
            # It may be one that nothing names.
            part = {holder for offset, _ in covered if (holder := self._holder(offset))}
            if not part:
                return None, covered
            rivals += part
        offsets = frozenset(offset for offset, _ in covered)
        return Place(tuple(sorted(rivals)), offsets), covered

    def _candidates(self, key: Key) -> Iterator[Object]:
        offset, several = key
        holder = self._holder(offset)
        for said in several:
            for owner in self._owners(said, offset):
                # What instructions name as an object of its own may only be a part of another one.
                if holder is None or holder.name in PRIMITIVES or self._within(owner, holder):
                    yield owner

    def _owners(self, said: Said, offset: int) -> Iterator[Object]:
        for origin in said.origins:
            size = self._records.size(origin.name) if origin.kind == "field" else 0
            base = offset - origin.offset
            if (
                size
                and origin.name not in PRIMITIVES
                and not base % self._records.alignment(origin.name)
            ):
                yield Object("field", origin.name, base, size)

    def _fits(self, owner: Object) -> bool:
        """Whether all accesses in its range may be of it."""
        return all(
            not several or any(self._may_be(owner, said, offset) for said in several)
            for offset, several in self._weights
            if owner.holds(offset)
        )

    def _may_be(self, owner: Object, said: Said, offset: int) -> bool:
        at = offset - owner.base
        if said.origins:
            if owner in self._owners(said, offset):
                return True
            parts = (self._records.at(owner.name, origin.path, at) for origin in said.origins)
            if any(path is not None for path in parts):
                return True
            if any(self._within(one, owner) for one in self._owners(said, offset)):
                return True
            if said.whole and not self._undecided(said):
                return False
        if said.kind == "pointed":
            return True
        if said.kind != "field":
            return False
        if said.type == owner.name and said.offset in (None, at):
            return True
        return self._records.embedded(owner.name, said, at) is not None

    def _undecided(self, said: Said) -> bool:
        """Whether it may be of something that has no name, or no place that is known."""
        return any(
            origin.name in PRIMITIVES
            if origin.kind == "field"
            else origin.kind == "per-cpu" and not self._variables.has_cpus
            for origin in said.origins
        )

    def _is_whole(self, keys: Iterable[Key]) -> bool:
        """Whether what they may be of is all known."""
        return all(
            any(said.whole and not self._undecided(said) for said in several) for _, several in keys
        )

    def _twice(self, owner: Object, keys: Iterable[Key]) -> bool:
        """Whether two members of it are accessed."""
        paths = {
            self._records.cut(owner.name, origin.path)
            for offset, several in keys
            for said in several
            for origin in said.origins
            if (origin.name, offset - origin.offset) == (owner.name, owner.base)
        }
        return len(paths) > 1

    def _within(self, outer: Object, inner: Object) -> bool:
        start = inner.base - outer.base
        inside = start >= 0 and start + inner.size <= outer.size
        return inside and outer != inner and self._records.has(outer.name, inner.name, start)


def _meet(one: Object, other: Object) -> bool:
    return one.base < other.base + other.size and other.base < one.base + one.size


def alone(said: Said, records: Records, variables: Variables) -> Name | None:
    """What an instruction accesses, known by it alone; None where nothing tells."""
    if said.origins and (not said.type or said.type in PRIMITIVES):
        names = [_name(origin, records, variables) for origin in said.origins]
        others = [name for name in names if name is not None]
        if len(others) == len(names) and said.whole:
            return Name.one_of(others)
        return Name.one_of([said.name, *others]) if said.type else None
    return said.name


def _name(one: Origin, records: Records, variables: Variables) -> Name | None:
    if one.kind == "field":
        if one.name in PRIMITIVES:
            return None
        return Name("field", one.name, path=records.cut(one.name, one.path))
    type_ = variables.type_of(one.name)
    path = records.cut(type_, records.leaf(type_, one.offset)) if type_ else ""
    return Name(one.kind, symbol=one.name, path=path)
