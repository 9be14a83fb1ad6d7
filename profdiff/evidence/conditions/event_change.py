"""What a condition on an event of the kernel is about, measured."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.events import EventRow, EventTable
from profdiff.evidence.findings import Findings

_WHY = {
    "unsure": "timer ticks, which task runs first, or where things lie can make the difference; "
    "record --vary-state tells whether it holds",
    "depends on state": "the change depends on state",
}
_COPIES = "inlined copies of the event's functions are not known"


class EventChanges:
    """Changes of events at one setting; what is not known is inconclusive, with the reason."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The change on every kernel but the base, where the event happens by its nature: in the
        workload's own context, or beside it."""
        table, at = self._findings.events, self._findings.setting.title
        if isinstance(table, str):
            for label in self._findings.results.labels[1:]:
                yield _untold(label, table, at)
            return
        row = table.row(condition.what)
        for kernel, label in enumerate(table.labels[1:], 1):
            yield self._change(table, condition, row, kernel, label, at)

    def _change(
        self,
        table: EventTable,
        condition: Condition,
        row: EventRow,
        kernel: int,
        label: str,
        at: str,
    ) -> MeasuredChange:
        counts, change = (row.counts[0], row.counts[kernel]), row.changes[kernel - 1]
        if counts[0] is None or counts[1] is None or change is None:
            lacking = [table.labels[one] for one in (0, kernel) if row.counts[one] is None]
            why = f"{row.event.name} is not known of {' and '.join(lacking)}"
            return _untold(label, why, at)
        ops = self._findings.setting.ops
        factor = (ops or 1) if condition.unit == "/op" else 1
        base, other, low, high = (
            one / factor for one in (counts[0], counts[1], change.low, change.high)
        )
        return MeasuredChange(
            kernel=label,
            base=base,
            other=other,
            low=low / base if base else math.nan,
            high=high / base if base else math.nan,
            difference=(low, high),
            decided=change.verdict == "exact",
            undecided=_WHY.get(change.verdict, "") if table.counts_copies(kernel) else _COPIES,
            note="" if row.context == "own" else "outside the workload",
            ops=ops if condition.unit == "%" else None,
            at=at,
        )


def _untold(label: str, why: str, at: str) -> MeasuredChange:
    nothing = MeasuredChange(label, math.nan, math.nan, math.nan, math.nan)
    return replace(nothing, decided=False, undecided=why, at=at)
