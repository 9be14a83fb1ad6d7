"""What a report of a session shows: at one setting, or of recordings that exist."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import overload

import msgspec
from msgspec.structs import replace

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.calibration.prices import Prices, read_prices
from profdiff.evidence import huge_pages
from profdiff.evidence.cautions import cautions, of_builds
from profdiff.evidence.cell_functions import FunctionKey
from profdiff.evidence.events import ChangedEvent, EventTable
from profdiff.evidence.kept_events import cell_changes
from profdiff.evidence.largest_change import largest_change
from profdiff.evidence.lengths import Lengths
from profdiff.evidence.results import Result, Results
from profdiff.evidence.state_changes import differ_most
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.profile import session_facts
from profdiff.profile.cell import exact_collector
from profdiff.profile.code.classes import InstructionClasses, class_names, instruction_classes
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_events import KeptEvents
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.profile.kernel_profile import chosen
from profdiff.profile.recordings import Recordings
from profdiff.session import inlines, points
from profdiff.session.facts import Facts
from profdiff.session.manifest import Kernel, Manifest
from profdiff.session.session import Session
from profdiff.session.state import State, compare_states

PRICES = "prices.json"
"""A file of ``profdiff calibrate`` that somebody put into a session's folder."""


class _Unread(Sequence[Comparison]):
    """Comparisons that are made when the first of them is asked for."""

    def __init__(self, make: Callable[[], Sequence[Comparison]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Sequence[Comparison]:
        return self._make()

    @overload
    def __getitem__(self, at: int) -> Comparison: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Comparison]: ...

    def __getitem__(self, at: int | slice) -> Comparison | Sequence[Comparison]:
        return self._made[at]

    def __len__(self) -> int:
        return len(self._made)


class Findings(msgspec.Struct, frozen=True, dict=True):
    """``comparisons`` are those of ``setting``, ``results`` and ``state`` are of all settings.
    ``comparisons`` is empty where all runs are timed ones. ``remarks``: why something is not shown.
    ``lengths``: what was subtracted, None where nothing was. ``session``: None for recordings that
    are none. ``differ``: by label, the function in which states differ most, of changes that depend
    on state. ``chosen_prices``: instead of those in the session's folder.
    """

    manifest: Manifest
    setting: points.Setting
    comparisons: Sequence[Comparison]
    results: Results
    state: State
    facts: Facts
    remarks: Sequence[str] = ()
    lengths: Lengths | None = None
    session: Session | None = None
    differ: Mapping[str, FunctionKey] = msgspec.field(default_factory=dict)
    chosen_prices: Prices | None = None

    @staticmethod
    def of(
        session: Session,
        setting: points.Setting,
        results: Results | None = None,
        facts: Facts | None = None,
        state: State | None = None,
    ) -> "Findings":
        """Everything, computed once; ``results``, ``facts`` and ``state`` of the session, if they
        were gathered before. Raises what ``compare`` does."""
        found = Findings.unread(session, setting, results, facts, state)
        comparisons = list(found.comparisons)
        return replace(
            found,
            comparisons=comparisons,
            facts=comparisons[0].facts if comparisons else found.facts,
            differ=_differ(session, found.results, setting),
        )

    @staticmethod
    def unread(
        session: Session,
        setting: points.Setting,
        results: Results | None = None,
        facts: Facts | None = None,
        state: State | None = None,
    ) -> "Findings":
        """The same, but that recordings are read when ``comparisons`` are first asked for, and what
        they tell of the machine, and ``differ``, are left out. What ``compare`` raises is raised
        then."""
        results = results or Results.gather(session.manifest)
        facts = facts or session_facts.read(session)
        measured = any(result.cells[0].boots for result in results.every)
        comparisons: Sequence[Comparison] = ()
        remarks: list[str] = []
        # A recording that goes on may have other points by now, or timed runs.
        if measured and not _profiled(results, setting):
            if any(registry.collector(name).profiles for name in session.manifest.collectors):
                base = session.manifest.kernels[0].label
                remarks = [
                    f"no functions are shown: {base} has no finished profile at this point yet"
                ]
        else:
            recordings = Recordings(session, setting, results.state(setting))
            comparisons = _Unread(partial(recordings.comparisons, facts))
        return Findings(
            session.manifest,
            setting,
            comparisons,
            results,
            state or compare_states(session, results.runs),
            facts,
            remarks,
            Lengths.of(session, results, setting),
            session,
        )

    @staticmethod
    def of_recordings(comparisons: Sequence[Comparison]) -> "Findings":
        """Findings of recordings that are not sessions: each has a profile, and nothing else."""
        first = comparisons[0]
        results = Results.gather(first.manifest)
        return Findings(first.manifest, first.setting, comparisons, results, State(), first.facts)

    def others(self, chosen: Sequence[points.Setting]) -> Iterator["Findings"]:
        """The findings of the session at other settings, one after the other; without those of
        damaged runs, which are told to who asks for that setting."""
        if self.session is None:
            return
        for setting in chosen:
            with suppress(SessionError):
                yield Findings.of(self.session, setting, self.results, state=self.state)

    def comparison(self, metric: str | None = None) -> Comparison:
        """The one of the metric that ``[COLLECTOR:]NAME`` names, or the first. Raises
        InputError."""
        return chosen({one.full_name: one for one in self.comparisons}, metric)

    @cached_property
    def cautions(self) -> list[str]:
        """What a reader must know before all numbers."""
        own = cautions(self.session, self.setting, self.state) if self.session else []
        blind = inlines.told(self.manifest.compared) if self.comparisons else []
        damaged = self.session.damaged if self.session else []
        builds = of_builds(self.facts) if self.manifest.bisection else []
        return [*builds, *damaged, *self.remarks, *blind, *own]

    @cached_property
    def foremost(self) -> list[str]:
        """What a reader must know before the answer: it is of another state than was asked for."""
        if self.session is None:
            return []
        return huge_pages.lacking(self.session, self.facts, self.setting, self.state)

    @cached_property
    def prices(self) -> Prices | str | None:
        """What operations cost on a processor, or why the file in the session's folder does not
        tell; None where there is none."""
        if self.chosen_prices is not None or self.session is None:
            return self.chosen_prices
        try:
            path = self.session.place(PRICES)
            return read_prices(path) if path.exists() else None
        except (InputError, SessionError) as error:
            return str(error)

    @cached_property
    def exact(self) -> Comparison | None:
        """The first comparison of exact counts with executed bytes; None where there is none."""
        return next(
            (comparison for comparison in self.comparisons if class_names(comparison)), None
        )

    @cached_property
    def classes(self) -> InstructionClasses | None:
        """What kind of instructions ran in ``exact``; None where there is none."""
        return instruction_classes(self.exact) if self.exact is not None else None

    @cached_property
    def events(self) -> EventTable | str:
        """How often events happened in the kernels, or why nothing is known of that."""
        try:
            return EventTable.of(self.comparisons, self.session)
        except (InputError, SessionError) as error:
            return str(error)

    @cached_property
    def changed_events(self) -> Mapping[str, ChangedEvent]:
        """By label of each kernel on which some event of the workload is certain to have changed by
        more than the instructions did, the one that changed most. Where the session keeps its
        events, no recording is read for it."""
        kept = KeptEvents.of(self.session) if self.session else None
        comparison = self.exact
        if kept is not None and comparison is not None:
            if not inlines.all_shown(self.manifest.compared):
                return {}
            base, totals = comparison.labels[0], comparison.totals().tolist()
            counted = dict(zip(comparison.labels, totals, strict=True))
            ops, state = comparison.ops or 1, comparison.runs[0].state
            found = cell_changes(kept, self.setting, counted, base, ops, state)
            return {label: some[0] for label, some in found.items() if some}
        if isinstance(self.events, str):
            return {}
        others = enumerate(self.events.labels[1:], 1)
        told = {label: self.events.largest(kernel) for kernel, label in others}
        return {label: one for label, one in told.items() if one}

    def judged(self, comparison: Comparison, label: str) -> tuple[Result, Estimate] | None:
        """How the whole of a comparison changes on a kernel, as the tables judge it; None where
        they do not have it."""
        for one in self.results.at(comparison.setting):
            collector = comparison.runs[0].collector
            if (one.collector, one.metric.name) == (collector, comparison.metric.name):
                change = self.results.change(one, label)
                return (one, change) if change is not None else None
        return None

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that have a result, the base first."""
        if self.comparisons:
            return self.comparisons[0].kernels
        return self.results.kernels


def _differ(session: Session, results: Results, setting: points.Setting) -> dict[str, FunctionKey]:
    """What differs in what the exact collector counts; nothing if a recording does not tell."""
    collector = exact_collector(session)
    for one in results.at(setting):
        depend = [
            label
            for label, change in zip(results.labels, one.changes, strict=True)
            if change is not None and change.verdict is Verdict.DEPENDS
        ]
        if depend and one.collector == collector:
            states, counts = sorted(one.cells[0].states), FunctionCounts.of(session)
            with suppress(SessionError):
                return differ_most(counts, setting, states, results.labels[0], depend)
    return {}


def _profiled(results: Results, setting: points.Setting) -> bool:
    """Whether the base has a finished run whose functions are known at all points of a setting."""
    manifest = results.manifest
    base = manifest.kernels[0].label
    return any(
        all(
            any(run.failure is None for run in results.runs.get((base, collector, point), ()))
            for point in setting.points
        )
        for collector in manifest.collectors
        if registry.collector(collector).profiles
    )


def choose(
    manifest: Manifest, wanted: str | None, results: Results | None = None
) -> points.Setting:
    """The setting that ``NAME=VALUE,...`` names; without it the one with the largest change in
    ``results``, or the last, whose sizes are the largest.

    Raises InputError when it names none or several.
    """
    known = points.settings(manifest)
    if not known:
        raise InputError("the session has no complete pair of points: finish the recording")
    if wanted is None:
        found = largest_change(results) if results else None
        return found.result.setting if found else known[-1]
    return points.named(known, wanted)


Stacks = Sequence[tuple[str, Callable[[], bytes]]]


@dataclass(frozen=True)
class LazyFindings:
    """What a report of a session is made of, at one setting. Nothing is read of the recordings
    before ``findings`` are asked for, which are made once, or the ``folded`` stacks of each
    kernel. ``ops``: None where they are unknown. ``metric``: the only one that is shown,
    ``[COLLECTOR:]NAME``; None for all, and for the first where a form shows one. ``prices``: of a
    processor, instead of those in the session's folder."""

    ops: int | None
    find: Callable[[], Findings]
    fold: Callable[[str | None], Stacks]
    metric: str | None = None
    prices: Prices | None = None

    @staticmethod
    def of(
        session: Session,
        at: str | None = None,
        metric: str | None = None,
        prices: Prices | None = None,
    ) -> "LazyFindings":
        """At the setting that ``choose`` chooses. Raises what it does."""
        results = Results.gather(session.manifest)
        setting = choose(session.manifest, at, results)
        find = partial(Findings.of, session, setting, results)
        recordings = Recordings(session, setting, results.state(setting))
        return LazyFindings(setting.ops, find, recordings.folded, metric, prices)

    @cached_property
    def findings(self) -> Findings:
        """Raises what ``Findings.of`` does, and InputError for a metric that it does not have."""
        found = self.find()
        if self.prices is not None:
            found = replace(found, chosen_prices=self.prices)
        if self.metric is None:
            return found
        return replace(found, comparisons=[found.comparison(self.metric)])

    def folded(self) -> Stacks:
        """The stacks of each kernel in FlameGraph's format. Raises InputError, SessionError."""
        return self.fold(self.metric)
