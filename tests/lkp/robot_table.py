"""Writes a table as the 0-day robot does, for what reads it.

Widths, formats and formulas are those of https://github.com/intel/lkp-tests at bbbc29c495d9:
lib/compare.rb (layout, changes, order) and lib/statistics.rb (mean, deviation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ABSOLUTE, _RELATIVE, _ERROR = 10, 10, 6
_FIRST = _ABSOLUTE + _ERROR
_OTHER = _FIRST + _RELATIVE + 1
# A deviation of so many percent of the mean, or less, is not printed.
_QUIET = 2
_PROFILE = "perf-profile"


@dataclass(frozen=True)
class Row:
    """``values``: by kernel, base first, and by run."""

    name: str
    values: list[list[float]]

    @property
    def in_points(self) -> bool:
        """Whether the values are percentages, whose change is a difference."""
        return self.name.startswith(_PROFILE) or self.name.endswith("%")

    @property
    def means(self) -> list[float | None]:
        """By kernel; None without a run, where lkp-tests has 0."""
        return [math.fsum(runs) / len(runs) if runs else None for runs in self.values]

    @property
    def changes(self) -> list[float | None]:
        """For each kernel but the base: points, or percent of the base's mean."""
        base, *others = self.means
        return [self._change(base, other) for other in others]

    def _change(self, base: float | None, other: float | None) -> float | None:
        if base is None or other is None:
            return None
        if self.in_points:
            return other - base
        # Like lkp-tests, this takes a base of zero for 1e-100; two zeros are not a change.
        return 100 * (other - base) / (base or 1e-100) if other != base else 0.0


def table(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Lines with a head, in lkp-tests' order; without trailing blanks."""
    others = len(columns) - 1
    lines = [
        f"{columns[0][:_FIRST]:>{_FIRST}} "
        + "".join(f"{column[:_OTHER]:>{_OTHER}} " for column in columns[1:]),
        "-" * _FIRST + " " + ("-" * _OTHER + " ") * others,
    ]
    if rows:
        lines.append("         %stddev" + "     %change         %stddev" * others)
        lines.append("             \\  " + "        |                \\  " * others)
        lines += [_line(row) for row in sorted(rows, key=_order)]
    return [line.rstrip() for line in lines]


def _order(row: Row) -> tuple[bool, str, list[float], str]:
    """The workload's own numbers by name, then shares by kind and change."""
    profile = row.name.startswith(_PROFILE)
    key = ".".join(row.name.split(".")[:2]) if profile else row.name
    return profile, key, [change or 0 for change in row.changes], row.name


def _line(row: Row) -> str:
    cells = [_value(mean) + _spread(runs) for mean, runs in zip(row.means, row.values, strict=True)]
    changes = [_change(change, in_points=row.in_points) for change in row.changes]
    between = "".join(change + cell for change, cell in zip(changes, cells[1:], strict=True))
    return f"{cells[0]}{between}  {row.name}"


def _value(mean: float | None) -> str:
    if mean is None:
        return f"{'-':>{_ABSOLUTE}}"
    if abs(mean) < 1000:
        return f"{mean:{_ABSOLUTE}.2f}"
    if abs(mean) > 100_000_000:
        return f"{mean:{_ABSOLUTE}.4g}"
    # Ruby's %d rounds down.
    return f"{math.floor(mean):{_ABSOLUTE}d}"


def _spread(runs: list[float]) -> str:
    """100 times the standard deviation (divisor n) by the mean. A single run has none; lkp-tests
    takes it for -1, which shows where a mean is negative."""
    if len(runs) > 1:
        mean = math.fsum(runs) / len(runs)
        # Not by squares, which overflow.
        deviation = math.hypot(*(value - mean for value in runs)) / math.sqrt(len(runs))
        percent = 100 * deviation / mean if mean else deviation
        if _QUIET < percent < math.inf:
            return f" ±{math.floor(percent):{_ERROR - 3}d}%"
    return " " * _ERROR


def _change(change: float | None, *, in_points: bool) -> str:
    if change is None:
        return " " * (_RELATIVE + 2)
    text = f"{change:+{_RELATIVE}.{'1f' if abs(change) < 100_000 else '2g'}}"
    return f"{text}  " if in_points else f"{text}% "
