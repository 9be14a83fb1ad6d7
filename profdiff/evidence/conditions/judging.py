"""Conditions judged on what was found, of each architecture, or compiler, by itself."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from profdiff.base.errors import InputError
from profdiff.collectors.records import DAMAGED
from profdiff.evidence.conditions import measured_change
from profdiff.evidence.conditions.code_change import CodeChanges
from profdiff.evidence.conditions.condition import CHANGED, Condition, Judgement, MeasuredChange
from profdiff.evidence.conditions.data_change import DataChanges
from profdiff.evidence.conditions.event_change import EventChanges
from profdiff.evidence.conditions.names import (
    CODE,
    EVENTS,
    INLINED,
    LAYOUT,
    LINES,
    SHARING,
    SIZE,
    about_data,
    check_data,
    check_events,
    check_names,
    check_sharing,
)
from profdiff.evidence.conditions.sharing_change import SharingChanges
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.profile.sharing.runs import NOT_RECORDED
from profdiff.session.held import ARCHITECTURE, PartKind
from profdiff.session.inlines import folded, told

# By part, "" where there is one only: what was found at each setting.
Found = Mapping[str, Sequence[Findings]]


def judge(
    found: Found,
    conditions: Sequence[Condition],
    labels: Sequence[str],
    kind: PartKind = ARCHITECTURE,
) -> list[Judgement]:
    """Every condition on every kernel but the base, at every setting, or on ``labels`` alone.
    Names need to be known of one part. Raises InputError for those that nothing has, and for what
    was not measured of some part. ``kind``: what parts differ by."""
    parts = {name: _Part(name, kind.word, some) for name, some in found.items()}
    known = list(dict.fromkeys(label for part in parts.values() for label in part.labels))
    for label in labels:
        if label not in known:
            raise InputError(f"--kernel {label}: the session compares {', '.join(known)}")
    measured = list(dict.fromkeys(name for part in parts.values() for name in part.measured))
    judged = []
    for condition in conditions:
        metrics, functions = measured, set[str]()
        # What is not the whole of a measured metric, only recordings tell.
        if condition.metric not in measured or condition.function:
            metrics = list(dict.fromkeys(name for part in parts.values() for name in part.metrics))
            functions = functions.union(*(part.functions for part in parts.values()))
        code = condition.metric in CODE and condition.metric not in metrics
        shared = condition.metric in SHARING and any(one.shares for one in parts.values())
        data = not shared and about_data(
            condition, metrics, functions, _is_accessed(parts.values())
        )
        happens = condition.metric == EVENTS and condition.metric not in metrics
        if happens:
            check_events(condition)
        elif shared:
            check_sharing(condition)
        elif condition.metric in SHARING and condition.metric not in metrics:
            raise InputError(NOT_RECORDED)
        elif data:
            check_data(condition)
        else:
            names = {name for part in parts.values() for name in part.code} if code else set[str]()
            # Of a kernel whose inlined functions are not shown, the name may be one of those.
            hidden = {condition.what} if any(part.folds for part in parts.values()) else set[str]()
            check_names(condition, metrics, functions | hidden, names)
        for part in parts.values():
            if happens:
                changes = part.of_events(condition)
            elif shared:
                changes = part.of_lines(condition)
            else:
                changes = part.of_data(condition) if data else part.changes(condition, code=code)
            mine = [
                part.judged(condition, change)
                for change in changes
                if not labels or change.kernel in labels
            ]
            if not mine:
                kernels = ", ".join(labels or known) or "any kernel but the base"
                where = f" {part.word} {part.name}" if part.name else ""
                raise InputError(f"{condition}: not measured on {kernels}{where}")
            judged += mine
    return judged


def _is_accessed(parts: Iterable["_Part"]) -> Callable[[str], bool]:
    return lambda name: any(part.accesses(name) for part in parts)


_DEPENDS = "the whole change depends on state, and this is known of one state alone"


def _depending(found: Findings) -> set[str]:
    """The kernels whose change depends on state at a setting."""
    return {
        label
        for one in found.results.at(found.setting)
        for label, change in zip(found.results.labels, one.changes, strict=True)
        if change is not None and change.verdict is Verdict.DEPENDS
    }


class _Part:
    """What was found of one part. ``name``: ``arm64``, "" where there is one only; ``word``: what
    stands before it in a sentence."""

    def __init__(self, name: str, word: str, found: Sequence[Findings]) -> None:
        self.name, self.word, self._found = name, word, found
        self._code = [CodeChanges(one) for one in found]
        self._data = [DataChanges(one) for one in found]
        self._lines = [SharingChanges(one) for one in found]
        self._events = [EventChanges(one) for one in found]
        self.shares = any(one.recorded for one in self._lines)
        self.labels = [kernel.label for kernel in found[0].results.kernels][1:]
        self.measured = [metric.name for _, metric in found[0].results.metrics()]
        self._base = found[0].results.kernels[0].label
        self.folds = folded(found[0].manifest.compared)
        manifest = found[0].manifest
        self._damaged = {
            run.kernel: f"run {run.id} is left out: {run.failure.message}"
            for run in manifest.runs
            if run.failure is not None and run.failure.kind == DAMAGED
        }

    @property
    def _unread(self) -> str:
        """Which file of a kernel is damaged, of those that were read so far, and how."""
        manifest, session = self._found[0].manifest, self._found[0].session
        named = [path for one in manifest.kernels for path in (one.symbols, one.code, one.accesses)]
        unread = session.not_used if session else {}
        return next((f"{name} {unread[name]}" for name in named if name in unread), "")

    @cached_property
    def metrics(self) -> list[str]:
        """All that a condition can name, also those that only recordings have."""
        profiled = [one.metric.name for found in self._found for one in found.comparisons]
        return list(dict.fromkeys([*profiled, *self.measured]))

    @cached_property
    def functions(self) -> set[str]:
        """All that a condition can name."""
        return {name for one in self._found for name in measured_change.function_names(one)}

    @cached_property
    def _shown(self) -> set[str]:
        return {
            function.name
            for one in self._found
            for comparison in one.comparisons
            for function in comparison.functions
            if function.object not in self.folds
        }

    @property
    def code(self) -> set[str]:
        """Those of ``CODE`` that are known."""
        return {name for one in self._code for name in one.names()}

    def changes(self, condition: Condition, *, code: bool) -> Iterator[MeasuredChange]:
        """At every setting, on every kernel but the base."""
        absent = condition.function and condition.what not in self.functions
        hidden = self.folds and condition.function and condition.what not in self._shown
        for found, of_code in zip(self._found, self._code, strict=True):
            if absent:
                changes = self._absent(condition, found)
            elif code:
                changes = of_code.changes(condition)
            else:
                changes = measured_change.changes(found, condition)
            if hidden:
                why = "; ".join(told(found.manifest.compared))
                changes = (replace(one, decided=False, undecided=why) for one in changes)
            yield from self._told(condition, found, changes)

    def judged(self, condition: Condition, change: MeasuredChange) -> Judgement:
        """What is whole says it; where that passes, and a run of either kernel or another file is
        damaged, nobody knows."""
        outcome = condition.judge(change)
        why = self._damaged.get(self._base) or self._damaged.get(change.kernel)
        why = why or ("" if self._is_total(condition) else self._unread)
        if outcome == "does not hold" and why:
            change = replace(change, decided=False, undecided=why)
            outcome = "inconclusive"
        return Judgement(condition, change, outcome)

    def _is_total(self, condition: Condition) -> bool:
        """Whether it is about the whole of a metric that runs measured: no recording is read."""
        whole = condition.what == "total" and not condition.function
        return whole and condition.metric in self.measured

    def _is_plain(self, condition: Condition) -> bool:
        """Whether what it is about is known of the plain state alone; code is the same in each."""
        if self._is_total(condition):
            return False
        if condition.metric in (*CODE, LAYOUT, LINES) and condition.metric not in self.metrics:
            return condition.metric not in (SIZE, INLINED, LAYOUT, LINES)
        return condition.function or condition.what != "total"

    def accesses(self, name: str) -> bool:
        """Whether some kernel accesses a type or variable."""
        return any(one.accesses(name) for one in self._data)

    def of_data(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The same of a condition about data."""
        for found, of_data in zip(self._found, self._data, strict=True):
            yield from self._told(condition, found, of_data.changes(condition))

    def of_lines(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The same of a condition about lines that change hands."""
        for one in self._lines:
            yield from map(self._placed, one.changes(condition))

    def of_events(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The same of a condition about an event."""
        for one in self._events:
            yield from map(self._placed, one.changes(condition))

    def _told(
        self, condition: Condition, found: Findings, changes: Iterator[MeasuredChange]
    ) -> Iterator[MeasuredChange]:
        depend = _depending(found) if self._is_plain(condition) else set[str]()
        for change in changes:
            if change.kernel in depend:
                change = replace(change, decided=False, undecided=_DEPENDS)
            yield self._placed(change)

    def _placed(self, change: MeasuredChange) -> MeasuredChange:
        return replace(change, part=self.name, word=self.word)

    def _absent(self, condition: Condition, found: Findings) -> Iterator[MeasuredChange]:
        """Judge a function that only another part executes as unchanged."""
        for label in self.labels:
            yield MeasuredChange(
                kernel=label,
                base=0,
                other=0,
                low=math.nan,
                high=math.nan,
                note="no kernel executes it there",
                at=found.setting.title,
                differs=False if condition.operator == CHANGED else None,
            )
