"""Structs and unions of C at random, and what lies in them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

_SCALARS = ("char", "short", "int", "long", "unsigned char", "unsigned int", "unsigned long")


class Place(NamedTuple):
    """``record``: the name of a type; ``path``: of a field in it, as reports write it, `*`: all of
    it."""

    record: str
    path: str


@dataclass(frozen=True)
class Leaf:
    """A field that is no record. ``expression``: as C writes it behind a variable and a dot;
    ``places``: what it is in the outermost record and in those around it; ``points_to``: a record's
    name; ``is_own``: whether no union is around it; ``is_aligned``: whether no packed record is."""

    expression: str
    places: tuple[Place, ...]
    points_to: str = ""
    is_bit_field: bool = False
    is_own: bool = True
    is_aligned: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether C can take its address."""
        return not self.is_bit_field

    @property
    def path(self) -> str:
        """In the outermost record."""
        return self.places[0].path


@dataclass
class Member:
    """``word``: what kind it is: scalar, pointer, bits, record, array (of records), numbers (an
    array), struct or union (anonymous)."""

    word: str
    name: str = ""
    type: str = ""
    count: int = 0
    inside: list["Member"] = field(default_factory=list)


@dataclass
class Record:
    """``is_union``: all at one place; ``is_packed``: without holes."""

    name: str
    members: list[Member]
    is_union: bool = False
    is_packed: bool = False

    def declaration(self) -> str:
        """In C, on one line."""
        word = "union" if self.is_union else "struct"
        packed = " __attribute__((packed))" if self.is_packed else ""
        return f"{word} {self.name} {{ {_body(self.members)} }}{packed};"


def _body(members: list[Member]) -> str:
    words = {
        "scalar": "{one.type} {one.name};",
        "pointer": "struct {one.type} *{one.name};",
        "bits": "unsigned int {one.name} : {one.count};",
        "record": "struct {one.type} {one.name};",
        "array": "struct {one.type} {one.name}[{one.count}];",
        "numbers": "{one.type} {one.name}[{one.count}];",
    }
    return " ".join(
        f"{one.word} {{ {_body(one.inside)} }};"
        if one.word in ("struct", "union")
        else words[one.word].format(one=one)
        for one in members
    )


class Records:
    """Structs s0 to sN, each of which may have those before it as members. All have a ``list``
    node."""

    def __init__(self, chance: random.Random, count: int) -> None:
        self._chance, self._number, self._count = chance, 0, count
        self.every: dict[str, Record] = {}
        node = [Member("pointer", "next", "node"), Member("pointer", "prev", "node")]
        self.every["node"] = Record("node", node)
        for number in range(count):
            members = [self._member(number, 0) for _ in range(chance.randint(4, 9))]
            members.append(Member("record", f"link{number}", "node"))
            chance.shuffle(members)
            record = Record(f"s{number}", members, is_packed=chance.random() < 0.12)
            self.every[record.name] = record

    def names(self) -> list[str]:
        """All but the node's."""
        return [name for name in self.every if name != "node"]

    def declarations(self) -> str:
        return "\n".join(one.declaration() for one in self.every.values())

    def _member(self, number: int, depth: int) -> Member:
        chance = self._chance
        self._number += 1
        name = f"f{self._number}"
        earlier = [f"s{one}" for one in range(max(number - 3, 0), number)]
        kind = chance.randrange(16)
        if kind < 6:
            return Member("scalar", name, chance.choice(_SCALARS))
        if kind < 9:
            return Member("pointer", name, f"s{chance.randrange(self._count)}")
        if kind == 9:
            return Member("bits", name, count=chance.randint(1, 20))
        if kind == 10:
            return Member("numbers", name, chance.choice(_SCALARS), chance.randint(2, 9))
        if kind in (11, 12) and earlier and depth == 0:
            return Member("record", name, chance.choice(earlier))
        if kind == 13 and earlier and depth == 0:
            return Member("array", name, chance.choice(earlier), chance.randint(2, 5))
        if depth < 2:
            inside = [self._member(number, depth + 1) for _ in range(chance.randint(2, 4))]
            return Member("union" if kind == 14 else "struct", inside=inside)
        return Member("scalar", name, "long")

    def leaves(self, record: str, index: str = "1") -> Iterator[Leaf]:
        """The fields of a record; ``index``: in C, of arrays' elements."""
        own = self.every[record]
        for one in self._leaves(own.members, index):
            first = Place(record, one.path)
            aligned = one.is_aligned and not own.is_packed
            yield replace(one, places=(first, *one.places[1:]), is_aligned=aligned)

    def _leaves(self, members: list[Member], index: str) -> Iterator[Leaf]:
        for one in members:
            if one.word in ("struct", "union"):
                for leaf in self._leaves(one.inside, index):
                    yield replace(leaf, is_own=leaf.is_own and one.word == "struct")
            elif one.word in ("record", "array"):
                every = one.word == "array"
                expression = f"{one.name}[{index}]" if every else one.name
                path = f"{one.name}[]" if every else one.name
                for leaf in self.leaves(one.type, index):
                    places = (Place("", f"{path}.{leaf.path}"), *leaf.places)
                    yield replace(leaf, expression=f"{expression}.{leaf.expression}", places=places)
            elif one.word == "numbers":
                yield Leaf(f"{one.name}[{index}]", (Place("", f"{one.name}[]"),))
            else:
                pointer = one.type if one.word == "pointer" else ""
                yield Leaf(one.name, (Place("", one.name),), pointer, one.word == "bits")

    def inner(self, record: str) -> Iterator[tuple[str, str]]:
        """Members that are records: the name, and the type's."""
        for one in self.every[record].members:
            if one.word == "record" and one.type != "node":
                yield one.name, one.type
