"""What a condition on code is about, measured: classes of instructions, inlining."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from profdiff.base import units
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.conditions.measured_change import of_counts
from profdiff.evidence.conditions.names import INLINED, SIZE
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.inline_sites import CodeSizes, Inlining, code_sizes, inlining

_NAMED = 3
_SIDES: dict[str, Side] = {"kernel": "kernel", "user": "user"}


class CodeChanges:
    """Changes of the code behind the exact metric at one setting. Each figure is made when it is
    first asked for."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._session, self._at = findings.session, findings.setting.title

    @property
    def _comparison(self) -> Comparison | None:
        return self._findings.exact

    @cached_property
    def _inlining(self) -> Inlining | None:
        return inlining(self._comparison) if self._comparison else None

    @cached_property
    def _sizes(self) -> CodeSizes | None:
        return code_sizes(self._comparison, self._session) if self._comparison else None

    def names(self) -> Sequence[str]:
        """Those of ``CODE`` that are known."""
        if self._comparison is None:
            return ()
        return (*class_names(self._comparison), SIZE, INLINED)

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The change on every kernel but the base; namesakes add up. Nothing for what is
        unknown."""
        comparison = self._comparison
        if comparison is None:
            return
        if condition.metric == INLINED:
            found = self._inlined(comparison, condition.what)
        elif condition.metric == SIZE:
            found = self._of_size(comparison, condition.what)
        else:
            found = self._of_class(comparison, condition)
        yield from (replace(change, at=self._at) for change in found)

    def _of_class(self, comparison: Comparison, condition: Condition) -> Iterator[MeasuredChange]:
        found = self._findings.classes
        if found is None or condition.metric not in found.names:
            return
        if condition.function:
            rows = np.array(_named(comparison, condition.what))
        else:
            rows = found.rows(_SIDES.get(condition.what))
        counts = found.run_counts[rows, found.names.index(condition.metric)].sum(axis=0)
        yield from (change for change, _ in of_counts(comparison, counts, condition))

    def _inlined(self, comparison: Comparison, name: str) -> Iterator[MeasuredChange]:
        found = self._inlining
        if found is None:
            return
        rows = _named(comparison, name)
        copies = found.copies[rows].sum(axis=0).tolist()
        called = found.called[rows].sum(axis=0).tolist()
        labels = comparison.labels
        told = [_where(comparison, found, rows, kernel) for kernel in range(len(labels))]
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
                note=f"{told[kernel]} ({labels[0]}: {told[0]})",
                differs=ways[0] != ways[kernel] if known else None,
            )

    def _of_size(self, comparison: Comparison, name: str) -> Iterator[MeasuredChange]:
        found = self._sizes
        if found is None:
            return
        rows, labels = _named(comparison, name), comparison.labels
        size = found.size[rows].sum(axis=0).tolist()
        in_kernel = any(comparison.functions[row].in_kernel for row in rows)
        for kernel in range(1, len(labels)):
            base, other = size[0], size[kernel]
            unknown = [
                f"{found.missing[one] or 'not executed'} ({labels[one]})"
                for one in (0, kernel)
                if not size[one]
            ]
            change = (other - base) / base if base else math.nan
            yield MeasuredChange(
                kernel=labels[kernel],
                base=base,
                other=other,
                low=change,
                high=change,
                decided=not unknown,
                unit="B",
                note="bytes of code" if not unknown else "",
                undecided="; ".join(unknown)
                if in_kernel
                else "sizes are of kernel functions alone",
            )


def _named(comparison: Comparison, name: str) -> list[int]:
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
    told = f"inlined into {units.few(names, _NAMED, last=', ')}"
    told += f" in {copies} places" if copies > 1 else ""
    return f"{told}, and called" if called else told
