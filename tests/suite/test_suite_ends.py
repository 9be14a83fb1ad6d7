"""How the recording of a suite ends: what failed, and gave no result since, and its exit status."""

from pathlib import Path

import pytest
from synthetic_suite import large_suite

from profdiff.base.errors import RunError
from profdiff.commands.record import _conclude
from profdiff.recording.run import Batch
from profdiff.recording.schedule import PlannedRun
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite

LATE = m.Failure("timeout", "late")


def _failing(folder: Path, *, again: bool, repeat: int = 1) -> tuple[Suite, Session]:
    """A suite of one workload on two kernels, where the second's run failed, and was made ``again``
    with a result, if so, by a plan of ``repeat``."""
    suite = large_suite(folder, 2, 1, functions=3)
    ((_, _, session),) = suite.recorded()
    first, second = session.manifest.runs
    late = m.replace(second, failure=LATE, measured=[], window=None, instructions=None)
    number = 1 + repeat
    made = [m.replace(second, id=f"{second.kernel}-p1-{number}", repetition=number)]
    runs = [first, late, *(made if again else [])]
    session.save(m.replace(session.manifest, runs=runs, repeat=repeat))
    return suite, session


def test_what_failed_and_was_made_again_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, session = _failing(tmp_path / "s", again=True)
    _conclude(suite, [Batch(session, [], [], "w000")])
    told = capsys.readouterr()
    assert "2 runs with a result, 0 not there, 0 failed" in told.out
    assert "late" not in told.err


def test_what_failed_and_is_lacking_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, session = _failing(tmp_path / "s", again=False)
    with pytest.raises(RunError, match="1 run of the suite failed") as error:
        _conclude(suite, [Batch(session, [], [], "w000")])
    assert error.value.status == 1
    told = capsys.readouterr()
    assert "1 run with a result, 0 not there, 1 failed" in told.out
    assert f"w000 {session.manifest.runs[1].id}: late" in told.err


def test_a_shard_fails_by_its_own_runs_alone(tmp_path: Path) -> None:
    """Of two runs of a cell it has one, which failed, and was made again."""
    suite, session = _failing(tmp_path / "s", again=True, repeat=2)
    late = session.manifest.runs[1]

    def mine(place: PlannedRun) -> bool:
        return place == (late.kernel, "exact", 0, 0)

    _conclude(suite, [Batch(session, [], [], "w000", mine)])
    with pytest.raises(RunError):
        _conclude(suite, [Batch(session, [], [], "w000")])
