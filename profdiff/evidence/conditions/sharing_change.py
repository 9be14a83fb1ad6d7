"""What a condition on lines that change hands is about, measured: transfers, fetches and upgrades,
of all lines or of some data."""

import math
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.conditions.names import TRANSFERS
from profdiff.evidence.findings import Findings
from profdiff.evidence.sharing import Change, SharingRow, SharingTable
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.recorded import has_lines
from profdiff.profile.sharing.runs import lines_at
from profdiff.symbolization.data_accesses import DataAccesses

_WHY: dict[str, str] = {
    "schedule": "lines are recycled, so transfers depend on the schedule",
    "runs": "the runs of a kernel differ",
}


class SharingChanges:
    """Changes of what lines change hands at one setting, read when first asked for; what is not
    known is inconclusive, with the reason."""

    def __init__(self, findings: Findings) -> None:
        self._findings, self._session = findings, findings.session
        self.recorded = self._session is not None and has_lines(self._session.manifest)

    @cached_property
    def _table(self) -> SharingTable | str:
        """The table, or the reason why there is none."""
        if self._session is None:
            return "no run recorded shared lines"
        try:
            return SharingTable(lines_at(self._session, self._findings.setting))
        except (InputError, SessionError) as error:
            return str(error)

    @cached_property
    def _rows(self) -> list[SharingRow]:
        return [] if isinstance(self._table, str) else self._table.rows()

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The change on every kernel but the base."""
        at = self._findings.setting.title
        if isinstance(self._table, str):
            for label in self._findings.results.labels[1:]:
                yield _untold(label, self._table, at)
            return
        rows = self._of(condition)
        labels = [one.kernel.label for one in self._table.kernels]
        for kernel, label in enumerate(labels[1:], 1):
            if not rows and condition.function and not self._known(condition.what):
                why = f"no kernel is known to have {condition.what}{self._near(condition.what)}"
                yield _untold(label, why, at, absent=True)
            else:
                yield self._change(self._table, condition, rows, kernel, at)

    def _of(self, condition: Condition) -> list[SharingRow]:
        """The rows that a condition is about."""
        if not condition.function:
            if condition.what == "total":
                return self._rows
            user = condition.what == "user"
            return [row for row in self._rows if (row.name.kind == "user-memory") == user]
        return [row for row in self._rows if any(_is(one, condition.what) for one in row.fields)]

    def _known(self, what: str) -> bool:
        """Whether some kernel has a type, field or variable, though none of its lines may change
        hands."""
        type_, _, field = what.partition(".")
        for accesses in self._accesses():
            strings = accesses.strings
            if type_ in {strings[name] for name in accesses.global_name.tolist()}:
                return True
            for row, name in enumerate(accesses.layout_type.tolist()):
                if strings[name] == type_:
                    own = accesses.field_name[accesses.field_type == row].tolist()
                    return not field or any(_within(strings[one], field) for one in own)
        return False

    def _near(self, what: str) -> str:
        known = {_whole(row.name) for row in self._rows} | {
            accesses.strings[name]
            for accesses in self._accesses()
            for name in accesses.layout_type.tolist()
        }
        near = get_close_matches(what, sorted(known), 3)
        return f"; did you mean {' or '.join(near)}?" if near else ""

    def _accesses(self) -> Iterator[DataAccesses]:
        if not isinstance(self._table, str):
            yield from (one.accesses for one in self._table.kernels if one.accesses is not None)

    def _change(
        self,
        table: SharingTable,
        condition: Condition,
        rows: Sequence[SharingRow],
        kernel: int,
        at: str,
    ) -> MeasuredChange:
        summed = table.summed(rows)
        transfers = condition.metric == TRANSFERS
        sums = (summed.sums[0], summed.sums[kernel])
        counts = [one.transfers if transfers else one.all_misses for one in sums]
        ops = table.ops[0], table.ops[kernel]
        per_op = [one / several for one, several in zip(counts, ops, strict=True)]
        low, high = _interval((row.changes[kernel - 1] for row in rows), transfers=transfers)
        if not condition.function:
            # Which rows they are in does not matter to a sum.
            low = high = per_op[1] - per_op[0]
        # Whole counts are those of the base's operations.
        factor = 1 if condition.unit == "/op" else table.ops[0]
        base, other = (one * factor for one in per_op)
        ends = low * factor, high * factor
        causes = [one for one in summed.changes[kernel - 1].causes if one in _WHY]
        labels = [one.kernel.label for one in table.kernels]
        missing = [
            one.kernel.label for one in (table.kernels[0], table.kernels[kernel]) if one.missing
        ]
        if condition.function and missing:
            return _untold(labels[kernel], f"data has no names on {units.listed(missing)}", at)
        return MeasuredChange(
            kernel=labels[kernel],
            base=base,
            other=other,
            low=ends[0] / base if base else math.nan,
            high=ends[1] / base if base else math.nan,
            note="lines without a name may be of the same data" if low < high else "",
            difference=ends,
            decided=not causes,
            undecided="; ".join(_WHY[one] for one in causes),
            ops=table.ops[0] if condition.unit == "%" else None,
            at=at,
            of_data=True,
        )


def _untold(label: str, why: str, at: str, *, absent: bool = False) -> MeasuredChange:
    nothing = MeasuredChange(label, math.nan, math.nan, math.nan, math.nan)
    return replace(nothing, decided=False, undecided=why, at=at, absent=absent, of_data=True)


def _interval(changes: Iterable[Change], *, transfers: bool) -> tuple[float, float]:
    """That of the sum of rows, per op."""
    low = high = 0.0
    for one in changes:
        difference = one.transfers if transfers else one.misses
        low, high = low + difference.low, high + difference.high
    return low, high


def _whole(name: Name) -> str:
    owner = name.type or name.symbol
    return f"{owner}.{name.path}" if name.path else owner


def _is(name: Name, what: str) -> bool:
    """Whether data is a type's or variable's, or a field of it. Rows know locks and counters as a
    whole, so that one stands for what is in it. What may be other data as well is not counted, but
    is in the interval of what it may be."""
    if name.among:
        return False
    owner, _, field = what.partition(".")
    if not owner or owner not in (name.type, name.symbol):
        return False
    return not field or _within(name.path, field) or (bool(name.path) and _within(field, name.path))


def _within(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
