"""Machines that are saved before anything is recorded: which are tried again, and what is told of
those that cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from synthetic import manifest

from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder, RunJob
from profdiff.collectors.records import Failure, Guest
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording import machines
from profdiff.session import manifest as m

STATE = MachineState(Path("state"), {}, None)  # type: ignore[arg-type]
HANGS = Failure("timeout", "the guest did not finish")
REFUSED = Failure("qemu", "the state of the machine cannot be moved: No space left on device")


class Machine:
    """A machine whose savings end as a test says, one after the other."""

    listening = ()

    def __init__(self, *outcomes: MachineState | Failure) -> None:
        self.outcomes = list(outcomes)
        self.folders: list[Path] = []
        self.stopped = 0
        self.run = self
        self.kernel = KernelFiles("k", "k")

    def find(self) -> None:
        """The cache does not have it."""

    def key(self) -> str:
        return "hangs"

    def saved(self, folder: Path) -> None:
        raise AssertionError(f"it is saved once more in {folder}")

    def start_saving(self, folder: Path) -> "Machine":
        assert list(folder.iterdir()) == []
        (folder / "machine").touch()
        self.folders.append(folder)
        return self

    def poll(self) -> bool:
        return True

    def stop(self) -> None:
        self.stopped += 1

    def end(self) -> MachineState | Failure:
        return self.outcomes.pop(0)


def save(folder: Path, jobs: int = 2, **each: Machine) -> dict[str, Any]:
    made = list(machines._save(each, jobs, folder))  # type: ignore[arg-type]
    assert len(dict(made)) == len(made)
    return dict(made)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_qemu_refused_is_tried_once_more(tmp_path: Path, jobs: int) -> None:
    better, never = Machine(REFUSED, STATE), Machine(REFUSED, REFUSED, STATE)
    made = save(tmp_path, jobs, better=better, good=Machine(STATE), never=never)
    assert made == {"better": STATE, "good": STATE, "never": REFUSED}
    assert never.outcomes == [STATE]
    assert len(set(never.folders)) == 2


@pytest.mark.parametrize("kind", ["boot", "panic", "timeout"])
def test_a_kernel_that_does_not_boot_is_not(tmp_path: Path, kind: str) -> None:
    hangs = Machine(Failure(kind, "it hangs"), STATE)
    assert save(tmp_path, hangs=hangs)["hangs"].kind == kind
    assert len(hangs.folders) == 1


@dataclass(frozen=True)
class Planned:
    """As much of an experiment as machines are saved for."""

    folder: Path
    planned: Any
    machines: Mapping[str, Any] = field(default_factory=dict)


def test_runs_of_all_workloads_know_of_a_kernel_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is booted once, before anything is recorded, and by no run again."""
    hangs = Machine(HANGS)
    wanted = {"hangs": hangs, "good": Machine(STATE)}
    monkeypatch.setattr(machines, "_wanted", lambda *_: wanted.items())
    monkeypatch.setattr(Recorder, "machine", lambda *_: hangs)
    each = [Planned(tmp_path / name, manifest(["base", "new"])) for name in ("one", "two")]
    said: list[str] = []
    made = machines.saved(each, 2, said.append).each  # type: ignore[arg-type]
    assert said == ["Booting and saving 2 guests"]
    assert [one.machines for one in made] == [{"hangs": HANGS, "good": STATE}] * 2
    guest = Guest(memory=512, append="", settle=0, timeout=300, restored=True)
    qemu = Qemu(Path("qemu"), "7.2", ARCHITECTURES[0])
    for one in made:
        workload = PreparedWorkload(("true",), ("true",), "program", has_marks=False)
        recorder = Recorder(
            registry.collector("exact"),
            {},
            workload,
            guest,
            qemu,
            observe=False,
            folder=tmp_path / "work",
            machines=one.machines,
        )
        kernel = KernelFiles("k", "k", tmp_path / "bzImage")
        running = recorder.start(RunJob(kernel, ("true",), 1, tmp_path))
        assert running.process.poll()
        assert running.process.result({}) == HANGS
    assert len(hangs.folders) == 1


def test_all_boot_where_one_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"refused": Machine(REFUSED, REFUSED)}
    monkeypatch.setattr(machines, "_wanted", lambda *_: wanted.items())
    said: list[str] = []
    described = manifest(["base", "new"])
    guest = m.Guest(memory=512, append="", settle=0, timeout=300, restored=True)
    one = Planned(tmp_path / "one", m.replace(described, guest=guest))
    (made,) = machines.saved([one], 2, said.append).each  # type: ignore[list-item]
    reason = f"k: {REFUSED.message}"
    assert said[-1] == f"no machine can be restored, guests boot ({reason})"
    assert made.planned.guest == m.replace(guest, restored=False, not_restored=reason)
    assert made.machines == {}
