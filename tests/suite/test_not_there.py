"""What a kernel lacks is told apart from what failed: it is no result, no trouble, and not 0."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from synthetic import manifest

from profdiff.collectors import registry
from profdiff.collectors.collector import Collector
from profdiff.collectors.guest.result import Left, agents_result
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.records import Failure
from profdiff.commands.record_summary import failed
from profdiff.recording import schedule
from profdiff.recording.alike import Alike
from profdiff.recording.run import outcome
from profdiff.session import manifest as m

ABSENT = Failure("absent", "not there: userfaultfd (ENOSYS)")


@pytest.mark.parametrize(
    ("status", "stderr", "failure"),
    [
        ("exit 4", "opening\nnot there: userfaultfd (ENOSYS)\n", ABSENT),
        ("exit 4", "not there: x\n\n  \n", Failure("absent", "not there: x")),
        ("exit 4", "no memory\n", Failure("workload", "the workload ended with exit status 4")),
        ("exit 4", "", Failure("workload", "the workload ended with exit status 4")),
        (
            "exit 1",
            "not there: x\n",
            Failure("workload", "the workload ended with exit status 1"),
        ),
        ("signal 4", "not there: x\n", Failure("workload", "the workload was killed by signal 4")),
    ],
)
def test_only_its_own_words_and_status_say_it(
    tmp_path: Path, status: str, stderr: str, failure: Failure
) -> None:
    (tmp_path / "status").write_text(f"{status}\n")
    (tmp_path / "stderr").write_text(stderr)
    files = {"status": "status", "stderr": "stderr"}
    left = Left(tmp_path, files, None, {}, emulated=True, has_marks=False)
    found = agents_result(left, lambda _: []).failure
    assert found
    assert found.kind == failure.kind
    assert found.message.startswith(failure.message)


def test_what_a_program_says_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("exit 4\n")
    (tmp_path / "stderr").write_text("not there: \x1b[2J" + "x" * 10_000)
    files = {"status": "status", "stderr": "stderr"}
    left = Left(tmp_path, files, None, {}, emulated=True, has_marks=False)
    found = agents_result(left, lambda _: []).failure
    assert found
    assert found.kind == "absent"
    assert len(found.message) < 250
    assert "\x1b" not in found.message


@dataclass(frozen=True)
class Recorder:
    """A collector that is only asked for its name."""

    collector: Collector = registry.collector("exact")  # noqa: RUF009
    alone: bool = False
    emulated: bool = True


def _planned(repeat: int = 1) -> m.Manifest:
    points = [m.Point({"n": str(n)}, 1) for n in range(5)]
    return m.replace(manifest(["a", "b"], runs=0), points=points, repeat=repeat)


def _pending(described: m.Manifest) -> list[schedule.PendingRun]:
    kernels = [KernelFiles(one.label, one.spec) for one in described.kernels]
    return schedule.missing_runs(described, kernels, [Recorder()])  # type: ignore[list-item]


def _run(one: schedule.PendingRun, failure: m.Failure) -> m.Run:
    run = manifest([one.kernel.label], runs=1).runs[0]
    return m.replace(
        run, id=one.id, point=one.point, repetition=one.repetition, failure=failure, measured=[]
    )


def test_what_is_not_there_is_not_tried_again() -> None:
    planned = _planned()
    every = _pending(planned)
    made = m.replace(planned, runs=[_run(one, ABSENT) for one in every[:3]])
    assert [one.id for one in _pending(made)] == [one.id for one in every[3:]]
    broken = m.replace(planned, runs=[_run(one, Failure("workload", "no")) for one in every[:3]])
    assert len(_pending(broken)) == len(every)


def test_other_points_are_tried_all_the_same() -> None:
    planned = _planned(repeat=2)
    waiting = _pending(planned)
    alike = Alike(planned)
    for one in [one for one in waiting if one.point < 4]:
        alike.ended(one, ABSENT)
    assert {one.point for one in alike.without(waiting)} == {4}
    assert alike.lines() == []


def test_it_is_told_in_its_own_words() -> None:
    runs = [_run(one, ABSENT) for one in _pending(_planned())]
    assert outcome(runs[0]) == "not there: userfaultfd (ENOSYS)"
    assert failed(runs[:1]) == [f"{runs[0].id}: not there: userfaultfd (ENOSYS)"]
    assert failed(runs) == ["10 runs: not there: userfaultfd (ENOSYS)"]
    assert runs[0].not_there
    assert not runs[0].failed
