"""A table in the layout of the 0-day robot's mails, with its statistics and its choice of rows.

Widths, formats and formulas are those of https://github.com/intel/lkp-tests at bbbc29c495d9:
lib/compare.rb (layout, changes, order), lib/statistics.rb (mean, deviation), lib/stats.rb and
lib/changed_stat.rb (what counts as changed). Where it differs from them on purpose, it says so.
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

    @property
    def changed(self) -> bool:
        """Whether on some kernel each run lies beyond the base's median, and the median beyond
        each of the base's runs. lkp-tests wants three runs of one side for that; here one is
        enough, as exact counts need no more."""
        base, *others = self.values
        return any(_apart(base, other) for other in others)

    @property
    def size(self) -> float:
        """The largest change without its sign."""
        return max((abs(change) for change in self.changes if change is not None), default=0)


@dataclass(frozen=True)
class Failures:
    """``failed`` of ``runs``, by kernel, base first."""

    name: str
    failed: list[int]
    runs: list[int]


def table(columns: Sequence[str], failures: Sequence[Failures], rows: Sequence[Row]) -> list[str]:
    """Lines with a head, failures first, in lkp-tests' order; without trailing blanks."""
    others = len(columns) - 1
    lines = [
        f"{columns[0][:_FIRST]:>{_FIRST}} "
        + "".join(f"{column[:_OTHER]:>{_OTHER}} " for column in columns[1:]),
        "-" * _FIRST + " " + ("-" * _OTHER + " ") * others,
    ]
    if failures:
        lines.append("       fail:runs" + "  %reproduction    fail:runs" * others)
        lines.append("           |    " + "         |             |    " * others)
        lines += [_failure_line(row) for row in sorted(failures, key=lambda row: row.name)]
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


def _apart(base: list[float], other: list[float]) -> bool:
    if not base or not other:
        return False
    first, second = _trimmed(base, 3), _trimmed(other, 1 if len(base) <= 3 else 3)
    return _beyond(first, second) or _beyond(second, first)


def _beyond(low: list[float], high: list[float]) -> bool:
    return high[0] > low[len(low) // 2] and high[len(high) // 2] > low[-1]


def _trimmed(values: list[float], most: int) -> list[float]:
    """Sorted, without one in 32 at either end, ``most`` at most."""
    margin = min(len(values) >> 5, most)
    return sorted(values)[margin : len(values) - margin]


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


def _failure_line(row: Failures) -> str:
    """Reproduction: the part of the runs that failed, less the base's. lkp-tests divides by the
    runs of the kernel to the left, which gives more than 100% where these are fewer."""
    cells = [
        f"{failed or '':>{_ABSOLUTE + 1}}:{runs:<{_ERROR - 2}d}"
        for failed, runs in zip(row.failed, row.runs, strict=True)
    ]
    parts = [
        failed / runs if runs else 0.0 for failed, runs in zip(row.failed, row.runs, strict=True)
    ]
    line = cells[0]
    for part, cell in zip(parts[1:], cells[1:], strict=True):
        line += f"{100 * (part - parts[0]):{_RELATIVE}.0f}% {cell}"
    return f"{line}  {row.name}"
