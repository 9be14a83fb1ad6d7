"""A bisection from its question to its evidence, and how long it takes."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from profdiff.base import bounded, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, told
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.bisection.evidence import Evidence, gather, refuse_alike
from profdiff.bisection.git_bisect import Found, GitBisect, Stuck, estimated_steps
from profdiff.bisection.kept import Kept, Question
from profdiff.bisection.measuring import (
    Kernels,
    Measuring,
    label_of,
    open_session,
    record,
    require_result,
)
from profdiff.bisection.search import Jump, besides, jumps, search
from profdiff.bisection.verdict import Judge, only
from profdiff.collectors.architecture import host
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import seconds_of_builds
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.evidence.blame.delta import suspects
from profdiff.evidence.conditions.condition import Condition
from profdiff.recording.experiment import Equipment, RecordOptions
from profdiff.session import manifest as m
from profdiff.session.bisection import BAD, CULPRIT, PARENT, Bisection, Revision, Step
from profdiff.session.lock import recording
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.sources.repository import Repository

_MAX_PATCH = 64 << 20
STEPS, EVIDENCE = "steps.profdiff", "evidence.profdiff"


@dataclass(frozen=True)
class Asking:
    """``plain``: repository, config, compiler and architecture, absolute; ``experiment``: the
    workload and its guests. ``all_above``: follow every step of that size, as a fraction of good;
    None: the first culprit alone. ``suspects``: whether those are tried first. ``patches``: what
    each revision is built with, where that applies; absolute."""

    plain: GitSpec
    good: str
    bad: str
    condition: Condition | None
    folder: Path
    experiment: RecordOptions
    all_above: float | None = None
    suspects: bool = True
    patches: Sequence[Path] = ()


def bisect(asked: Asking) -> Session:
    """Find the culprit and record its evidence; what an interrupted one did is not done again.
    Returns the last session, whose manifest has the bisection.

    Raises InputError for what cannot be bisected, RunError, MissingError, SessionError, OSError.
    """
    repository = Repository.open(asked.plain.repository)
    good, bad = repository.commit(asked.good), repository.commit(asked.bad)
    _refuse(repository, (good, asked.good), (bad, asked.bad))
    folder = asked.folder
    question = _question(asked, repository, good, bad)
    Kept.refuse_occupied(folder, (STEPS,))
    with recording(folder / STEPS):
        begun = GitBisect.begun(folder / "git")
        kept = Kept.of(folder, question, None if begun else partial(_clear, folder, question))
        git = GitBisect.make(repository.git, folder / "git", bad)
        names = asked.good, asked.bad
        every = asked.all_above is not None
        told = estimated(git, good, bad, asked.plain, names, every=every)
        tell(told)
        with _measuring(asked, kept, good, bad) as (measuring, equipment):
            # What was built by now may say more.
            if told != (now := estimated(git, good, bad, asked.plain, names, every=every)):
                tell(now)
            return _Bisecting(asked, repository, git, measuring, equipment, good, bad).run()


@contextmanager
def _measuring(
    asked: Asking, kept: Kept, good: str, bad: str
) -> Iterator[tuple[Measuring, Equipment]]:
    """Good and bad measured, and all that measures the others."""
    equipment = Equipment.of(asked.experiment, asked.plain.architecture or host())
    kernels = Kernels(asked.plain, asked.patches)
    try:
        ends = [kernels.build(commit) for commit in (good, bad)]
        steps = asked.folder / STEPS
        session, experiment = open_session(asked.experiment, steps, ends, equipment)
        if len(settings(session.manifest)) > 1:
            raise InputError("bisect measures one point: give --sweep and --cpus one value each")
        if experiment.note:
            tell(f"note: {experiment.note}")
        with temporary_folder() as temporary:
            recorders = experiment.recorders(session.manifest, temporary)
            record(session, ends, recorders)
            for name, kernel in zip((asked.good, asked.bad), ends, strict=True):
                require_result(session, kernel.label, recorders, f"{name} ({kernel.label})")
            judge = Judge.of(session, label_of(good), label_of(bad), asked.condition)
            if ends_told := judge.ends():
                tell(ends_told)
            tell(f"bad is where {judge.condition} holds")
            yield Measuring(kept, kernels, session, recorders, judge), equipment
    finally:
        kernels.close()


@dataclass
class _Bisecting:
    asked: Asking
    repository: Repository
    git: GitBisect
    measuring: Measuring
    equipment: Equipment
    good: str
    bad: str

    def run(self) -> Session:
        """All steps, in their order."""
        self._retry()
        found = search(self.git, self.good, self.bad, self.measuring.mark, self._suspects())
        self._log()
        parent, culprit = self._ends(found)
        candidates = [] if isinstance(found, Found) else list(found.candidates)
        evidence = gather(
            self.asked.experiment,
            self.asked.folder / EVIDENCE,
            self.measuring.kernels,
            (parent, culprit, self.bad),
            self.equipment,
            self.measuring.recorders,
            self.measuring.judge,
            candidates,
        )
        refuse_alike(evidence, self.measuring.judge, parent, culprit)
        skipped = self.git.marked("skip")
        others = self._others(culprit, evidence.values)
        made = self._bisection(evidence, (parent, culprit), candidates, others, skipped)
        session = evidence.session
        session.save(m.replace(session.manifest, bisection=made))
        return session

    def _retry(self) -> None:
        """Try again what gave no result in an earlier run, unless the culprit is known without."""
        kept = self.measuring.kept
        if failed := kept.content.failed:
            if self.git.resume(self.good, self.bad):
                if isinstance(self.git.state(), Found):
                    return
                self.git.begin_without(self.good, self.bad, failed)
            kept.forget_failed()

    def _suspects(self) -> list[str]:
        known = self.git.resume(self.good, self.bad) and isinstance(self.git.state(), Found)
        if not self.asked.suspects or known:
            return []
        judge, ends = self.measuring.judge, (self.good, self.bad)
        both = only(self.measuring.session, [judge.good, judge.bad])
        try:
            found = suspects(both, judge.good, judge.bad, self.repository.git.top, ends)
        except InputError as error:
            tell(f"no suspects: {error}")
            return []
        if found:
            about = self.repository.commits(found[:1])[found[0]]
            tell(f'first suspect by its lines: {about.hash[:12]} ("{about.subject}")')
        return found

    def _log(self) -> None:
        """Keep git's log where the next search does not take its place."""
        lines = "".join(f"{line}\n" for line in self.git.log())
        write_atomic(self.asked.folder / "log", lines.encode())

    def _ends(self, found: Found | Stuck) -> tuple[str, str]:
        """The culprit and what is measured before it: its parent, or the nearest good revision."""
        if isinstance(found, Found):
            for parent in self.git.parents(found.commit):
                if self.measuring.verdict(parent).mark == "good":
                    return parent, found.commit
            return self._nearest_good(found.commit), found.commit
        culprit = self.git.left()[0]
        return self._nearest_good(culprit), culprit

    def _nearest_good(self, culprit: str) -> str:
        goods = [one for one in self.git.marked("good") if self.git.is_ancestor(one, culprit)]
        counted = [(len(self.git.rev_list(culprit, f"^{good}")), good) for good in goods]
        return min(counted)[1] if counted else self.good

    def _others(self, culprit: str, values: Mapping[str, float | None]) -> list[Jump]:
        """The further steps of the history, if they were asked for; ``values``: of the evidence."""
        judge = self.measuring.judge
        if self.asked.all_above is None:
            return []
        base = judge.number(judge.good)
        if base is None:
            raise InputError(f"--all needs a condition with numbers: {judge.condition} has none")
        step = (values[CULPRIT] or 0) - (values[PARENT] or 0)
        # Where good has none, there is nothing else to go by than what bad has.
        threshold = self.asked.all_above * abs(base or judge.number(judge.bad) or 0)
        found = jumps(self.git, self.good, self.bad, self.measuring.number, threshold)
        return besides(self.git, found, culprit, step, threshold)

    def _bisection(
        self,
        evidence: Evidence,
        ends: tuple[str, str],
        candidates: Sequence[str],
        others: Sequence[Jump],
        skipped: Set[str],
    ) -> Bisection:
        judge, values = self.measuring.judge, evidence.values
        steps = [one for jump in others for one in (jump.parent, jump.culprit, *jump.candidates)]
        hashes = [self.good, self.bad, *ends, *candidates, *steps]
        about = self.repository.commits(hashes)
        first, last = judge.number(judge.good), judge.number(judge.bad)

        def explained(before: float | None, after: float | None) -> float | None:
            if before is None or after is None or first is None or last is None:
                return None
            return (after - before) / (last - first) if last != first else None

        def revision(commit: str, value: float | None = None) -> Revision:
            return Revision(commit=commit, subject=about[commit].subject, value=value)

        content, (ops, longer) = self.measuring.kept.content, judge.lengths()
        # The evidence booted parent and culprit, whatever the search did.
        tested = {*self.measuring.tested(), *map(label_of, ends)}
        return Bisection(
            good=revision(self.good, first),
            bad=revision(self.bad, values.get(BAD, values[CULPRIT])),
            parent=revision(ends[0], values[PARENT]),
            culprit=revision(ends[1], values[CULPRIT]),
            condition=str(judge.condition),
            what=judge.what,
            revert=evidence.reverted,
            undone=evidence.undone,
            explained=explained(values[PARENT], values[CULPRIT]),
            tested=len(tested),
            skipped=len(skipped | content.untestable.keys() | content.failed.keys()),
            candidates=[revision(candidate) for candidate in candidates],
            others=[
                Step(
                    culprit=revision(other.culprit, other.after),
                    parent=revision(other.parent, other.before),
                    explained=explained(other.before, other.after),
                    candidates=[revision(candidate) for candidate in other.candidates],
                )
                for other in others
            ],
            all_above=self.asked.all_above,
            reverted=revision(evidence.candidate) if evidence.candidate else None,
            ops=ops,
            longer=longer,
        )


