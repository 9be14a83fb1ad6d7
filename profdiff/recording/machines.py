"""The machines that runs restore are saved before anything is recorded, so that a session's guests
are all restored, or all boot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from profdiff.base.errors import InputError
from profdiff.base.processes import wait_readable
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.saving import FAILS_BOOTED_TOO, SavedMachine, Saving
from profdiff.collectors.records import Failure
from profdiff.recording import plan, schedule
from profdiff.recording.experiment import Experiment
from profdiff.session import manifest as m
from profdiff.session.held import is_session
from profdiff.session.session import Session

_POLL_SECONDS = 0.1
_UNDER_KVM = "under KVM, guests boot"


@dataclass(frozen=True)
class Machines:
    """``each``: the experiments as they are going to be recorded. What they restore stays in the
    cache as long as they live."""

    each: list[Experiment]


def saved(
    each: Sequence[Experiment],
    jobs: int,
    say: Callable[[str], None],
    chosen: Sequence[schedule.Chosen | None] = (),
) -> Machines:
    """Save what the missing runs of experiments restore, ``jobs`` machines at a time, unless the
    cache has it. ``chosen``: of each experiment, which of its runs are to be made; empty: all are.
    Where one cannot be, all of them boot, and ``say`` is told why in one line. Runs of a kernel
    that does not boot fail as that did, in each of the experiments.

    Raises InputError where that cannot be, because runs were restored before, MissingError,
    OSError, SessionError.
    """
    each = _as_before(each)
    with temporary_folder() as folder:
        wanted = dict(_wanted(each, folder, chosen or [None] * len(each)))
        if not wanted:
            return Machines([_under_kvm(one, folder) for one in each])
        held: dict[str, MachineState | Failure] = {
            key: found for key, one in wanted.items() if (found := one.find())
        }
        if lacking := {key: one for key, one in wanted.items() if key not in held}:
            many = "a guest" if len(lacking) == 1 else f"{len(lacking)} guests"
            say(f"Booting and saving {many}")
        refusal = None
        for key, outcome in _save(lacking, jobs, folder):
            held[key] = outcome
            if _may_succeed(outcome):
                refusal = f"{lacking[key].kernel.label}: {outcome.message}"
                break
    if refusal is None:
        return Machines([replace(one, machines=held) for one in each])
    for one in each:
        if _has_restored(one):
            raise InputError(
                f"{one.folder} has restored machines, and one cannot be ({refusal}): name another "
                "folder with -o, and add --no-restore"
            )
    say(f"no machine can be restored, guests boot ({refusal})")
    return Machines([_booting(one, refusal) for one in each])


def _as_before(each: Sequence[Experiment]) -> list[Experiment]:
    """What could not be restored when its session was begun boots now, and with it what has no
    restored run yet: nobody could compare it with the others."""
    reasons = [_before(one) for one in each]
    reason = next((why for why in reasons if why and why != _UNDER_KVM), None)
    return [
        _booting(one, found) if (found := why or _unless_restored(one, reason)) else one
        for one, why in zip(each, reasons, strict=True)
    ]


def _unless_restored(one: Experiment, reason: str | None) -> str | None:
    return None if reason is None or _has_restored(one) else reason


def _before(one: Experiment) -> str | None:
    """Why the guests of the session that goes on boot; None if they do not, or there is none."""
    guest = one.planned.guest
    if guest is None or not guest.restored or not is_session(one.folder):
        return None
    before = Session.open(one.folder).manifest.guest
    return before.not_restored or None if before else None


def _has_restored(one: Experiment) -> bool:
    """Whether the session has a result of a restored machine, so that its guests cannot boot."""
    guest = one.planned.guest
    if guest is None or not guest.restored or not is_session(one.folder):
        return False
    return any(run.failure is None for run in Session.open(one.folder).manifest.runs)


def _booting(one: Experiment, why: str) -> Experiment:
    guest = one.planned.guest
    if guest is None or not guest.restored:
        return one
    guest = m.replace(guest, restored=False, not_restored=why)
    return replace(one, planned=m.replace(one.planned, guest=guest))


def _under_kvm(one: Experiment, folder: Path) -> Experiment:
    """Guests on the processor itself boot; a session of no others says so."""
    if any(recorder.restores for recorder in one.recorders(one.planned, folder)):
        return one
    return _booting(one, _UNDER_KVM)


def _wanted(
    each: Sequence[Experiment], folder: Path, chosen: Sequence[schedule.Chosen | None]
) -> Iterator[tuple[str, SavedMachine]]:
    """Each machine, by its key, that a missing run restores."""
    for one, runs in zip(each, chosen, strict=True):
        if one.planned.guest is None or not one.planned.guest.restored:
            continue
        manifest = plan.continued(one.folder, one.planned)
        recorders = one.recorders(manifest, folder)
        seen = set()
        for run in schedule.missing_runs(manifest, one.kernels, recorders, runs):
            cpus = run.kernel.variant.cpus or manifest.points[run.point].cpus or 1
            known = id(run.recorder), run.kernel.image, run.kernel.variant, cpus
            if run.recorder.restores and known not in seen:
                seen.add(known)
                machine = run.recorder.machine(run.kernel, cpus)
                yield machine.key(), machine


def _save(
    lacking: dict[str, SavedMachine], jobs: int, folder: Path
) -> Iterator[tuple[str, MachineState | Failure]]:
    """Save machines side by side; each outcome as it comes. One that failed is tried once more,
    unless its runs would fail, too."""
    waiting = list(lacking.items())
    tried = set()
    active: list[tuple[str, Saving]] = []
    with ExitStack() as folders:
        try:
            while waiting or active:
                while waiting and len(active) < jobs:
                    key, machine = waiting.pop(0)
                    place = folders.enter_context(temporary_folder(beside=folder / key))
                    active.append((key, machine.start_saving(place)))
                for item in list(active):
                    if item[1].run.poll():
                        active.remove(item)
                        key, outcome = item[0], item[1].end()
                        if _may_succeed(outcome) and key not in tried:
                            tried.add(key)
                            waiting.append((key, lacking[key]))
                        else:
                            yield key, outcome
                if active:
                    wait_readable(
                        [one for _, saving in active for one in saving.run.listening], _POLL_SECONDS
                    )
        finally:
            for _, saving in active:
                saving.run.stop()


def _may_succeed(outcome: MachineState | Failure) -> TypeGuard[Failure]:
    """Whether it is a failure that runs need not have when they boot."""
    return isinstance(outcome, Failure) and outcome.kind not in FAILS_BOOTED_TOO
