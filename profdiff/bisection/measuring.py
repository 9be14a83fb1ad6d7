"""What a revision costs: its kernel built, one after the other and the next one beside a guest, and
booted."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from profdiff.base import program, units
from profdiff.base.errors import ProfdiffError, RunError
from profdiff.base.progress import progress
from profdiff.base.terminal import tell
from profdiff.bisection.git_bisect import Mark
from profdiff.bisection.kept import Kept
from profdiff.bisection.verdict import Judge, Verdict
from profdiff.collectors.kernels.build import (
    BuildError,
    DoesNotApply,
    UnfitError,
    build,
    is_built,
)
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.prepared import prepare
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import Change, GitSpec
from profdiff.collectors.recorder import Recorder
from profdiff.profile.kept import keep
from profdiff.recording import plan, run, schedule, varied
from profdiff.recording.experiment import Equipment, Experiment, RecordOptions
from profdiff.session import manifest as m
from profdiff.session.held import is_session
from profdiff.session.session import Session

_DIGITS = 12
_PATIENCE = 30.0
# Where a console's trouble begins (kernel/panic.c, arch/x86/kernel/dumpstack.c), and how many lines
# of it are told.
_TROUBLE = re.compile(r"Kernel panic|Oops|BUG:|kernel BUG at|Unable to handle|general protection")
_CONSOLE = 12


def label_of(commit: str) -> str:
    """What a revision's kernel is called in the session."""
    return commit[:_DIGITS]


class Kernels:
    """``plain``: the repository, config, compiler and architecture of all; ``patches``: what each
    revision is built with where that applies. One build may go on beside what the caller does; it
    ends with ``close``."""

    def __init__(self, plain: GitSpec, patches: Sequence[Path] = ()) -> None:
        self._plain, self._patches = plain, patches
        self._carried: dict[str, tuple[Change, ...]] = {}
        self._beside: tuple[str, subprocess.Popen[bytes]] | None = None

    def spec(self, commit: str, reverted: str = "") -> GitSpec:
        """What names the kernel of a revision with the patches that apply to it, and with another
        commit reverted on top. Raises InputError where a file holds no patch."""
        changes = (Change("revert", reverted),) if reverted else ()
        return replace(self._plain, revision=commit, changes=(*self._carries(commit), *changes))

    def _carries(self, commit: str) -> tuple[Change, ...]:
        """The patches that apply to a revision, in their order, each on top of the others; a
        revision that has what one changes is not given it again."""
        if commit not in self._carried:
            found: tuple[Change, ...] = ()
            for patch in self._patches:
                more = (*found, Change("patch", str(patch)))
                try:
                    prepare(replace(self._plain, revision=commit, changes=more))
                except DoesNotApply as error:
                    tell(f"{label_of(commit)} is built without {patch.name}: {error}")
                else:
                    found = more
            self._carried[commit] = found
        return self._carried[commit]

    def build(self, commit: str, label: str = "", reverted: str = "") -> KernelFiles:
        """The kernel, out of the cache or built now. Raises what
        ``profdiff.collectors.kernels.build.build`` does."""
        spec = self.spec(commit, reverted)
        if self._beside and self._beside[0] == str(spec):
            # It began before us. What it says it will not have said: then it is built here.
            if self._beside[1].poll() is None:
                tell(f"{label or label_of(commit)}: waiting for its build, which began earlier")
            self._beside[1].wait()
        self.close()
        return build(BuildJob.of(spec), label or label_of(commit))

    def begin(self, commits: Sequence[str]) -> None:
        """Build the first of ``commits`` that is not in the cache, beside what comes now."""
        if self._beside and self._beside[1].poll() is None:
            return
        missing = None
        # What is wrong with it shows when it is its turn.
        with contextlib.suppress(ProfdiffError):
            missing = next((spec for spec in map(self.spec, commits) if not is_built(spec)), None)
        if missing is None:
            return
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            return  # It would outlive a bisect that is killed.
        command = program.command("kernel", "build", "--quiet", str(missing))
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(
            [setpriv, "--pdeathsig", "TERM", *command],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
        )
        self._beside = str(missing), process

    def close(self) -> None:
        """End a build that goes on beside."""
        if self._beside and self._beside[1].poll() is None:
            process = self._beside[1]
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._beside = None


# What a compiler or make says of a process that something else ended.
_KILLED = re.compile(r"\bKilled\b|\bsignal 9\b|\bError 137\b")


def record(
    session: Session,
    kernels: Sequence[KernelFiles],
    recorders: Sequence[Recorder],
    repeated: Experiment | None = None,
) -> None:
    """Make the runs that ``kernels`` lack, as many at a time as there are of them; what changed is
    ``repeated`` in varied states as that experiment says."""
    pending = schedule.missing_runs(session.manifest, kernels, recorders)
    jobs = _jobs(kernels)
    with progress(len(pending), "") as display:
        run.record(session, kernels, recorders, jobs=jobs, progress=display)
    if repeated is not None:
        batch = run.Batch(session, kernels, recorders)
        varied.repeat(varied.of_experiment(repeated, batch), repeated.most_states, jobs=jobs)
    keep(session, [kernel for kernel in kernels if has_result(session, kernel.label, recorders)])


