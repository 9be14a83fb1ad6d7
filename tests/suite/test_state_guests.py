"""A suite repeats a cell that changed in other states: the change of mmap() beside another mapping
is an accident of how many mappings there are."""

from pathlib import Path

import kept_events
import pytest
from support import profdiff

from profdiff.session import manifest as m
from profdiff.session.suite import Suite


@pytest.mark.guest
def test_a_full_node_of_a_tree_is_no_change(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    kernels = [f"--kernel=base={old_kernel}", f"--kernel=new={new_kernel}"]
    words = ["--suite", "syscalls", "--only", "mmap-beside/anon", "--only", "getpid", *kernels]
    plain = profdiff("record", *words, "--vary-state", "0", cwd=tmp_path)
    assert "varied state" not in plain.stderr
    recorded = profdiff("record", *words, cwd=tmp_path)
    assert "repeating cells that changed, in varied state 1: 1 workload\n" in recorded.stderr
    runs = {
        workload.name: session.manifest.runs
        for workload, _, session in Suite.open(tmp_path / "syscalls.profdiff").recorded()
    }
    assert {run.state for run in runs["getpid"]} == {0}
    assert {run.state for run in runs["mmap-beside"]} == {0, 1}
    assert _change(runs["mmap-beside"], 0) > 1
    assert abs(_change(runs["mmap-beside"], 1)) < 0.1
    happened = kept_events.check(tmp_path / "syscalls.profdiff")
    assert set(happened) == {("mmap-beside/anon", "new"), ("getpid", "new")}
    assert set(happened["mmap-beside/anon", "new"].values()) <= {2}
    again = profdiff("record", *words, cwd=tmp_path)
    assert "all runs are already recorded" in again.stderr
    assert "varied state" not in again.stderr


def _change(runs: list[m.Run], state: int) -> float:
    """Of the new kernel, as a fraction of the base."""
    counts = {run.kernel: run.measured[0].values[0] for run in runs if run.state == state}
    return counts["new"] / counts["base"] - 1
