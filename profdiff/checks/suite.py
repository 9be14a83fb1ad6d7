"""Conditions judged on every cell of a suite."""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from profdiff.base.errors import InputError, UndecidedError
from profdiff.checks.history import History, NoSeriesError
from profdiff.checks.judging import judge
from profdiff.evidence.conditions.condition import Condition, Judgement, MeasuredChange
from profdiff.evidence.findings import Findings
from profdiff.evidence.suite_cells import SessionCells, SuiteCell
from profdiff.profile import session_facts
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.state import compare_states
from profdiff.session.suite import Suite, SuiteWorkload, cell_names


def judge_suite(
    suite: Suite,
    conditions: Sequence[Condition],
    labels: Sequence[str],
    history: History | None = None,
) -> list[Judgement]:
    """Judge every condition on every kernel but the base, or only on ``labels``, in every cell that
    both have. A cell that a kernel lacks is not a change and is not judged; a failed run makes the
    condition inconclusive, and so does what was asked for and has not been recorded. Cells that
    never execute a condition's function, or access its data, are skipped. ``history`` sets the
    bounds of historic conditions, which is inconclusive in cells of another machine. Raises
    InputError where no cell has what a condition names, UndecidedError where nothing was recorded,
    and SessionError."""
    judged: list[Judgement] = []
    problems: dict[Condition, InputError] = {}
    known: set[Condition] = set()
    every: dict[str, None] = {}
    for workload, part, session in suite.recorded():
        base, *others = [one.label for one in session.manifest.kernels if not one.twin_of]
        wanted = [label for label in others if not labels or label in labels]
        every |= dict.fromkeys(others)
        for cell, found in _cells(session, workload, part):
            if not cell.begun and not suite.asks(cell.name, workload):
                continue
            lacking = {label: cell.absent.get(label) or cell.absent.get(base) for label in wanted}
            compared = [label for label in wanted if label in cell.changes]
            for condition in conditions:
                unknown = [
                    MeasuredChange.unknown(label, f"{why.kind}: {why.why}")
                    for label, why in lacking.items()
                    if why and why.kind != "not there"
                ]
                some: list[Judgement] = []
                if found and compared:
                    here = partial(_judge_cell, found, compared)
                    try:
                        some = (
                            history.judge(condition, cell.name, (session, cell.setting), here)
                            if history
                            else here(condition)
                        )
                    except InputError as error:
                        problems.setdefault(condition, error)
                        if not isinstance(error, NoSeriesError):
                            continue
                        unknown += [MeasuredChange.unknown(one, str(error)) for one in compared]
                known |= {condition} if some else set()
                some += [Judgement(condition, one, "inconclusive") for one in unknown]
                judged += [
                    replace(one, change=replace(one.change, part=cell.name, word="in", at=""))
                    for one in some
                ]
    for condition in conditions:
        if condition not in known and condition in problems:
            raise problems[condition]
    judged += [
        Judgement(
            condition,
            MeasuredChange.unknown(label, "not recorded yet", part=name, word="in"),
            "inconclusive",
        )
        for name in suite.lacking()
        for condition in conditions
        for label in every
        if not labels or label in labels
    ]
    if not judged and not every:
        raise UndecidedError(f"{suite.folder}: nothing has been recorded yet: finish the recording")
    if not judged:
        where = ", ".join(labels) or "any kernel but the base"
        raise InputError(f"{conditions[0]}: not measured on {where}")
    return judged


def _judge_cell(found: Findings, compared: Sequence[str], condition: Condition) -> list[Judgement]:
    """Raises InputError where the cell accesses nothing that the condition names."""
    judged = judge({"": [found]}, [condition], compared)
    if judged and all(one.change.absent for one in judged):
        raise InputError(f"{judged[0].condition}: {judged[0].change.undecided}")
    return judged


def _cells(
    session: Session, workload: SuiteWorkload, part: str
) -> Iterator[tuple[SuiteCell, Findings | None]]:
    """One after the other, with what was found there; None where the base has no value."""
    gathered = SessionCells.of(session)
    results = gathered.results
    facts = session_facts.read(session)
    state = compare_states(session, results.runs)
    known = settings(session.manifest)
    names = cell_names(session.manifest, known, workload.name, part)
    for name, setting in zip(names, known, strict=True):
        cell = gathered.cell(name, workload, part, setting)
        if results.labels[0] in cell.values:
            yield cell, Findings.unread(session, setting, results, facts, state)
        else:
            yield cell, None
