"""Recording on machines that are not ours to boot: this one, and over ssh to a real sshd."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from ssh_server import Server, children_of_sshd
from ssh_server import server as server
from support import error_line, need_program, profdiff

from profdiff.collectors.kernels.address import LOCAL
from profdiff.session.session import Session
from profdiff.symbolization.running_kernel import running_build_id

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 400000;
	for (long i = 0; i < calls; i++)
		getppid();
	return 0;
}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A program that calls the kernel, or a skip where perf may not record."""
    need_program("perf", "linux-perf")
    need_program("cc", "gcc")
    probe = ["perf", "record", "-q", "-e", "cpu-clock", "-o", tmp_path / "probe", "--", "true"]
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"perf may not record here: {result.stderr.strip()[-200:]}")
    source = tmp_path / "calls.c"
    source.write_text(SOURCE)
    return source


@pytest.mark.build
def test_the_running_kernel_in_two_boots(workload: Path, tmp_path: Path) -> None:
    session = tmp_path / "s.profdiff"
    said = profdiff("record", "--kernel", "a=running", "-o", session, "--", workload)
    assert "profdiff report" in said.stdout
    (run,) = Session.open(session).manifest.runs
    assert run.exit_status == 0
    assert run.sampling
    shown = profdiff("report", session).stdout
    assert "getppid" in shown
    if "instructions" not in run.sampling.events:
        assert "NOT what was asked for" in shown
    if running_build_id() is None:
        pytest.skip("the running kernel has no build id")
    # Not rebooted: the same kernel under another name would be compared with itself.
    line = error_line(profdiff("record", "--kernel", "b=running", "-o", session, status=2))
    assert "is the kernel already recorded as a" in line
    # As after a reboot: what was recorded was another kernel. The workload comes from the session.
    manifest = json.loads((session / "manifest.json").read_text())
    manifest["kernels"][0]["build_id"] = "ab" * 20
    (session / "manifest.json").write_text(json.dumps(manifest))
    line = error_line(profdiff("record", "--kernel", "a=running", "-o", session, status=2))
    assert "give it another label" in line
    profdiff("record", "--kernel", "b=running", "-o", session)
    manifest_now = Session.open(session).manifest
    assert [(run.kernel, run.collector) for run in manifest_now.runs] == [
        ("a", "perf"),
        ("b", "perf"),
    ]
    assert "b takes " in profdiff("report", session).stdout


@pytest.mark.build
def test_two_lengths_and_the_session_knows_them(workload: Path, tmp_path: Path) -> None:
    """Samples of both lengths are subtracted; the machine's other kernel runs at the same."""
    session = tmp_path / "s.profdiff"
    options = ["--ops", "2000000", "--collector", "perf,timed", "-o", session]
    profdiff("record", "--kernel", "a=running", *options, "--", workload, "{ops}")
    manifest = json.loads((session / "manifest.json").read_text())
    assert [(point["ops"], point["shorter"]) for point in manifest["points"]] == [
        (2000000, 1),
        (1000000, None),
    ]
    # What only times the workload runs at the length that was asked for.
    assert Counter((run["collector"], run["point"]) for run in manifest["runs"]) == {
        ("perf", 0): 1,
        ("perf", 1): 1,
        ("timed", 0): 1,
    }
    metric, *_ = json.loads(profdiff("report", session, "--json", "-").stdout)["metrics"]
    sampled = [run for run in manifest["runs"] if run["collector"] == "perf"]
    taken = {run["point"]: run["measured"][0]["values"][0] for run in sampled}
    assert metric["totals"]["a"] == taken[0] - taken[1]
    if running_build_id() is None:
        pytest.skip("the running kernel has no build id")
    manifest["kernels"][0]["build_id"] = "ab" * 20
    (session / "manifest.json").write_text(json.dumps(manifest))
    profdiff("record", "--kernel", "b=running", "--collector", "perf,timed", "-o", session)
    now = Session.open(session).manifest
    assert Counter(run.kernel for run in now.runs) == {"a": 3, "b": 3}
    assert [point.ops for point in now.points] == [2000000, 1000000]
    said = profdiff("report", session).stdout
    assert "1,000,000 ops; ops 2000000 minus ops 1000000" in " ".join(said.split())
    assert "excluded: fixed " in said


