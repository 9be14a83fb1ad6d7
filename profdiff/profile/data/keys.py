"""What is accessed, by names that two kernels have in common."""

import re
from collections import defaultdict
from typing import Literal, NamedTuple

from profdiff.profile.function_identity import fold
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import KINDS, REASONS, DataAccesses

Group = Literal["data", "stack", "unresolved"]

NOT_COVERED = "not-covered"
"""The reason of what an executed instruction accesses of which the accesses say nothing."""

ANY = "*"
"""Stands for a field that is not known, since its offset is computed."""

_STACK = ("stack-variable", "spill", "canary", "push", "call")
_VARIABLES = ("global", "per-cpu")
# Static variables of functions: GCC appends a number.
_NUMBER = re.compile(r"(?:\.\d+)+\Z")
_DETAILS = int(known.AMBIGUOUS | known.WIDER | known.COMPUTED | known.REPEATED)


class Key(NamedTuple):
    """``kind``: one of ``KINDS``, *variable* for *global* and *per-cpu*. ``path``: the field.
    ``alternatives``: other paths of the type that may be meant; ``covers``: other paths that the
    access reaches as well; ``computed``: any field below ``path`` may be meant. ``reason``: why an
    unresolved one is that."""

    kind: str
    type: str = ""
    symbol: str = ""
    path: str = ""
    alternatives: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()
    computed: bool = False
    reason: str = ""

    @property
    def group(self) -> Group:
        """Which table it belongs to."""
        if self.kind == "unresolved":
            return "unresolved"
        return "stack" if self.kind in _STACK else "data"

    @property
    def place(self) -> str:
        """The path, as rows are told apart by it."""
        return f"{self.path}.{ANY}".removeprefix(".") if self.computed else self.path

    @property
    def owner(self) -> tuple[str, ...]:
        """What the field is a part of: what two kernels must agree in."""
        if self.kind == "variable":
            return (self.kind, self.symbol)
        return (self.kind, self.symbol, self.type, self.reason)


def folded(symbol: str) -> str:
    """A variable's name as the source has it: ``ratelimit.12`` is ``ratelimit``."""
    return _NUMBER.sub("", fold(symbol)[0]) or symbol


class Layouts:
    """The types of one kernel: how large they are, and where their fields lie, by path."""

    def __init__(self, accesses: DataAccesses) -> None:
        strings = accesses.strings
        names = [strings[name] for name in accesses.layout_type.tolist()]
        self.sizes = dict(zip(names, accesses.layout_size.tolist(), strict=True))
        self.fields: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
        columns = (
            accesses.field_type,
            accesses.field_name,
            accesses.field_offset,
            accesses.field_size,
        )
        for of, name, offset, size in zip(*(column.tolist() for column in columns), strict=True):
            self.fields[names[of]][strings[name]] = (offset, size)

    def field_size(self, type_: str, path: str) -> int | None:
        """In bytes; None where it is not known, or no whole number."""
        found = self.fields[type_].get(path) if type_ in self.fields else None
        return found[1] // 8 if found and found[1] and found[1] % 8 == 0 else None

    def reached(self, type_: str, path: str, start: int, size: int | None) -> frozenset[str]:
        """The other fields that bytes from ``start`` on touch; ``size``: None up to the end."""
        fields = self.fields.get(type_, {})
        end = None if size is None else 8 * (start + size)
        return frozenset(
            name
            for name, (offset, bits) in fields.items()
            if offset + bits > 8 * start and (end is None or offset < end) and name != path
        )

    def same_place(self, one: str, other: str, path: str) -> bool:
        """Whether two types have a field of this path at the same offset."""
        mine, theirs = (self.fields.get(of, {}).get(path) for of in (one, other))
        return mine is not None and theirs is not None and mine[0] == theirs[0]


class KeyMaker:
    """The keys of one kernel's accesses. ``fold_folios``: fields that folio has of page are
    page's."""

    def __init__(self, accesses: DataAccesses, *, fold_folios: bool = False) -> None:
        self._accesses, self._fold = accesses, fold_folios
        self.layouts = Layouts(accesses)
        self._made: dict[tuple[int, ...], Key] = {}
        names = ("kind", "reason", "type", "symbol", "field", "alternatives", "flags", "offset")
        self._columns = [getattr(accesses, name) for name in (*names, "size")]

    def key(self, row: int) -> Key:
        """The key of an access, by its row."""
        kind, reason, type_, symbol, field, alternatives, flags, *at = (
            int(column[row]) for column in self._columns
        )
        flags &= _DETAILS
        at = at if flags & int(known.WIDER | known.REPEATED) else []
        told = (kind, reason, type_, symbol, field, alternatives, flags, *at)
        found = self._made.get(told)
        if found is None:
            found = self._made[told] = self._key(row, KINDS[kind], flags)
        return found

    def _key(self, row: int, kind: str, flags: int) -> Key:
        accesses, strings = self._accesses, self._accesses.strings
        if kind == "unresolved":
            return Key(kind, reason=REASONS[int(accesses.reason[row])])
        type_, symbol, path, others = (
            strings[int(column[row])]
            for column in (accesses.type, accesses.symbol, accesses.field, accesses.alternatives)
        )
        if kind in ("spill", "canary", "push", "call"):
            return Key(kind)
        alternatives = frozenset(others.split("|") if others else ()) - {path}
        covers: frozenset[str] = frozenset()
        if flags & int(known.WIDER | known.REPEATED):
            size = None if flags & int(known.REPEATED) else int(accesses.size[row])
            covers = self.layouts.reached(type_, path, int(accesses.offset[row]), size)
        if self._fold and kind == "field":
            type_, path = self._page(type_, path)
        return Key(
            "variable" if kind in _VARIABLES else kind,
            type_,
            folded(symbol) if kind != "field" else "",
            path,
            alternatives if flags & int(known.AMBIGUOUS) else frozenset(),
            covers,
            bool(flags & int(known.COMPUTED)),
        )

    def _page(self, type_: str, path: str) -> tuple[str, str]:
        if type_ == "folio" and path.startswith("page."):
            return "page", path.removeprefix("page.")
        if type_ == "folio" and self.layouts.same_place("folio", "page", path):
            return "page", path
        return type_, path
