"""Conditions judged on a session, on parts or on a suite."""

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from profdiff.base.errors import InputError, UndecidedError, told

if TYPE_CHECKING:
    from profdiff.checks.history import History, Series
    from profdiff.checks.judging import Found
    from profdiff.checks.known import KnownEntry
    from profdiff.evidence.conditions.condition import Checked, Condition, Judgement
    from profdiff.evidence.findings import Findings
    from profdiff.session.held import PartKind
    from profdiff.session.opened import Opened
    from profdiff.session.parts import Parts
    from profdiff.session.session import Session
    from profdiff.views.atlas import AtlasSeries

_MAX_ATLAS = 2**29


class CheckRequest(NamedTuple):
    """What is judged, read before any recording is opened: a mistake in it is one whatever the
    recording holds. ``known``: the entries of known changes; ``history``: what bounds historic
    conditions."""

    conditions: "Sequence[Condition]"
    known: "Sequence[KnownEntry]"
    history: "History | None"

    @staticmethod
    def of(
        texts: Sequence[str], acknowledge: Path | None = None, history: Path | None = None
    ) -> "CheckRequest":
        """Conditions as text, a file of known changes, and an atlas. Raises InputError."""
        from profdiff.checks.known import read_known
        from profdiff.evidence.conditions.condition import Condition

        conditions = [Condition.parse(text, historic=True) for text in texts]
        if history and not any(one.historic for one in conditions):
            raise InputError(
                f"--history {history}: no condition has a bound of it: 'METRIC > history'"
            )
        known = read_known(acknowledge, conditions) if acknowledge else ()
        return CheckRequest(conditions, known, read_history(history) if history else None)


def checked(
    recording: "Opened", request: CheckRequest, labels: Sequence[str], at: str | None = None
) -> "Checked":
    """As ``judged``, with what is known of the changes."""
    from profdiff.checks.known import acknowledged
    from profdiff.evidence.conditions.condition import Checked

    found = judged(recording, request.conditions, labels, at, request.history)
    today = datetime.datetime.now(datetime.UTC).date()
    known = request.known
    # A suite's changes have it.
    sessions = recording.sessions() if known and recording.held != "suite" else {}
    cells = {
        (part, at): name
        for part, session in sessions.items()
        for at, name in _named(recording.folder, part, session).items()
    }
    return Checked(*acknowledged(found, known, today, cells), at)


def judged(
    recording: "Opened",
    conditions: "Sequence[Condition]",
    labels: Sequence[str],
    at: str | None = None,
    history: "History | None" = None,
) -> "list[Judgement]":
    """Every condition on the kernels ``labels``, or on all but the base: at one setting, or at all.
    ``history`` sets the bounds of historic conditions. Raises InputError for what cannot be asked,
    UndecidedError where the recording cannot tell."""
    from profdiff.checks.judging import judge
    from profdiff.checks.suite import judge_suite
    from profdiff.session.suite import Suite

    if isinstance(recording, Suite):
        with undecided_unless(InputError):
            return judge_suite(recording, conditions, labels, history)
    found, kind = _found(recording, at)
    with undecided_unless(InputError):
        if history is None:
            return judge(found, conditions, labels, kind)
        return [
            one
            for condition in conditions
            for part, settings in found.items()
            for one in _by_history(history, recording, condition, part, settings, labels, kind)
        ]


def _by_history(
    history: "History",
    recording: "Session | Parts",
    condition: "Condition",
    part: str,
    settings: "Sequence[Findings]",
    labels: Sequence[str],
    kind: "PartKind",
) -> "Iterator[Judgement]":
    """A condition on one part, setting by setting, each a cell of the atlas."""
    session = recording.sessions()[part]
    names = _named(recording.folder, part, session)
    for found in settings:
        cell = names[found.setting.title]
        yield from history.judge(
            condition, cell, (session, found.setting), partial(_judge_at, part, found, labels, kind)
        )


