"""Counts as the tables of shared lines show them."""

from collections.abc import Mapping
from dataclasses import dataclass

from profdiff.base import units
from profdiff.views.sharing.records import SharingDocument

UNSURE, ABOUT = "?", "~"


@dataclass(frozen=True)
class Numbers:
    """Per op, each kernel by its own ``ops``, or of the whole window."""

    ops: Mapping[str, int]
    per_op: bool

    @staticmethod
    def of(document: SharingDocument, per_op: bool | None) -> "Numbers":
        """``per_op``: None means where all kernels have complete operations."""
        ops = {one.label: one.ops for one in document.kernels}
        return Numbers(ops, all(ops.values()) and per_op is not False)

    @property
    def title(self) -> str:
        """What stands behind a table's title."""
        told = list(dict.fromkeys(f"{one:,}" for one in self.ops.values()))
        return f" per op ({' and '.join(told)} ops)" if self.per_op else ""

    def each(self, label: str, value: int) -> float:
        """The same as a number."""
        return value / self.ops[label] if self.per_op else value

    def count(self, label: str, value: int) -> str:
        """A count of one kernel."""
        return units.count(value / self.ops[label], per_op=True) if self.per_op else f"{value:,}"

    def delta(self, base: str, label: str, values: Mapping[str, int]) -> str:
        """The difference of one kernel to the base."""
        if not self.per_op:
            return units.delta(values[label] - values[base])
        difference = values[label] / self.ops[label] - values[base] / self.ops[base]
        return units.delta(difference, per_op=True)
