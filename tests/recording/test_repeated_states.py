"""``record`` repeats what changed in other states by itself."""

from pathlib import Path

import pytest
from support import RESTORED, ROOT, error_line, profdiff

from profdiff.session import manifest as m
from profdiff.session.session import Session

MMAP = ROOT / "profdiff/suites/mmap.c"


@pytest.mark.guest
def test_a_changed_result_is_repeated(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    """mmap() beside another mapping costs more in the plain state alone, since a leaf of the maple
    tree is full (tests/suite/test_state_guests.py)."""
    kernels = [f"--kernel=base={old_kernel}", f"--kernel=new={new_kernel}"]
    words = [*RESTORED, *kernels, "--ops", "100", "-o", "s.profdiff"]
    command = ["--", MMAP, "beside", "anon", "64k", "{ops}"]
    plain = profdiff("record", *words, "--vary-state", "0", *command, cwd=tmp_path)
    assert "varied state" not in plain.stderr
    session = tmp_path / "s.profdiff"
    mail = ("mail", session, "--from", "A <a@example.org>", "--regression")
    refused = error_line(profdiff(*mail, status=2))
    assert "the change was seen in one state" in refused and " --vary-state 4 " in refused

    planned = profdiff("plan", *words, *command, cwd=tmp_path, repeats=True).stdout
    assert "state 1" in planned
    assert "is repeated in varied states until its verdict stands, at most 4" in planned
    recorded = profdiff("record", *words, *command, cwd=tmp_path, repeats=True)
    assert "repeating what changed, in varied state 1 of at most 4: " in (recorded.stderr)
    runs = Session.open(session).manifest.runs
    states = sorted({run.state for run in runs})
    assert states == [0, 1]
    assert _change(runs, 0) > 1 and abs(_change(runs, 1)) < 0.2
    told = profdiff("report", session).stdout
    assert told.startswith("new: the change depends on state: ")
    assert "the change depends on state" in error_line(profdiff(*mail, status=2))
    # Which runs are made follows from those that are there.
    again = profdiff("record", *words, *command, cwd=tmp_path, repeats=True)
    assert "all runs are already recorded" in again.stderr
    assert "varied state" not in again.stderr


def _change(runs: list[m.Run], state: int) -> float:
    """Of the new kernel, as a fraction of the base, at the longer of two lengths."""
    last = max(run.point for run in runs)
    counts = {
        run.kernel: run.measured[0].values[0]
        for run in runs
        if run.state == state and run.point == last
    }
    return counts["new"] / counts["base"] - 1
