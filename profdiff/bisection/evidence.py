"""The session in which a bisection ends: the culprit beside its parent, and bad beside bad with the
culprit reverted."""

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError, RunError
from profdiff.base.terminal import tell
from profdiff.bisection.git_bisect import Mark
from profdiff.bisection.measuring import Kernels, open_session, record, require_result
from profdiff.bisection.verdict import Judge
from profdiff.collectors.kernels.build import BuildError, DoesNotApply
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder
from profdiff.evidence.conditions.condition import WITHOUT_BOUND
from profdiff.recording.experiment import Equipment, RecordOptions
from profdiff.session.bisection import BAD, CULPRIT, PARENT, REVERT, Reverted
from profdiff.session.held import is_session
from profdiff.session.lock import recording
from profdiff.session.session import Session

# Parts of the culprit's own step that count as undone, and as not undone.
_UNDONE, _NOT_UNDONE = 0.9, 0.1
# So many candidates are tried, because each is a build.
_TRIED = 4


@dataclass(frozen=True)
class Evidence:
    """``values``: by label, what was measured of each. ``reverted``: what came of the revert,
    ``undone``: which fraction of the step from parent to culprit it takes away; ``candidate``: of
    several, the one that was reverted."""

    session: Session
    values: dict[str, float | None]
    reverted: Reverted
    undone: float | None
    candidate: str | None = None


def gather(
    asked: RecordOptions,
    folder: Path,
    kernels: Kernels,
    commits: tuple[str, str, str],
    equipment: Equipment,
    recorders: Sequence[Recorder],
    judge: Judge,
    candidates: Sequence[str] = (),
) -> Evidence:
    """Record parent, culprit and bad, of which ``commits`` are the hashes, and bad without the
    culprit. ``candidates``: all that can be the culprit, which is the last of them, where it is not
    known; then the last of those that can be reverted is. Raises RunError where one of the first
    gives no result."""
    parent, culprit, bad = commits
    wanted = {PARENT: parent, CULPRIT: culprit}
    if bad != culprit:
        wanted[BAD] = bad
    located = [kernels.build(commit, label) for label, commit in wanted.items()]
    reverted: Reverted = "not measured"
    candidate = None
    # git has them in its own order; the culprit comes first, since it builds.
    tried = [culprit, *(one for one in candidates if one != culprit)]
    for commit in tried[:_TRIED]:
        found = _reverted(kernels, bad, commit)
        if isinstance(found, KernelFiles):
            located.append(found)
            candidate = commit if candidates else None
            break
        reverted = found
    _remove_other(folder, located)
    with recording(folder):
        session, made = open_session(asked, folder, located, equipment)
        record(session, located, recorders, made)
    for label in wanted:
        require_result(session, label, recorders)
    own = _beside_parent(session, judge)
    values = _values(own, [one.label for one in located])
    undone = None
    if REVERT in values:
        reverted, undone = _outcome(values, own)
    return Evidence(session, values, reverted, undone, candidate)


def _beside_parent(session: Session, judge: Judge) -> Judge:
    """What judges the kernels of the evidence: by the same condition, beside the parent."""
    return Judge(session, PARENT, CULPRIT, judge.condition)


def _reverted(kernels: Kernels, bad: str, culprit: str) -> KernelFiles | Reverted:
    try:
        return kernels.build(bad, REVERT, culprit)
    except DoesNotApply as error:
        tell(f"{culprit[:12]} does not revert cleanly on bad: {error}")
        return "does not apply"
    except BuildError as error:
        tell(f"with {culprit[:12]} reverted, bad does not build: {error}")
        return "does not build"


def _remove_other(folder: Path, located: Sequence[KernelFiles]) -> None:
    """Remove the evidence of another culprit, which nobody asks for any more; nobody finds half of
    it, and what a killed one left goes, too."""
    gone = folder.with_name(f".{folder.name}.gone")
    if is_session(folder):
        known = {kernel.label: kernel.spec for kernel in Session.open(folder).manifest.kernels}
        if known != {one.label: one.spec for one in located}:
            _remove(gone)
            folder.rename(gone)
    _remove(gone)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _values(own: Judge, labels: Sequence[str]) -> dict[str, float | None]:
    """What was measured of each kernel. None of what neither the parent nor the culprit
    executes."""
    finished = {run.kernel for run in own.session.manifest.runs if run.failure is None}
    values: dict[str, float | None] = {}
    for label in labels:
        if label in finished:
            values[label] = None
            with contextlib.suppress(InputError):
                values[label] = own.number(label)
    return values


def _outcome(values: dict[str, float | None], own: Judge) -> tuple[Reverted, float | None]:
    """What the revert takes away of the culprit's step."""
    before, after, left = values[PARENT], values[CULPRIT], values[REVERT]
    whole = values.get(BAD, after)
    if own.condition.operator in WITHOUT_BOUND:
        # Without a number: whether what makes bad bad is gone.
        mark = own.verdict(REVERT).mark
        outcomes: dict[Mark, Reverted] = {"good": "confirmed", "bad": "not", "skip": "not measured"}
        return outcomes[mark], None
    if before is None or after is None or left is None or whole is None or before == after:
        return "not measured", None
    undone = (whole - left) / (after - before)
    if _UNDONE <= undone <= 1 / _UNDONE:
        return "confirmed", undone
    return ("partly" if undone >= _NOT_UNDONE else "not"), undone


def refuse_alike(found: Evidence, judge: Judge, parent: str, culprit: str) -> None:
    """Raise RunError where culprit and parent are measured alike: there is no step then."""
    if judge.condition.operator in WITHOUT_BOUND:
        alike = _beside_parent(found.session, judge).verdict(CULPRIT).mark != "bad"
    else:
        alike = found.values[PARENT] == found.values[CULPRIT]
    if alike:
        raise RunError(
            f"the step did not reproduce: the search found {culprit[:12]}, but it and "
            f"{parent[:12]} before it are measured alike in {found.session.folder}: bisect into "
            "another folder, with a longer workload"
        )
