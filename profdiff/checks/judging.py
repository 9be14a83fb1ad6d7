"""Conditions judged on what was found, of each architecture, or compiler, by itself; and on tables
that no session has."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError, SessionError
from profdiff.checks.code import CodeChanges
from profdiff.checks.names import (
    ACCESSES,
    CODE,
    LAYOUT,
    LINES,
    check_names,
    check_row,
)
from profdiff.collectors.records import DAMAGED
from profdiff.evidence.conditions import measured_change
from profdiff.evidence.conditions.condition import (
    CHANGED,
    TOO_FEW,
    Changes,
    Condition,
    Judgement,
    MeasuredChange,
)
from profdiff.evidence.difference import AbsentError
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.profile.function_identity import fold
from profdiff.profile.sharing.recorded import has_lines
from profdiff.profile.sharing.runs import NOT_RECORDED
from profdiff.session.held import ARCHITECTURE, PartKind
from profdiff.session.inlines import folded, told
from profdiff.shapes.rows import changes as row_changes
from profdiff.shapes.table import Section
from profdiff.topics.registry import NAMES, SHARING, Topic, topic_of

# By part, "" where there is one only: what was found at each setting.
Found = Mapping[str, Sequence[Findings]]
# What a condition is about: a row of a topic, code or a type's layout, or else a metric.
_Subject = Topic | Literal["code", "layout", "metric"]
_DEPENDS = "the whole change depends on state, and this is known of one state alone"


def judge(
    found: Found,
    conditions: Sequence[Condition],
    labels: Sequence[str],
    kind: PartKind = ARCHITECTURE,
) -> list[Judgement]:
    """Every condition on every kernel but the base, at every setting, or on ``labels`` alone.
    Names need to be known of one part. Raises InputError for those that nothing has, and for what
    was not measured of some part. ``kind``: what parts differ by."""
    parts = [_Part(name, kind.word, some) for name, some in found.items()]
    known = _union(part.labels for part in parts)
    for label in labels:
        if label not in known:
            raise InputError(f"--kernel {label}: the session compares {', '.join(known)}")
    judged = []
    for condition in conditions:
        subject = _subject(condition, parts)
        for part in parts:
            mine = [
                part.judged(condition, change)
                for change in part.changes(condition, subject)
                if not labels or change.kernel in labels
            ]
            if not mine:
                kernels = ", ".join(labels or known) or "any kernel but the base"
                where = f" {part.word} {part.name}" if part.name else ""
                raise InputError(f"{condition}: not measured on {kernels}{where}")
            judged += mine
    return judged


def judge_rows(
    section: Section, labels: Sequence[str], conditions: Sequence[Condition]
) -> list[Judgement]:
    """Each on every kernel but the base, ``labels`` first. Nothing is known of a row that there
    is not. Raises InputError for such a table."""
    judged = []
    for condition in conditions:
        check_row(condition)
        if condition.unit == "/op":
            raise InputError(f"condition '{condition}': there are no ops: use %, or no unit")
        try:
            found = list(row_changes(section, labels, condition))
        except AbsentError as error:
            found = [MeasuredChange.unknown(label, str(error), of_row=True) for label in labels[1:]]
        judged += [Judgement(condition, change, condition.judge(change)) for change in found]
    return judged


def _subject(condition: Condition, parts: Sequence["_Part"]) -> _Subject:
    """What a condition is about. Lines that change hands come before a metric, which comes before
    all else of its name; a function comes before data. Raises InputError for names that no part
    has."""
    name, what = condition.metric, condition.what
    metrics, functions = _union(part.measured for part in parts), set[str]()
    # What is not the whole of a measured metric, only recordings tell.
    if name not in metrics or condition.function:
        metrics = _union(part.metrics for part in parts)
        functions = functions.union(*(part.functions for part in parts))
    is_metric, topic = name in metrics, topic_of(name)
    if topic is SHARING:
        is_recorded = any(has_lines(part.manifest) for part in parts)
        if not is_recorded and not is_metric:
            raise InputError(NOT_RECORDED)
        is_metric = not is_recorded
    if topic is not None and name in ACCESSES:
        # A function's name has no dot but in what compilers append.
        is_data = condition.function and what not in functions
        if not is_data or not (
            "." in fold(what)[0] or any(part.has(topic, condition) for part in parts)
        ):
            topic = None
    if not is_metric and (topic is not None or name in (LAYOUT, LINES)):
        check_row(condition)
        return topic or "layout"
    is_code = name in CODE and not is_metric
    code = _union(part.code for part in parts) if is_code else ()
    # Of a kernel whose inlined functions are not shown, the name may be one of those.
    hidden = {what} if any(part.folds for part in parts) else set[str]()
    check_names(condition, metrics, functions | hidden, code, NAMES)
    return "code" if is_code else "metric"


def _union(names: Iterable[Iterable[str]]) -> list[str]:
    """Each once, in their order."""
    return list(dict.fromkeys(name for some in names for name in some))


def _depending(found: Findings) -> set[str]:
    """The kernels whose change depends on state at a setting."""
    return {
        label
        for one in found.results.at(found.setting)
        for label, change in zip(found.results.labels, one.changes, strict=True)
        if change is not None and change.verdict is Verdict.DEPENDS
    }


def _scatter(found: Findings, label: str) -> str:
    """Why one run does not stand for all of the base's or of a kernel's; "" where it does."""
    if found.exact is None:
        return TOO_FEW
    of = dict(zip(found.exact.labels, found.exact.repetitions, strict=False))
    ends = (found.exact.labels[0], label)
    differ = [label for label in ends if label in of and not of[label].identical]
    return f"the runs of {units.listed(differ)} differ" if differ else ""


class _Part:
    """What was found of one part. ``name``: ``arm64``, "" where there is one only; ``word``: what
    stands before it in a sentence."""

    def __init__(self, name: str, word: str, found: Sequence[Findings]) -> None:
        self.name, self.word, self._found = name, word, found
        self._code = [CodeChanges(one) for one in found]
        self._rows: list[dict[tuple[str, bool], Changes]] = [{} for _ in found]
        self.labels = [kernel.label for kernel in found[0].results.kernels][1:]
        self.measured = [metric.name for _, metric in found[0].results.metrics()]
        self._base = found[0].results.kernels[0].label
        self.manifest = manifest = found[0].manifest
        self.folds = folded(manifest.compared)
        self._damaged = {
            run.kernel: f"run {run.id} is left out: {run.failure.message}"
            for run in manifest.runs
            if run.failure is not None and run.failure.kind == DAMAGED
        }

    @property
    def _unread(self) -> str:
        """Which file of a kernel is damaged, of those that were read so far, and how."""
        session = self._found[0].session
        named = [
            path for one in self.manifest.kernels for path in (one.symbols, one.code, one.accesses)
        ]
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

    def has(self, topic: Topic, condition: Condition) -> bool:
        """Whether some kernel has the row of a topic that a condition names."""
        every = (self._of_row(number, topic, condition) for number in range(len(self._found)))
        return any(not math.isnan(change.base) for changes in every for change in changes)

    def changes(self, condition: Condition, subject: _Subject) -> Iterator[MeasuredChange]:
        """At every setting, on every kernel but the base; of a topic over several points once."""
        told = set[str]()
        for number, found in enumerate(self._found):
            at = subject.at(found) if isinstance(subject, Topic) else found.setting.title
            if isinstance(subject, Topic) and subject.over_points and at in told:
                continue
            told.add(at)
            changes, one_state = self._at(number, condition, subject)
            depend = _depending(found) if one_state else set[str]()
            for change in changes:
                why = _DEPENDS if change.kernel in depend else ""
                if change.one_run:
                    why = why or _scatter(found, change.kernel)
                if why:
                    change = replace(change, decided=False, undecided=why)
                if intended := ", ".join(found.facts.intended(self._base, change.kernel)):
                    note = "; ".join(filter(None, [change.note, f"differs in: {intended}"]))
                    change = replace(change, note=note)
                yield replace(change, part=self.name, word=self.word, at=at)

    def _at(
        self, number: int, condition: Condition, subject: _Subject
    ) -> tuple[Iterator[MeasuredChange], bool]:
        """The changes at a setting, and whether they are known of the plain state alone; code is
        the same in each, and the inventory tells all."""
        code, what = self._code[number], condition.what
        if isinstance(subject, Topic):
            rows = self._of_row(number, subject, condition)
            return iter(rows), any(change.one_run for change in rows)
        if subject == "layout":
            return code.layout_changes(condition), False
        if condition.function and what not in self.functions:
            changes = self._absent(condition)
        elif subject == "code":
            changes = code.changes(condition)
        else:
            changes = measured_change.changes(self._found[number], condition)
        if self.folds and condition.function and what not in self._shown:
            why = "; ".join(told(self.manifest.compared))
            changes = (replace(one, decided=False, undecided=why) for one in changes)
        if subject == "code":
            return changes, False
        return changes, condition.function or what != "total"

    def _of_row(self, number: int, topic: Topic, condition: Condition) -> list[MeasuredChange]:
        """The changes of a row at a setting. A topic is computed when a condition first names
        it."""
        found, known, name = self._found[number], self._rows[number], condition.metric
        key = topic.name, name in topic.counts
        try:
            if key not in known:
                known[key] = topic.changes(found, name)
            return list(known[key](condition))
        except (InputError, SessionError) as error:
            about = {"absent": isinstance(error, AbsentError), "of_row": True}
            labels = found.results.labels[1:]
            return [MeasuredChange.unknown(label, str(error), **about) for label in labels]

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

    def _absent(self, condition: Condition) -> Iterator[MeasuredChange]:
        """Judge a function that only another part executes as unchanged."""
        for label in self.labels:
            yield MeasuredChange(
                kernel=label,
                base=0,
                other=0,
                low=math.nan,
                high=math.nan,
                note="no kernel executes it there",
                differs=False if condition.operator == CHANGED else None,
            )
