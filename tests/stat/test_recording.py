"""Recording with perf stat: this machine's real perf, and arm64 guests with QEMU's PMU."""

import json
import os
from pathlib import Path

import pytest
from ssh_server import Server
from ssh_server import server as server
from support import error_line, need_program, profdiff

from profdiff.session.session import Session

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (long i = atol(argv[1]); i > 0; i--)
		getppid();
	return 0;
}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    need_program("perf", "linux-perf")
    need_program("cc", "gcc")
    source = tmp_path / "calls.c"
    source.write_text(SOURCE)
    return source


@pytest.mark.build
def test_this_machine(workload: Path, tmp_path: Path) -> None:
    """What perf can count here is counted; what it cannot is said, or refused if it was named."""
    session = tmp_path / "s.profdiff"
    options = ["--collector", "stat", "--kernel", "a=running"]
    said = profdiff("record", *options, "--ops", "200000", "-o", session, "--", workload, "200000")
    (run,) = Session.open(session).manifest.runs
    told = {one.name: one for one in run.measured}
    assert {"wall-time", "task-clock", "page-faults", "context-switches"} <= told.keys()
    assert 0 < told["task-clock"].values[0] < 10 * told["wall-time"].values[0]
    assert "task-clock, ns per op" in said.stdout
    if "instructions" not in told:
        assert "instructions" in " ".join(run.remarks)
        other = tmp_path / "named.profdiff"
        named = [*options, "--event", "instructions", "-o", other, "--", workload, "10"]
        assert "instructions is not supported" in error_line(profdiff("record", *named, status=2))


@pytest.mark.build
def test_another_machine_with_two_lengths(workload: Path, server: Server, tmp_path: Path) -> None:
    """Over ssh, and what does not grow with ops is subtracted of all events."""
    session = tmp_path / "s.profdiff"
    command = ["record", "--collector", "stat", "--kernel", f"far={server.spec}", "-o", session]
    command += ["--ops", "400000", "--", workload, "{ops}"]
    profdiff(*command, env=server.environment())
    assert server.left_behind() == []
    manifest = Session.open(session).manifest
    short, long = sorted(manifest.runs, key=lambda run: manifest.points[run.point].ops or 0)
    told = json.loads(profdiff("report", session, "--json", "-").stdout)["experiment"]["results"]
    clock = next(one for one in told if one["metric"] == "task-clock")
    both = [
        next(one.values[0] for one in run.measured if one.name == "task-clock")
        for run in (long, short)
    ]
    (((per_op,),),) = [kernel["boots"] for kernel in clock["kernels"]]
    assert per_op == pytest.approx((both[0] - both[1]) / 200_000)


@pytest.mark.build
def test_an_event_that_does_not_exist(workload: Path, tmp_path: Path) -> None:
    options = [
        "--collector",
        "stat",
        "--event",
        "task-clock,no-such-event",
        "--kernel",
        "a=running",
    ]
    line = error_line(
        profdiff("record", *options, "-o", tmp_path / "s", "--", workload, "10", status=2)
    )
    assert "perf cannot count there" in line
    assert "no-such-event" in line
    line = error_line(
        profdiff("record", "--collector", "stat", "--event", "a,,b", "--kernel", "a=running",
                 "-o", tmp_path / "t", "--", workload, "10", status=2)
    )  # fmt: skip
    assert "separate events by commas" in line


@pytest.mark.build
def test_a_machine_without_perf(
    workload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in os.environ["PATH"].split(":"):
        for one in Path(folder).glob("*"):
            if one.name != "perf" and not (programs / one.name).exists():
                (programs / one.name).symlink_to(one)
    monkeypatch.setenv("PATH", str(programs))
    command = ["record", "--collector", "stat", "--kernel", "a=running", "-o", tmp_path / "s"]
    line = error_line(profdiff(*command, "--", workload, "10", status=2))
    assert "perf is missing: install linux-perf" in line


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.network
def test_arm64_guests_count_the_same_each_time(workload: Path, tmp_path: Path) -> None:
    """QEMU's PMU counts instructions: two boots of a kernel agree, and no time is claimed."""
    need_program("xz", "xz-utils")
    need_program("qemu-system-aarch64", "qemu-system-arm")
    need_program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    kernels = [f"--kernel={label}=debian:bookworm-backports/cloud-arm64" for label in ("a", "b")]
    command = ["record", *kernels, "--ops", "20000", "--collector", "stat", "-o", tmp_path / "arm"]
    profdiff(*command, "--", workload, "20000")
    told = json.loads(profdiff("report", tmp_path / "arm", "--json", "-").stdout)["experiment"]
    results = {one["metric"]: one for one in told["results"]}
    (((first,),), ((second,),)) = (one["boots"] for one in results["instructions"]["kernels"])
    assert first == second > 100
    assert results["instructions"]["kernels"][1]["change"]["verdict"] == "exact"
    assert results["whole-command"]["virtual_time"]
    # A clock that counts instructions is no time, so nothing is split.
    assert told["time_splits"] == []
    assert any("cycles are QEMU's virtual time" in note for note in told["notes"])
