"""What lies where in a kernel's types, by the layouts whose oracles are gdb and pahole."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from profdiff.symbolization.type_layout import Field, TypeLayout, layouts

_ARRAY = re.compile(r"(.*?)((?:\[\d*\])+)$")


class Member(NamedTuple):
    """A member that is a record, or an array of them. ``end``: where its last element ends."""

    start: int
    end: int
    record: str


class KernelTypes:
    """Of one file with DWARF."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, TypeLayout | None] = {}
        self.members = cache(self._members)
        self.embeds = cache(self._embeds)

    def load(self, names: set[str]) -> None:
        """Read many types at once, and those within them."""
        wanted = {name for name in names if name not in self._known}
        while wanted:
            ordered = sorted(wanted)
            self._known.update(zip(ordered, layouts(self._path, ordered).found, strict=True))
            inside = {
                _record(name, field)[0]
                for name in ordered
                if (layout := self._known[name])
                for field in layout.fields
            }
            wanted = {name for name in inside if name and name not in self._known}

    def _layout(self, name: str) -> TypeLayout | None:
        self.load({name})
        return self._known[name]

    def size(self, name: str) -> int:
        """Of a record in bytes; 0 of what is none."""
        layout = self._layout(name)
        return layout.size if layout else 0

    def has(self, record: str, name: str) -> bool:
        layout = self._layout(record)
        return bool(layout) and any(one.name == name for one in layout.fields)

    def bits(self, record: str, name: str) -> tuple[int, int]:
        """Offset and size of a field, in bits."""
        layout = self._layout(record)
        assert layout
        return next((one.bit_offset, one.bit_size) for one in layout.fields if one.name == name)

    def _members(self, record: str) -> list[Member]:
        layout = self._layout(record)
        found = []
        for field in layout.fields if layout else ():
            name, is_array = _record(record, field)
            if layout and name and self.size(name):
                # Those of a member are told from the start of what it is one of.
                start, size = field.bit_offset // 8 - layout.start, field.bit_size // 8
                # A flexible array goes on.
                end = start + size if size or not is_array else 1 << 40
                found.append(Member(start, end, name))
        return found

    def _embeds(self, record: str, offset: int, inner: str) -> bool:
        """Whether an `inner` begins at an offset of a record."""
        if self.same(record, inner):
            return offset == 0
        for member in self.members(record):
            if member.start <= offset < member.end:
                within = (offset - member.start) % self.size(member.record)
                if self.embeds(member.record, within, inner):
                    return True
        return False

    def same(self, one: str, other: str) -> bool:
        """Whether two names are of the same type, one as a typedef."""
        return one == other or self._layout(one) == self._layout(other) is not None

    def around(self, record: str, offset: int, inner: str) -> bool:
        """Whether an `inner` has an offset of a record within it."""
        if self.same(record, inner):
            return True  # also behind its end, where a flexible array is
        first = offset - self.size(inner) + 1
        return any(self.embeds(record, at, inner) for at in range(max(first, 0), offset + 1))


def _record(outer: str, field: Field) -> tuple[str, bool]:
    """The name of the record that a member of another is, or has elements of, and whether it has;
    "" where it is none."""
    match = _ARRAY.fullmatch(field.type)
    text = match[1] if match else field.type
    if "{" in text:
        # Without a name of its own; what an array of those has is not told.
        return ("", False) if match else (f"{outer}.{field.name}", False)
    text = text.removeprefix("const ").removeprefix("volatile ").strip()
    if "*" in text or "(" in text:
        return "", False
    return text.removeprefix("struct ").removeprefix("union ").removeprefix("enum "), bool(match)
