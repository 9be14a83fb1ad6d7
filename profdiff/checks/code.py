"""What no table has, measured: how large functions are and where they are inlined, in which lines
of the cache the fields of types lie; and how often items of the inventory ran."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.names import suggesting
from profdiff.checks.names import INLINED, LAYOUT, SIZE
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.difference import summed
from profdiff.evidence.events import REASONS
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.data.type_layout import (
    AccessedType,
    AllAccessed,
    FieldPlace,
    accessed,
    accessed_types,
)
from profdiff.profile.inline_sites import CodeSizes, Inlining, code_sizes, inlining
from profdiff.topics.inventory.measure import Inventory

_NO_COUNTS = "only exact counts tell what is accessed: record with --collector exact"
_MAX_NAMES = 3
_SIDES: dict[str, Side] = {"kernel": "kernel", "user": "user"}


class CodeChanges:
    """Changes of the code behind the exact metric at one setting, and of where types lie that it
    accesses. Each figure is made when it is first needed."""

    def __init__(self, findings: Findings) -> None:
        self._findings, self._session = findings, findings.session

    @cached_property
    def _inlining(self) -> Inlining | None:
        return inlining(self._findings.exact) if self._findings.exact else None

    @cached_property
    def _sizes(self) -> CodeSizes | None:
        exact = self._findings.exact
        return code_sizes(exact, self._session) if exact else None

    @cached_property
    def _inventory(self) -> Inventory | None:
        try:
            return Inventory(self._findings)
        except InputError:
            return None

    @cached_property
    def _accessed(self) -> AllAccessed:
        exact = self._findings.exact
        return accessed(exact, self._session) if exact else AllAccessed([None], [_NO_COUNTS])

    @cached_property
    def _types(self) -> dict[str, AccessedType]:
        return {one.name: one for one in accessed_types(self._accessed.kernels)}

    def names(self) -> Sequence[str]:
        """Those of ``CODE`` that are known."""
        exact = self._findings.exact
        return () if exact is None else (*class_names(exact), SIZE, INLINED)

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The change on every kernel but the base; namesakes add up. Nothing for what is
        unknown."""
        exact = self._findings.exact
        if exact is None:
            return
        if condition.metric == INLINED:
            yield from self._inlined(exact, condition.what)
        elif condition.metric == SIZE:
            yield from self._of_size(exact, condition.what)
        elif self._inventory is not None:
            yield from self._of_item(self._inventory, condition)

    def layout_changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The same of where a type lies; what is not known is inconclusive, with the reason."""
        exact = self._findings.exact
        labels = exact.labels if exact else self._findings.results.labels
        for kernel, label in enumerate(labels[1:], 1):
            try:
                change = self._of_type(condition, labels, kernel)
            except InputError as error:
                change = MeasuredChange.unknown(label, str(error))
            yield replace(change, of_row=True)

    def _of_item(self, inventory: Inventory, condition: Condition) -> Iterator[MeasuredChange]:
        """As sure as the inventory is of the same difference."""
        function = condition.what if condition.function else ""
        rows = inventory.named(condition.metric, _SIDES.get(condition.what), function)
        labels = inventory.labels[1:] if rows else []
        for number, label in enumerate(labels):
            counts = [sum(row.counts[at] or 0 for row in rows) for at in (0, number + 1)]
            difference = summed([one for row in rows if (one := row.changes[number])])
            yield MeasuredChange.of_difference(
                label,
                condition,
                counts,
                difference,
                inventory.comparison.ops,
                note=REASONS.get(difference.verdict, ""),
                of_row=False,
            )

    def _inlined(self, comparison: Comparison, name: str) -> Iterator[MeasuredChange]:
        found = self._inlining
        if found is None:
            return
        rows = _rows_of(comparison, name)
        copies = found.copies[rows].sum(axis=0).tolist()
        called = found.called[rows].sum(axis=0).tolist()
        labels = comparison.labels
        words = [_where(comparison, found, rows, kernel) for kernel in range(len(labels))]
        # Whether it executed inlined, and whether by itself.
        ways = [(own > 0, alone > 0) for own, alone in zip(copies, called, strict=True)]
        for kernel in range(1, len(labels)):
            known = all(found.known[[0, kernel]]) and any(ways[0]) and any(ways[kernel])
            yield MeasuredChange(
                kernel=labels[kernel],
                base=copies[0],
                other=copies[kernel],
                low=np.nan,
                high=np.nan,
                note=f"{words[kernel]} ({labels[0]}: {words[0]})",
                differs=ways[0] != ways[kernel] if known else None,
            )

    def _of_size(self, comparison: Comparison, name: str) -> Iterator[MeasuredChange]:
        found = self._sizes
        if found is None:
            return
        rows, labels = _rows_of(comparison, name), comparison.labels
        size = found.size[rows].sum(axis=0).tolist()
        in_kernel = any(comparison.functions[row].in_kernel for row in rows)
        for kernel in range(1, len(labels)):
            unknown = [
                f"{found.missing[side] or 'not executed'} ({labels[side]})"
                for side in (0, kernel)
                if not size[side]
            ]
            yield MeasuredChange.of_ends(
                labels[kernel],
                size[0],
                size[kernel],
                (size[kernel] - size[0],) * 2,
                decided=not unknown,
                unit="B",
                note="bytes of code" if not unknown else "",
                undecided="; ".join(unknown)
                if in_kernel
                else "sizes are of kernel functions alone",
            )

    def _of_type(self, condition: Condition, labels: Sequence[str], kernel: int) -> MeasuredChange:
        """On one kernel. Raises InputError where it is not known."""
        for at in (0, kernel) if self._findings.exact else (0,):
            if self._accessed.kernels[at] is None:
                why = self._accessed.missing[at]
                raise InputError(f"accessed data is not known: {why} ({labels[at]})")
        name, _, field = condition.what.partition(".")
        type_ = self._types.get(name)
        if type_ is None:
            why = suggesting(f"no kernel accesses a type {name}", name, [*self._types])
            return MeasuredChange.unknown(labels[kernel], why, absent=True)
        lacking = [labels[at] for at in (0, kernel) if type_.layouts[at] is None]
        if lacking:
            raise InputError(f"{units.listed(lacking)} accesses nothing of {name}")
        if condition.metric == LAYOUT:
            return self._moved(type_, field, labels, kernel)
        base, other = (type_.lines(at) or 0 for at in (0, kernel))
        return MeasuredChange.of_ends(
            labels[kernel],
            base,
            other,
            (other - base,) * 2,
            note="lines, if objects are aligned to one",
        )

    def _moved(
        self, type_: AccessedType, field: str, labels: Sequence[str], kernel: int
    ) -> MeasuredChange:
        """Whether a field, or all fields of a member, lie in other lines than on the base. Raises
        InputError where the base has no such field."""
        layouts = (type_.layouts[at] for at in (0, kernel))
        base, other = (None if layout is None else layout.place(field) for layout in layouts)
        what = f"{type_.name}.{field}"
        if base is None:
            layout = type_.layouts[0]
            known = set(_members(layout.leaves)) if layout else set[str]()
            why = f"{type_.name} has no {field} on {labels[0]}"
            raise InputError(suggesting(why, field, known))
        first = _words(base)
        return MeasuredChange(
            kernel=labels[kernel],
            base=base.lines[0],
            other=math.nan if other is None else other.lines[0],
            low=math.nan,
            high=math.nan,
            differs=other is None or base.lines != other.lines,
            note=f"{what} is not there ({labels[0]}: {first})"
            if other is None
            else f"{what} in {_words(other)} ({labels[0]}: {first})",
        )


def _rows_of(comparison: Comparison, name: str) -> list[int]:
    return [row for row, function in enumerate(comparison.functions) if function.name == name]


def _where(comparison: Comparison, found: Inlining, rows: Sequence[int], kernel: int) -> str:
    """How a kernel executes a function, in words."""
    if not found.known[kernel]:
        return "inlined functions are not visible"
    into = sorted({caller for row in rows for caller in found.callers[kernel].get(row, ())})
    names = [comparison.functions[row].name for row in into]
    copies, called = int(found.copies[rows, kernel].sum()), found.called[rows, kernel].any()
    if not copies:
        return "not inlined" if called else "not executed"
    words = f"inlined into {units.few(names, _MAX_NAMES, last=', ')}"
    words += f" in {copies} places" if copies > 1 else ""
    return f"{words}, and called" if called else words


def _words(place: FieldPlace) -> str:
    """In which lines a field lies."""
    lines = place.lines
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"


def _members(paths: Iterable[str]) -> Iterator[str]:
    """Paths, and those of the members on the way."""
    for path in paths:
        parts = path.split(".")
        yield from (".".join(parts[:number]) for number in range(1, len(parts) + 1))
