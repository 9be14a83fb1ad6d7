"""Counts and their changes as the tables of functions show them."""

import msgspec

from profdiff.base import units


class Numbers(msgspec.Struct, frozen=True):
    """Whole counts, or per op where ``ops`` is given; changes in percent, or as ``ratios``."""

    ops: int | None = None
    ratios: bool = False

    @property
    def title(self) -> str:
        """What stands behind a metric's name."""
        return f" per op ({self.ops:,} ops)" if self.ops else ""

    @property
    def relative(self) -> str:
        """What a column of changes is called."""
        return "ratio" if self.ratios else "change"

    def count(self, value: int) -> str:
        """A count."""
        return units.count(value / self.ops, per_op=True) if self.ops else units.count(value)

    def delta(self, value: int) -> str:
        """A difference, with its sign."""
        return units.delta(value / self.ops, per_op=True) if self.ops else units.delta(value)

    def change(self, base: int, other: int) -> str:
        """How ``other`` compares with ``base``."""
        return units.ratio(base, other) if self.ratios else units.change(base, other)
