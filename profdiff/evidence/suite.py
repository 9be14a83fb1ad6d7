"""The results of a suite: what each cell costs on each kernel, and the functions that make the
changes. Sessions are read one after the other, and let go: memory is that of one session and of
small rows."""

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from profdiff.base import terminal, units
from profdiff.base.errors import InputError, SessionError
from profdiff.base.metric import Metric
from profdiff.evidence.cell_functions import FunctionSums, largest, seats
from profdiff.evidence.function_verdicts import sure_seats
from profdiff.evidence.kept_events import cell_changes
from profdiff.evidence.state_changes import differ_most
from profdiff.evidence.statistics import Verdict
from profdiff.evidence.suite_cells import Absence, CellChange, SessionCells, SuiteCell
from profdiff.profile.cell import exact_collector
from profdiff.profile.function_identity import Function
from profdiff.profile.kept_events import KeptEvents
from profdiff.profile.kept_functions import FunctionCounts, SelfCounts
from profdiff.profile.recordings import Recordings
from profdiff.session import inlines
from profdiff.session.manifest import Kernel
from profdiff.session.points import Setting, settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload, cell_names


@dataclass
class SuiteResults:
    """``kernels``: of all sessions, the base first; ``sums``: functions over the cells of each
    metric; ``restored``: what the sessions' guests say of it; ``begun``: the workloads that have a
    session; ``problems``: what could not be read; ``damaged``: of which workloads, or their
    parts, nothing could, and why."""

    suite: Suite
    kernels: dict[str, Kernel] = field(default_factory=dict)
    cells: list[SuiteCell] = field(default_factory=list)
    sums: dict[Metric | None, FunctionSums] = field(default_factory=dict)
    restored: set[bool] = field(default_factory=set)
    created: str = ""
    begun: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def gather(
        suite: Suite,
        tell: Callable[[str], None] = terminal.tell,
        wanted: Callable[[str, SuiteWorkload], bool] = lambda *_: True,
    ) -> "SuiteResults":
        """The results of every session that was begun. ``tell``: gets a line where functions are
        not kept, and recordings are read. ``wanted``: which cells, by name and workload. A session
        that is damaged, or has another base than the first one, is left out, and named. Raises
        SessionError where there is none, and InputError where no cell is wanted."""
        found = SuiteResults(suite)
        with _uncollected():
            for workload, part, session in suite.recorded(found._leave_out, lengths=True):
                try:
                    found._add(workload, part, session, tell, wanted)
                except SessionError as error:
                    found._leave_out(workload, part, error)
        if found.damaged and not found.kernels:
            name, why = next(iter(found.damaged.items()))
            raise SessionError(f"{suite.folder}: nothing can be read: {name}: {why}")
        if not found.kernels:
            raise SessionError(
                f"{suite.folder}: nothing has been recorded yet: finish the recording"
            )
        if not found.cells:
            raise InputError(
                f"no cell of {suite.folder} is asked for: profdiff report {suite.folder} lists them"
            )
        return found._of_one_metric()

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return list(self.kernels)

    @property
    def base(self) -> str:
        """The base's label."""
        return next(iter(self.kernels))

    @property
    def metric(self) -> Metric | None:
        """What the values of all cells are of; None where nothing was measured."""
        return next((cell.metric for cell in self.cells if cell.metric), None)

    @property
    def functions(self) -> FunctionSums:
        """Over all cells."""
        return self.sums.get(self.metric) or FunctionSums()

    @cached_property
    def releases(self) -> Mapping[str | None, int]:
        """How many kernels have each."""
        return Counter(one.release for one in self.kernels.values())

    @property
    def lacking(self) -> list[str]:
        """The workloads of which nothing has been recorded yet, although they were asked for."""
        asked = [workload.name for workload in self.suite.workloads if self.suite.asks_of(workload)]
        return [name for name in asked if name not in self.begun]

    def _leave_out(self, workload: SuiteWorkload, part: str, error: SessionError) -> None:
        self.begun.add(workload.name)
        self.damaged[f"{workload.name}/{part}" if part else workload.name] = str(error)

    def _add(
        self,
        workload: SuiteWorkload,
        part: str,
        session: Session,
        tell: Callable[[str], None],
        wanted: Callable[[str, SuiteWorkload], bool],
    ) -> None:
        counts = FunctionCounts.of(session)
        happened = KeptEvents.of(session)
        if not counts.kept:
            # Recordings are going to be read.
            session.leave_out()
        manifest = session.manifest
        own = [one for one in manifest.kernels if not one.twin_of]
        if self.kernels and own[0].label != self.base:
            raise SessionError(
                f"{session.folder}: its base is {own[0].label}, and that of the suite {self.base}"
            )
        for kernel in own:
            self.kernels.setdefault(kernel.label, kernel)
        self.begun.add(workload.name)
        self.created = min(filter(None, (self.created, manifest.created)))
        if manifest.guest is not None:
            self.restored.add(manifest.guest.restored)
        known = settings(manifest)
        names = cell_names(manifest, known, workload.name, part)
        chosen = [pair for pair in zip(names, known, strict=True) if wanted(pair[0], workload)]
        if not chosen:
            return
        gathered = SessionCells.of(session)
        if not counts.kept and gathered.profiled:
            cells = units.counted(len(chosen), "cell")
            tell(f"{workload.name}: reads the recordings of {cells}")
        blind = inlines.told(session.compared) if session.profiling else []
        self.problems += [one for one in blind if one not in self.problems]
        place = f"{workload.name}/{part}" if part else workload.name
        for name, why in session.left_out.items():
            self.damaged[f"{place}, run {name}"] = why
        for name, why in session.not_used.items():
            self.problems.append(f"{place}: {name} {why}: not used")
        for name, setting in chosen:
            row = gathered.cell(name, workload, part, setting)
            if not row.begun and not self.suite.asks(name, workload):
                continue
            row = replace(row, changes=self._explained(gathered, counts, setting, row))
            state = gathered.state(setting)
            if row.changes and (one := self._counted(session, counts, setting, name, state)):
                ops = gathered.ops(setting)
                row = replace(
                    row,
                    functions=largest(one, self.base, ops),
                    seats=seats(one, self.base, ops),
                )
                if happened is not None:
                    totals = dict(zip(one.labels, one.counts.sum(axis=0).tolist(), strict=True))
                    counted = happened, setting, totals, self.base, ops, state
                    told = inlines.all_shown(session.compared)
                    row = replace(
                        row,
                        events=cell_changes(*counted) if told else {},
                        items=cell_changes(*counted, floors=row.tick_floors),
                    )
                self.sums.setdefault(row.metric, FunctionSums()).add(
                    one, self.base, {label for label, found in row.changes.items() if found.unsure}
                )
            self.cells.append(row)

    def _explained(
        self, gathered: SessionCells, counts: FunctionCounts, setting: Setting, row: SuiteCell
    ) -> dict[str, CellChange]:
        """Changes that depend on state, with the function in which states differ most."""
        depend = [label for label, one in row.changes.items() if one.verdict is Verdict.DEPENDS]
        if not depend:
            return dict(row.changes)
        try:
            found = differ_most(counts, setting, gathered.states(setting), self.base, depend)
        except SessionError as error:
            self.problems.append(f"{row.name}: no function in which states differ: {error}")
            found = {}
        return {label: one._replace(differ=found.get(label)) for label, one in row.changes.items()}

    def _counted(
        self, session: Session, counts: FunctionCounts, setting: Setting, name: str, state: int
    ) -> SelfCounts | None:
        """A damaged recording costs its cell the functions, and nothing else."""
        try:
            if exact_collector(session) is not None:
                return counts.at(setting, state)
            return _sampled(session, setting) if session.profiling else None
        except SessionError as error:
            self.problems.append(f"{name}: no functions: {error}")
            return None

    def _of_one_metric(self) -> "SuiteResults":
        """Cells with another metric than most have no value beside the others."""
        found: dict[Metric, int] = {}
        for cell in self.cells:
            if cell.metric:
                found[cell.metric] = found.get(cell.metric, 0) + 1
        if len(found) > 1:
            wanted = max(found, key=lambda one: (one.kind.exact, found[one]))
            self.cells = [
                cell if cell.metric in (wanted, None) else _without(cell, wanted)
                for cell in self.cells
            ]
        return self


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Rows hold no cycles, so that Python's collector would only walk over all of them, again and
    again: a third of the time of a large suite."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sampled(session: Session, setting: Setting) -> SelfCounts | None:
    """The first comparison's functions, of samples."""
    comparisons = Recordings(session, setting).comparisons()
    if not comparisons:
        return None
    first = comparisons[0]
    functions: list[Function] = list(first.functions)
    rows = [first.self_]
    for (reason, in_kernel), counts in first.unresolved.items():
        functions.append(Function(f"[unresolved: {reason}]", "", "", in_kernel, reason))
        rows.append(counts[None, :])
    return SelfCounts(functions, first.labels, np.concatenate(rows), sure_seats(first))


def _without(cell: SuiteCell, wanted: Metric) -> SuiteCell:
    """A cell that has another metric."""
    why = Absence(
        "not recorded", f"its metric is {cell.metric and cell.metric.name}, not {wanted.name}"
    )
    return replace(
        cell,
        metric=None,
        values={},
        changes={},
        functions={},
        seats={},
        events={},
        items={},
        noise=None,
        twin=None,
        exact=frozenset(),
        further=(),
        absent={**dict.fromkeys(cell.values, why), **cell.absent},
    )
