"""Which accesses may be of other data than their names say, or of more: what a guard against false
differences must know."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from profdiff.profile.data.cells import Cells
from profdiff.profile.data.keys import Key

Cause = Literal["unresolved", "union", "wider", "computed", "container", "split"]
"""Why an access may be one of a field that it is not counted for: nothing tells what it accesses;
a union has several names for the place; it is wider than its field, or of all of it; its offset is
computed; one kernel knows the struct around, or the variable, and the other does not; its function
is there on one kernel only, and may have been a part of another."""

_WITH_FIELDS = ("field", "variable", "stack-variable")


class Meant(NamedTuple):
    """``key``: one that an access may be of. ``alone``: then it is not of its own."""

    key: int
    cause: Cause
    alone: bool


class Overlaps:
    """``meant``: by key, what else its accesses may be of, wherever they are; ``containers``: by
    key, those of a field or variable around it, or within: the same access, where inlining shows
    more of it."""

    def __init__(self, cells: Cells) -> None:
        self._keys = cells.keys
        self._cells = cells
        # By owner and name, the keys whose path it is, and those of which it is another name.
        self._named: defaultdict[tuple[object, ...], dict[str, list[int]]] = defaultdict(dict)
        self._also: defaultdict[tuple[object, ...], dict[str, list[int]]] = defaultdict(dict)
        for number, key in enumerate(cells.keys):
            if not key.computed:
                self._named[key.owner].setdefault(key.path, []).append(number)
            for path in key.alternatives:
                self._also[key.owner].setdefault(path, []).append(number)
        self.meant = [list(self._meant(number, key)) for number, key in enumerate(cells.keys)]
        self.containers: list[set[int]] = [set() for _ in cells.keys]
        for long, short in self._contained():
            self.containers[long].add(short)
            self.containers[short].add(long)

    def _meant(self, own: int, key: Key) -> Iterator[Meant]:
        if key.group == "unresolved":
            return
        named, also = self._named[key.owner], self._also[key.owner]
        ways: list[tuple[Iterable[str], Cause, bool]] = [
            (key.alternatives, "union", True),
            (key.covers, "wider", False),
        ]
        within = [path for path in {*named, *also} if _below(path, key.path)]
        ways.append((within, "computed" if key.computed else "wider", key.computed))
        for paths, cause, alone in ways:
            for path in paths:
                yield from (Meant(one, cause, alone) for one in named.get(path, ()) if one != own)
                # What is another name here is the place of both.
                yield from (Meant(one, cause, False) for one in also.get(path, ()) if one != own)

    def _contained(self) -> Iterator[tuple[int, int]]:
        """What has a name around another: (with more around it, with less)."""
        short: defaultdict[str, list[int]] = defaultdict(list)
        for number, key in enumerate(self._keys):
            if key.kind in ("field", "pointed"):
                short[key.path].append(number)
        for number, key in enumerate(self._keys):
            if key.kind not in _WITH_FIELDS:
                continue
            for before, path in _splits(key.path):
                for other in short.get(path, ()):
                    if other != number and self._fits(key, before, number, other):
                        yield number, other

    def _fits(self, key: Key, before: str, number: int, other: int) -> bool:
        """Whether what is at ``before`` in ``key`` may be what ``other`` is a part of."""
        less = self._keys[other]
        if less.kind == "pointed":
            return not self._cells.sizes[number].isdisjoint(self._cells.sizes[other])
        if not before:
            return key.kind != "field" and key.type == less.type
        if key.type == less.type and key.kind == "field":
            return False
        return _same_size(self._cells, key.type, before, less.type)


def _same_size(cells: Cells, type_: str, path: str, member: str) -> bool:
    """Whether a field is as large as a type, if both are known on some kernel."""
    fields = {one.field_size(type_, path) for one in cells.layouts} - {None}
    types = {one.sizes[member] for one in cells.layouts if one.sizes.get(member)}
    return not fields or not types or not fields.isdisjoint(types)


def _splits(path: str) -> Sequence[tuple[str, str]]:
    """What stands before, and the rest: all ways to cut a path between fields."""
    cuts = [at for at, letter in enumerate(path) if letter == "."]
    ends = [("", path), (path, "")] if path else [("", "")]
    return [*ends, *((path[:at], path[at + 1 :]) for at in cuts)]


def _below(path: str, above: str) -> bool:
    """Whether a field is within another one."""
    if not above:
        return bool(path)
    return path.startswith((f"{above}.", f"{above}[]"))
