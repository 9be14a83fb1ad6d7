"""Where machines cannot be saved, all guests of a recording boot, and go on booting."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from synthetic import manifest

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.collector import Collector
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.records import Failure
from profdiff.recording import machines
from profdiff.session import manifest as m
from profdiff.session.session import Session

WHY = "a: the state of the machine cannot be moved"
MESSAGE = Failure("protocol", "the state of the machine cannot be moved")
GUEST = m.Guest(memory=512, append="", settle=5.0, timeout=600.0, restored=True)


class _Refused:
    """A machine that QEMU does not save. ``tried`` counts."""

    kernel = KernelFiles("a", "a")
    tried = 0

    def key(self) -> str:
        return "key"

    def find(self) -> None:
        return None

    def start_saving(self, _: Path) -> SimpleNamespace:
        _Refused.tried += 1
        run = SimpleNamespace(poll=lambda: True, stop=lambda: None, listening=[])
        return SimpleNamespace(run=run, end=lambda: MESSAGE)


@dataclass(frozen=True)
class _Recorder:
    collector: Collector = registry.collector("exact")  # noqa: RUF009
    restores: bool = True

    def machine(self, *_: object) -> _Refused:
        return _Refused()


@dataclass(frozen=True)
class _Experiment:
    """What ``saved`` asks an experiment for."""

    folder: Path
    planned: m.Manifest
    kernels: list[KernelFiles] = field(
        default_factory=lambda: [KernelFiles("a", "a"), KernelFiles("b", "b")]
    )

    def recorders(self, *_: object) -> list[_Recorder]:
        return [_Recorder()]


@pytest.fixture(autouse=True)
def _untried() -> None:
    _Refused.tried = 0


def _experiment(folder: Path, **guest: object) -> _Experiment:
    """One that is going to be recorded in restored machines. ``guest``: what of it a session in the
    folder has otherwise, which has a run of each of two it wants; none: there is no session."""
    planned = m.replace(manifest(["a", "b"]), guest=GUEST, repeat=2)
    if guest:
        before = m.replace(planned, guest=m.replace(GUEST, **guest))
        Session.create(folder, before)
    return _Experiment(folder, m.replace(planned, runs=[]))


def _saved(*each: _Experiment) -> tuple[list[m.Guest], list[str]]:
    told: list[str] = []
    found = machines.saved(list(each), 2, told.append)  # type: ignore[arg-type]
    return [guest for one in found.each if (guest := one.planned.guest)], told


def test_all_boot_when_one_machine_cannot_be_saved(tmp_path: Path) -> None:
    guests, told = _saved(_experiment(tmp_path / "1"), _experiment(tmp_path / "2"))
    assert [(guest.restored, guest.not_restored) for guest in guests] == [(False, WHY)] * 2
    assert told[-1] == f"no machine can be restored, guests boot ({WHY})"


def test_what_fell_back_can_be_extended(tmp_path: Path) -> None:
    old = _experiment(tmp_path / "old", restored=False, not_restored="earlier")
    new = _experiment(tmp_path / "new")
    guests, _ = _saved(old, new)
    assert [(guest.restored, guest.not_restored) for guest in guests] == [(False, "earlier")] * 2
    assert _Refused.tried == 0


def test_a_session_under_kvm_keeps_no_other_from_being_restored(tmp_path: Path) -> None:
    """It never had a machine to restore. The new one's is tried, and booting is no contradiction
    to what the first has."""
    kvm = _experiment(tmp_path / "kvm", restored=False, not_restored="under KVM, guests boot")
    guests, _ = _saved(kvm, _experiment(tmp_path / "new"))
    assert [guest.not_restored for guest in guests] == ["under KVM, guests boot", WHY]
    # What failed is tried once more.
    assert _Refused.tried == 2


def test_what_has_restored_runs_does_not_boot(tmp_path: Path) -> None:
    old = _experiment(tmp_path / "old", restored=True)
    with pytest.raises(InputError, match=r"old has restored machines, and one cannot be"):
        _saved(old, _experiment(tmp_path / "new"))