def _question(asked: Asking, repository: Repository, good: str, bad: str) -> Question:
    spec = asked.plain
    return Question(
        repository=str(repository.git.top),
        good=good,
        bad=bad,
        config=spec.config,
        compiler=spec.compiler,
        architecture=spec.architecture.arch if spec.architecture else "",
        condition=str(asked.condition) if asked.condition else "",
        patches=", ".join(map(_named, asked.patches)),
    )


def _named(patch: Path) -> str:
    """A patch by its name and content. Raises InputError."""
    try:
        content = bounded.read(patch, _MAX_PATCH)
    except OSError as error:
        raise InputError(f"--with: {told(error)}") from error
    return f"{patch.name} (sha256 {hashlib.sha256(content).hexdigest()[:16]})"


def _clear(folder: Path, question: Question, before: Question) -> None:
    """Remove what was measured of good and bad where other kernels are asked for now."""
    if msgspec.structs.replace(before, condition=question.condition) == question:
        return
    # The manifest last: without it, nobody knows what the rest is.
    rest = [one for one in (folder / STEPS).iterdir() if one.name != ".lock"]
    for path in sorted(rest, key=lambda one: one.name == "manifest.json"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _refuse(repository: Repository, good: tuple[str, str], bad: tuple[str, str]) -> None:
    """Raise InputError for ends between which there is nothing. Each is a hash and its name."""
    git = repository.git
    if good[0] == bad[0]:
        raise InputError(f"--good {good[1]} and --bad {bad[1]} are the same commit")
    bases = (git.succeeds("merge-base", "--all", good[0], bad[0]) or b"").decode().split()
    if not bases:
        raise InputError(f"{git.shown}: {good[1]} and {bad[1]} have no common history")
    if bad[0] in bases:
        raise InputError(
            f"--bad {bad[1]} comes before --good {good[1]}: bisect looks for the commit that made "
            f"it worse; for the one that made it better, write --good {bad[1]} --bad {good[1]}"
        )


# A boot with a short workload, where nothing has been recorded yet.
_RUN = (5.0, 20.0)
# Good and bad; the culprit's parent, itself, bad and the revert once more, of which one is built.
_MORE_BUILDS, _MORE_RUNS = 3, 6


def estimated(
    bisect: GitBisect,
    good: str,
    bad: str,
    plain: GitSpec,
    names: tuple[str, str],
    *,
    every: bool = False,
) -> str:
    """In one line; ``names``: good and bad as the user wrote them; ``every``: whether more than one
    step is looked for. What was begun is counted from where it is. Raises InputError, MissingError
    for what cannot be built."""
    count = int(bisect.git.run("rev-list", "--count", bad, f"^{good}", "--"))
    revisions = f"{units.counted(count, 'revision')} from {names[0]} to {names[1]}"
    if bisect.resume(good, bad):
        if isinstance(bisect.state(), Found):
            return f"{revisions}: the first bad commit is found already"
        left, steps = len(bisect.left()), bisect.steps()
        revisions = f"{left:,} left of {revisions}"
    else:
        steps = estimated_steps(bisect.git, bad, f"^{good}")
    least = "at least" if every else "about"
    about = f"{revisions}: {least} {units.counted(steps, 'step')}"
    job = BuildJob.of(replace(plain, revision=bad))
    first, further = seconds_of_builds(job.source.repository, job.objects)
    if not first and not further:
        return f"{about}; no such kernel was built yet, so the time is not known"
    if not further:
        each = units.span(min(first), max(first))
        return f"{about}; the first build takes {each}, those that go on from it less"
    builds, runs = steps + _MORE_BUILDS, steps + _MORE_RUNS
    low = builds * min(further) + runs * _RUN[0]
    high = builds * max(further) + runs * _RUN[1]
    each = units.span(min(further), max(further))
    whole = "at least " if every else ""
    return f"{about}; a build takes {each}, all {whole}{units.span(low, high)}"
