"""Bounds from history: how far each cell's total moved from release to release of an atlas."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.names import suggesting
from profdiff.evidence.atlas import machine
from profdiff.evidence.conditions.condition import Condition, Judgement
from profdiff.session.points import Setting
from profdiff.session.session import Session

#: Of fewer, one large change moves a quartile, and so the bound.
MIN_CHANGES = 6
_IQR_MULTIPLIER = 3


class NoSeriesError(InputError):
    """An atlas that has no history of the metric on such a machine."""


class Series(NamedTuple):
    """Counts of a metric on one machine. ``changes``: by cell, the build ids of releases with the
    change from the release before, as a fraction."""

    metric: str
    machine: Mapping[str, str]
    changes: Mapping[str, Sequence[tuple[str | None, float]]]


class History(NamedTuple):
    """All series of the atlas ``name``."""

    name: str
    series: Sequence[Series]

    def judge(
        self,
        condition: Condition,
        cell: str,
        of: tuple[Session, Setting],
        judge: Callable[[Condition], list[Judgement]],
    ) -> list[Judgement]:
        """What ``judge`` makes of a condition, in a cell of a session at a setting, with the bound
        that the cell's history sets; inconclusive without one. Changes to the session's own kernels
        do not count. Raises NoSeriesError if the atlas lacks the metric or such a machine."""
        if not condition.historic:
            return judge(condition)
        changes, why = self._changes(condition, cell, *of)
        if len(changes) < MIN_CHANGES and not why:
            why = f"{self.name} has {len(changes)} changes of {cell}, {MIN_CHANGES} are needed"
        bound = 0.0 if why else fence(changes)
        bound = bound if condition.operator.startswith(">") else -bound
        judged = []
        for one in judge(replace(condition, historic=False, bound=bound)):
            if why:
                change = replace(one.change, decided=False, undecided=why)
                judged.append(Judgement(condition, change, "inconclusive"))
                continue
            told = f"bound {units.percent(bound, '+.2f')}, of {len(changes)} changes in {self.name}"
            note = "; ".join(filter(None, [one.change.note, told]))
            judged.append(Judgement(condition, replace(one.change, note=note), one.outcome))
        return judged

    def _changes(
        self, condition: Condition, cell: str, session: Session, setting: Setting
    ) -> tuple[Sequence[float], str]:
        """The sizes of a cell's changes, and why there are none."""
        own = machine(session)
        if setting.cpus and "vCPUs" not in setting.varied:
            own["vCPUs"] = str(setting.cpus)
        known = [one for one in self.series if one.metric == condition.metric]
        alike = [one for one in known if {**one.machine, "metric": ""} == {**own, "metric": ""}]
        if not known:
            raise NoSeriesError(
                f"{self.name} has no {condition.metric}, which '{condition}' is about"
            )
        if not alike:
            apart = _apart(known[0].machine, own)
            raise NoSeriesError(f"{self.name} has no series of such a machine: {apart}")
        # A twin of the base, and the base with other arguments, have its build id.
        base, *others = [kernel.build_id for kernel in session.manifest.kernels]
        new = {*others} - {base}
        for one in alike:
            if cell in one.changes:
                return [abs(by) for build, by in one.changes[cell] if build not in new], ""
        names = [name for one in alike for name in one.changes]
        return [], suggesting(f"{self.name} has no cell {cell}", cell, names)


def fence(changes: Sequence[float]) -> float:
    """The upper fence of the sizes of changes, Q3 + 3 (Q3 - Q1): rustc-perf's significance
    threshold (rust-lang/rustc-perf, docs/comparison-analysis.md, *What makes a test result
    significant?*; ``HistoricalData`` in site/src/comparison.rs). Quartiles are the medians of the
    lower and the upper half, without the middle one of an odd number of at least two changes."""
    ordered = sorted(changes)
    half = len(ordered) // 2
    first, third = median(ordered[:half]), median(ordered[-half:])
    return third + _IQR_MULTIPLIER * (third - first)


def _apart(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """By what two machines differ."""
    return "; ".join(
        f"{name} is {here.get(name, 'unknown')} here and {there.get(name, 'unknown')} there"
        for name in {**there, **here}
        if name != "metric" and there.get(name) != here.get(name)
    )
