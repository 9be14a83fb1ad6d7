"""Which accesses of several kernels are of one field: rows that compare.

A field is paired by the same type and path; one that only some kernels name, with one that only
others name, if its path goes on where the other's ends (``flags``, ``flags.f``), or if both may be
the same member of a union. Members of a union that cannot be told apart are one row. What is
paired does not depend on the order of the kernels, and each
access is in exactly one row.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from profdiff.base.units import LINE
from profdiff.profile.data.cells import Cells
from profdiff.profile.data.keys import ANY

By = Literal["field", "type", "line"]

# Names of one place, and on which kernels each is used.
_Used = Mapping[str, frozenset[int]]


def rows(cells: Cells, by: By) -> list[list[int]]:
    """The cells of each row: of one direction, one kind of data, and one field, type or line."""
    if by == "field":
        return _by_field(cells)
    found: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, cell in enumerate(cells.cells):
        key = cells.keys[cell.key]
        line: int | None = None
        if by == "line" and cell.offset is not None:
            line = cell.offset // LINE
        found[cell.store, *key.owner, line].append(number)
    return list(found.values())


def _by_field(cells: Cells) -> list[list[int]]:
    owners: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, cell in enumerate(cells.cells):
        owners[cell.store, *cells.keys[cell.key].owner].append(number)
    found = []
    for members in owners.values():
        own: defaultdict[str, list[int]] = defaultdict(list)
        for number in members:
            own[cells.keys[cells.cells[number].key].place].append(number)
        found += [
            [number for path in group for number in own[path]] for group in _paired(cells, own)
        ]
    return found


def _paired(cells: Cells, own: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """The paths of one type as groups."""
    used: dict[str, frozenset[int]] = {}
    meant: dict[str, frozenset[str]] = {}
    for path, members in own.items():
        used[path] = frozenset(
            kernel
            for number in members
            for kernel in range(cells.kernels)
            if cells.low[number][kernel] or cells.high[number][kernel]
        )
        keys = (cells.keys[cells.cells[number].key] for number in members)
        meant[path] = frozenset({path}.union(*(key.alternatives for key in keys)))
    return grouped(used, meant)


def grouped(used: _Used, meant: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Groups of paths that are one field. ``used``: on which kernels each path is accessed;
    ``meant``: what each may be, with itself."""
    joined = _Joined(used)
    for path in sorted(used):
        for shorter in _prefixes(path):
            if shorter in used and used[shorter].isdisjoint(used[path]):
                joined.join(path, shorter)
    # Accesses that may be of a field or of another one of the union: only their sum is known.
    for path in sorted(used):
        for name in meant[path]:
            if name in used:
                joined.join(path, name)
    paired = {path for path in used if len(joined.members(path)) > 1}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(used):
        for name in meant[path]:
            alike[name].append(path)
    # All pairs are looked for before any is joined: the order must not matter.
    pairs = [
        (one, other)
        for paths in alike.values()
        for number, one in enumerate(paths)
        for other in paths[number + 1 :]
        if used[one].isdisjoint(used[other]) and not {one, other} & paired
    ]
    for one, other in pairs:
        joined.join(one, other)
    return joined.groups()


def _prefixes(path: str) -> list[str]:
    """``a.b``, ``a[]``, ``a`` and the whole for ``a[].b.c``; none where the field is computed."""
    if not path or path.endswith(ANY):
        return []
    ends = [at for at in range(1, len(path)) if path.startswith((".", "[]"), at)]
    return [*(path[:at] for at in reversed(ends)), ""]


class _Joined:
    """Groups that grow together."""

    def __init__(self, paths: Collection[str]) -> None:
        self._group = {path: [path] for path in paths}

    def members(self, path: str) -> list[str]:
        """Those that are with ``path``."""
        return self._group[path]

    def join(self, one: str, other: str) -> None:
        """Put two groups together."""
        mine, theirs = self._group[one], self._group[other]
        if mine is not theirs:
            mine += theirs
            self._group |= dict.fromkeys(theirs, mine)

    def groups(self) -> list[list[str]]:
        """All of them, each once."""
        return [list(one) for one in {id(group): group for group in self._group.values()}.values()]