@pytest.mark.slow
def test_a_machine_needs_a_command_and_perf(workload: Path, tmp_path: Path) -> None:
    line = error_line(profdiff("record", "--kernel", LOCAL, "-o", tmp_path / "x", status=2))
    assert "no COMMAND" in line
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "cat", "cc", "grep", "sed", "tr", "head", "uname", "id", "mkdir", "xargs"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    command = ["record", "--kernel", LOCAL, "-o", tmp_path / "y", "--", "true"]
    result = profdiff(*command, env={"PATH": str(programs)}, status=2)
    assert "perf is missing" in error_line(result)
    assert "profdiff doctor" in error_line(result)
    exact = ["record", "--collector", "exact", "--kernel", LOCAL, "--", "true"]
    assert "it cannot record a machine" in error_line(profdiff(*exact, status=2))
    both = ["record", "--count", "5", "--frequency", "5", "--kernel", LOCAL, "--", "true"]
    assert "cannot be used together" in error_line(profdiff(*both, status=2))


@pytest.mark.build
def test_an_event_that_this_machine_lacks(workload: Path, tmp_path: Path) -> None:
    command = ["record", "--event", "no-such-event", "--kernel", LOCAL, "-o", tmp_path / "s"]
    line = error_line(profdiff(*command, "--", workload, status=2))
    assert "perf cannot record there" in line


@pytest.mark.slow
def test_a_workload_that_fails(workload: Path, tmp_path: Path) -> None:
    script = tmp_path / "fails.sh"
    script.write_text("#!/bin/sh\necho went wrong >&2\nexit 3\n")
    script.chmod(0o755)
    command = ["record", "--kernel", LOCAL, "-o", tmp_path / "s", "--", script]
    assert "ended with exit status 3" in error_line(profdiff(*command, status=2))


@pytest.mark.build
def test_over_ssh(workload: Path, server: Server, tmp_path: Path) -> None:
    session = tmp_path / "s.profdiff"
    command = ["record", "--kernel", f"far={server.spec}", "--repeat", "2", "-o", session]
    profdiff(*command, "--", workload, env=server.environment())
    manifest = Session.open(session).manifest
    assert [run.failure for run in manifest.runs] == [None, None]
    assert manifest.kernels[0].build_id == running_build_id()
    assert server.left_behind() == []
    shown = profdiff("report", session).stdout
    assert "getppid" in shown
    assert "2 runs with" in shown
    # The program's own functions come from the copy in the session: its folder there is gone.
    assert "main (calls)" in shown
    assert "no-file (user)" not in shown


def test_doctor_over_ssh(server: Server) -> None:
    need_program("perf", "linux-perf")
    shown = profdiff("doctor", "--kernel", server.spec, env=server.environment()).stdout
    assert os.uname().release in shown
    assert "perf_event_paranoid" in shown
    assert server.left_behind() == []


@pytest.mark.parametrize(
    ("config", "told"),
    [("config-unknown", "host key is unknown"), ("config-nokey", "refused the login")],
)
def test_a_login_that_fails(server: Server, tmp_path: Path, config: str, told: str) -> None:
    command = ["record", "--kernel", server.spec, "-o", tmp_path / "s", "--", "true"]
    result = profdiff(*command, env=server.environment(config), status=2)
    assert told in error_line(result)


def test_nobody_listens(server: Server, tmp_path: Path) -> None:
    command = ["record", "--kernel", "ssh://127.0.0.1:1", "-o", tmp_path / "s", "--", "true"]
    assert "cannot be reached" in error_line(profdiff(*command, status=2))


@pytest.mark.slow
def test_a_connection_that_breaks(workload: Path, server: Server, tmp_path: Path) -> None:
    """The run is failed and kept, nothing goes on over there, and the same command goes on."""
    session = tmp_path / "s.profdiff"
    script = tmp_path / "slow.sh"
    script.write_text("#!/bin/sh\nexec sleep 300.25\n")
    script.chmod(0o755)
    command = [sys.executable, "-m", "profdiff", "record", "--kernel", server.spec, "-o", session]
    process = subprocess.Popen(
        [*map(str, command), "--", str(script)],
        env={**os.environ, **server.environment()},
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(200):
        if sleeping():
            break
        time.sleep(0.1)
    for pid in children_of_sshd(server):
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "broke" in errors
    assert "run the same command again" in errors
    for _ in range(50):
        if not sleeping() and not server.left_behind():
            break
        time.sleep(0.1)
    assert not sleeping()
    assert server.left_behind() == []
    (run,) = Session.open(session).manifest.runs
    assert run.failure
    assert run.failure.kind == "connection"


def sleeping() -> bool:
    return (
        subprocess.run(["pgrep", "-f", "sleep 300.25"], capture_output=True, check=False).returncode
        == 0
    )