def _jobs(kernels: Sequence[KernelFiles]) -> int:
    """As many guests as there are kernels, and processors."""
    return max(1, min(len(kernels), os.cpu_count() or 1))


def failure_of(session: Session, label: str) -> str:
    """Why a kernel has no result, in one line."""
    failed = [one.failure for one in session.manifest.runs if one.kernel == label and one.failure]
    return failed[-1].message if failed else "no run was recorded"


def tell_console(session: Session, label: str) -> None:
    """Tell what the console of a kernel said last, if it has no result and its console tells
    why."""
    failed = [one.failure for one in session.manifest.runs if one.kernel == label and one.failure]
    for line in excerpt(failed[-1].console) if failed else ():
        tell(f"  {units.printable(line)}")


def excerpt(console: Sequence[str]) -> list[str]:
    """The lines of a console from where a kernel panics on, or from the fault before that; else
    its last ones."""
    starts = (at for at, line in enumerate(console) if _TROUBLE.search(line))
    first = next(starts, max(0, len(console) - _CONSOLE))
    return list(console[first : first + _CONSOLE])


def has_result(session: Session, label: str, recorders: Sequence[Recorder]) -> bool:
    """Whether a kernel was counted."""
    return bool(session.finished(label, recorders[0].collector.name))


def require_result(
    session: Session, label: str, recorders: Sequence[Recorder], shown: str = ""
) -> None:
    """Raise RunError where a kernel has none; ``shown``: what the user calls it."""
    if not has_result(session, label, recorders):
        tell_console(session, label)
        raise RunError(f"{shown or label} has no result: {failure_of(session, label)}")


def open_session(
    asked: RecordOptions,
    folder: Path,
    kernels: Sequence[KernelFiles],
    equipment: Equipment,
) -> tuple[Session, Experiment]:
    """The session in ``folder``, new or as it was interrupted, of a workload on ``kernels`` and on
    those that it has already."""
    made = Experiment.of(asked, folder, asked.command, kernels, equipment)
    planned = made.planned
    if is_session(folder):
        known = Session.open(folder).manifest.kernels
        labels = {kernel.label for kernel in planned.kernels}
        more = [one for one in known if one.label not in labels]
        planned = m.replace(planned, kernels=[*planned.kernels, *more])
    return plan.open_session(folder, planned, made.code, made.workload.source), made


@dataclass
class Measuring:
    """The revisions of one bisection, by their hashes."""

    kept: Kept
    kernels: Kernels
    session: Session
    recorders: Sequence[Recorder]
    judge: Judge
    _judged: dict[str, Verdict] = field(default_factory=dict)

    def mark(self, commit: str, likely: Sequence[str]) -> Mark:
        """What a revision is."""
        return self.verdict(commit, likely).mark

    def number(self, commit: str, likely: Sequence[str]) -> float | None:
        """What was measured of a revision, None where that cannot be."""
        return self.verdict(commit, likely).number

    def verdict(self, commit: str, likely: Sequence[str] = ()) -> Verdict:
        """Skip for what does not build, or gives no result twice. ``likely``: the revisions that
        may be asked for next. Raises whatever else building and recording raise, which is not the
        revision's own."""
        label, content = label_of(commit), self.kept.content
        if self._has(label):
            return self._of(label)
        for known in (content.untestable, content.failed):
            if commit in known:
                return Verdict("skip", None, known[commit])
        try:
            files = self.kernels.build(commit)
        except (BuildError, UnfitError) as error:
            if isinstance(error, BuildError) and _KILLED.search(error.first):
                raise RunError(
                    f"{error}: the compiler was killed, perhaps because memory ran out: run the "
                    "same command again"
                ) from error
            self.kept.give_up(commit, str(error))
            return self._skipped(commit, str(error))
        self.kernels.begin(likely)
        described = plan.describe_kernel(files)
        manifest = self.session.manifest
        if label not in [kernel.label for kernel in manifest.kernels]:
            self.session.save(m.replace(manifest, kernels=[*manifest.kernels, described]))
        record(self.session, [files], self.recorders)
        if not self._has(label):
            tell(f"{label} is booted once more: {failure_of(self.session, label)}")
            record(self.session, [files], self.recorders)
        if not self._has(label):
            why = failure_of(self.session, label)
            self.kept.fail(commit, why)
            skipped = self._skipped(commit, why)
            tell_console(self.session, label)
            return skipped
        found = self._of(label)
        said = "" if found.number is None else f", {self.judge.what} {units.digits(found.number)}"
        tell(f"{label} {f'is {found.mark}' if found.mark != 'skip' else found.reason}{said}")
        return found

    def tested(self) -> list[str]:
        """The labels that ran."""
        return [kernel.label for kernel in self.session.manifest.kernels if self._has(kernel.label)]

    def _of(self, label: str) -> Verdict:
        if label not in self._judged:
            self._judged[label] = self.judge.verdict(label)
        return self._judged[label]

    def _has(self, label: str) -> bool:
        return has_result(self.session, label, self.recorders)

    def _skipped(self, commit: str, reason: str) -> Verdict:
        tell(f"{label_of(commit)} is skipped: {reason}")
        return Verdict("skip", None, reason)
