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
        return f" per op ({units.counted(self.ops, 'op')})" if self.ops else ""

    @property
    def relative(self) -> str:
        """What a column of changes is called."""
        return "ratio" if self.ratios else "change"

    def count(self, value: float) -> str:
        """A count."""
        return units.count(value / (self.ops or 1), per_op=_has_decimals(value, self.ops))

    def delta(self, value: float) -> str:
        """A difference, with its sign."""
        return units.delta(value / (self.ops or 1), per_op=_has_decimals(value, self.ops))

    def change(self, base: int, other: int) -> str:
        """How ``other`` compares with ``base``."""
        return units.ratio(base, other) if self.ratios else units.change(base, other)


def _has_decimals(value: float, ops: int | None) -> bool:
    """Whether a value is shown with decimals: per op, or where it is a fraction."""
    return ops is not None or isinstance(value, float)
