"""The records of one kernel: what lies where in them."""

from collections.abc import Iterator

from profdiff.profile.data.keys import Layouts
from profdiff.profile.sharing.instructions import Said
from profdiff.profile.sharing.names import PRIMITIVES, cut
from profdiff.symbolization.data_accesses import DataAccesses


class Records:
    """``accesses``: None where nothing is known."""

    def __init__(self, accesses: DataAccesses | None) -> None:
        self._layouts = None if accesses is None else Layouts(accesses)
        # By record and path, the members that are one of PRIMITIVES.
        self._members = set(_members(accesses)) if accesses is not None else set()
        self._embedded: dict[tuple[str, str, int], str | None] = {}
        self._leaves: dict[tuple[str, int], str] = {}
        self._cut: dict[tuple[str, str], str] = {}
        self._inside: dict[tuple[str, str], bool] = {}
        self._alignments = dict(_declared(accesses)) if accesses is not None else {}
        self._words: dict[str, int] = {}
        self._parts: dict[tuple[str, str, int], bool] = {}
        self._lacking: dict[tuple[str, str], bool] = {}

    def size(self, type_: str) -> int:
        """In bytes; 0: unknown."""
        return self._layouts.sizes.get(type_, 0) if self._layouts else 0

    def _fields(self, type_: str) -> dict[str, tuple[int, int]]:
        if self._layouts is None or type_ not in self._layouts.fields:
            return {}
        return self._layouts.fields[type_]

    def embedded(self, outer: str, said: Said, offset: int) -> str | None:
        """The path in the record ``outer`` of what an instruction names as a part of a smaller
        record, at ``offset`` in the outer one; None where that has no such member there. Where the
        outer one has the same in a union with it, that is it: ``folio._refcount``, not
        ``folio.page._refcount``."""
        path = self.at(outer, said.path, offset) if said.kind == "field" else None
        own = self._fields(outer).get(said.path)
        return said.path if path and own and own[0] == 8 * offset else path

    def at(self, outer: str, inner: str, offset: int) -> str | None:
        """The path in a record that ends with the path ``inner``, and is at an offset."""
        key = outer, inner, offset
        if key not in self._embedded:
            self._embedded[key] = self._find(outer, f".{inner}", offset) if inner else None
        return self._embedded[key]

    def has(self, outer: str, inner: str, offset: int) -> bool:
        """Whether a record has another one at an offset."""
        key = outer, inner, offset
        if key not in self._parts:
            fields = self._fields(inner)
            self._parts[key] = bool(fields) and all(
                "[]" in path or self.at(outer, path, offset + start // 8) is not None
                for path, (start, _) in fields.items()
            )
        return self._parts[key]

    def alignment(self, type_: str) -> int:
        """What the addresses of such records are a multiple of, at least: as declared, or as words
        in it are."""
        if type_ not in self._words:
            of = [
                bits // 8
                for start, bits in self._fields(type_).values()
                if bits in (16, 32, 64) and not start % bits
            ]
            self._words[type_] = max(*of, self._alignments.get(type_, 0), 1)
        return self._words[type_]

    def _find(self, outer: str, end: str, offset: int) -> str | None:
        fields, found = self._fields(outer), list[str]()
        for path, (start, bits) in fields.items():
            if not path.endswith(end):
                continue
            array = path.rfind("[]", 0, len(path) - len(end) + 1)
            if array < 0:
                inside = start == 8 * offset
            else:
                start, bits = fields.get(path[: array + 2], (start, bits))
                inside = start <= 8 * offset < start + bits
            if inside:
                found.append(path)
        return min(found, key=lambda path: (len(path), path), default=None)

    def leaf(self, type_: str, offset: int) -> str:
        """The path of the smallest field with the byte at an offset; "" where there is none."""
        key = type_, offset
        if key not in self._leaves:
            inside = [
                (bits, len(path), path)
                for path, (start, bits) in self._fields(type_).items()
                if start <= 8 * offset < start + bits
            ]
            self._leaves[key] = min(inside)[2] if inside else ""
        return self._leaves[key]

    def within(self, type_: str, start: int, end: int) -> Iterator[str]:
        """The paths of a record that begin from one offset on, before another one, without those of
        arrays that do not end there."""
        fields = self._fields(type_)
        for path, (bit, _) in fields.items():
            array, _, _ = path.partition("[]")
            first, bits = fields.get(f"{array}[]", (bit, 0)) if array != path else (bit, 0)
            if 8 * start <= bit < 8 * end and first + bits <= 8 * end:
                yield path

    def start(self, type_: str, path: str) -> int | None:
        """Where a member of a record begins, in bits; None where that is not known."""
        inside = (f"{path}.", f"{path}[")
        fields = self._fields(type_).items()
        return min(
            (at for one, (at, _) in fields if one == path or one.startswith(inside)), default=None
        )

    def lacks(self, type_: str, path: str) -> bool:
        """Whether a record that is known has no such member."""
        key = type_, path
        if key not in self._lacking:
            fields, inside = self._fields(type_), (f"{path}.", f"{path}[")
            there = any(field == path or field.startswith(inside) for field in fields)
            self._lacking[key] = bool(fields) and not there
        return self._lacking[key]

    def cut(self, type_: str, path: str) -> str:
        """``path`` in a record up to the first member that is one of ``PRIMITIVES``."""
        key = type_, path
        if key not in self._cut:
            parts = path.split(".") if type_ not in PRIMITIVES else []
            members = (".".join(parts[:number]) for number in range(1, len(parts)))
            found = (member for member in members if self._is_primitive(type_, member))
            self._cut[key] = cut(type_, next(found, path), ())
        return self._cut[key]

    def _is_primitive(self, type_: str, member: str) -> bool:
        """Whether instructions say so, or the member has the fields of one and no others."""
        if (type_, member) in self._members:
            return True
        if (type_, member) not in self._inside:
            fields, start = self._fields(type_), f"{member}."
            inside = {
                path[len(start) :]: at for path, at in fields.items() if path[: len(start)] == start
            }
            first = min((offset for offset, _ in inside.values()), default=0)
            shape = {path: (offset - first, bits) for path, (offset, bits) in inside.items()}
            alike = any(shape and self._fields(primitive) == shape for primitive in PRIMITIVES)
            self._inside[type_, member] = alike
        return self._inside[type_, member]


def _declared(accesses: DataAccesses) -> Iterator[tuple[str, int]]:
    """What records are declared to be aligned to."""
    columns = accesses.layout_type.tolist(), accesses.layout_alignment.tolist()
    for name, alignment in zip(*columns, strict=True):
        yield accesses.strings[name], alignment


def _members(accesses: DataAccesses) -> Iterator[tuple[str, str]]:
    strings = accesses.strings
    columns = (one.tolist() for one in (accesses.type, accesses.field, accesses.nested))
    for type_, field, nested in set(zip(*columns, strict=True)):
        path = strings[field]
        for one in strings[nested].split("|") if nested else ():
            record, _, rest = one.partition(":")
            end = len(path) - len(rest) - 1
            if record in PRIMITIVES and end > 0:
                yield strings[type_], path[:end]