def _named(folder: Path, part: str, session: "Session") -> dict[str, str]:
    """What each point of a part is called as a cell of the suite that the recording is in, or of
    one of its name; by the point's title."""
    from profdiff.evidence.atlas import plain_name
    from profdiff.session import points
    from profdiff.session.held import held
    from profdiff.session.suite import cell_names

    if not part and held(folder.parent) == "parts":
        folder, part = folder.parent, folder.name
    known = points.settings(session.manifest)
    names = cell_names(session.manifest, known, plain_name(folder), part)
    return {setting.title: name for setting, name in zip(known, names, strict=True)}


def _judge_at(
    part: str,
    found: "Findings",
    labels: Sequence[str],
    kind: "PartKind",
    condition: "Condition",
) -> "list[Judgement]":
    from profdiff.checks.judging import judge

    return judge({part: [found]}, [condition], labels, kind)


def read_history(place: Path) -> "History":
    """Read an atlas' folder, or its ``index.json``. Raises InputError."""
    import msgspec

    from profdiff.base import bounded
    from profdiff.checks.history import History
    from profdiff.views.atlas import Atlas

    file = place / "index.json" if place.is_dir() else place
    try:
        atlas = msgspec.json.decode(bounded.read_json(file, _MAX_ATLAS), type=Atlas)
    except OSError as error:
        why = f"--history: cannot read {told(error)}: name a folder that profdiff atlas made"
        raise InputError(why) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"--history {file} is not an atlas of this profdiff: {error}") from error
    try:
        return History(str(place), [_series(one) for one in atlas.series])
    except IndexError as error:
        raise InputError(f"--history {file} names a release that it does not have") from error


def _series(one: "AtlasSeries") -> "Series":
    """The changes between releases that were given the same, by the same program."""
    from profdiff.checks.history import Series

    changes: dict[str, list[tuple[str | None, float]]] = {}
    for cell in one.cells:
        found = changes.setdefault(cell.name, [])
        for point in cell.points:
            if (step := point.step) is None or step.relative is None or step.programs_differ:
                continue
            release = one.releases[point.release]
            if release.variant == one.releases[step.since].variant:
                found.append((release.build_id, step.relative))
    return Series(one.metric, one.machine, changes)


def _found(recording: "Session | Parts", at: str | None) -> "tuple[Found, PartKind]":
    """What was found at each point, by part, and what parts differ by. Raises InputError for a
    point that the session does not have, UndecidedError."""
    from profdiff.evidence.findings import Findings
    from profdiff.evidence.parts import PartsResults
    from profdiff.profile import session_facts
    from profdiff.session.state import compare_states

    with undecided_unless():
        sessions, kind = _sessions(recording)
        joint = PartsResults.gather(sessions, kind)
    chosen = [joint.choose(at)] if at else joint.settings
    found = {}
    with undecided_unless():
        for name, one in sessions.items():
            settings = [setting.parts[name] for setting in chosen if name in setting.parts]
            if not settings:
                raise UndecidedError(f"{name} does not have this point: finish the recording")
            results, facts = joint.parts[name], session_facts.read(one)
            state = compare_states(one, results.runs)
            found[name] = [Findings.unread(one, own, results, facts, state) for own in settings]
    return found, kind


def _sessions(recording: "Session | Parts") -> "tuple[dict[str, Session], PartKind]":
    """By part, "" where there is one only, and what parts differ by. Raises SessionError,
    UndecidedError."""
    from profdiff.session.held import ARCHITECTURE
    from profdiff.session.session import Session

    sessions = recording.sessions()
    if isinstance(recording, Session):
        return sessions, ARCHITECTURE
    for name in recording.names:
        if name not in sessions:
            raise UndecidedError(f"{name} has not been recorded yet: finish the recording")
    return sessions, recording.kind


@contextlib.contextmanager
def undecided_unless(*passed: type[Exception]) -> Iterator[None]:
    """What goes wrong in the block says nothing of the kernels, and ends with 125, unless it is one
    of ``passed``."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, GeneratorExit, *passed)):
            raise
        raise UndecidedError(told(error)) from error
