"""Recording on Dask clusters: real workers, real guests, and what happens when one is killed."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cluster.conftest import (
    ANOTHER_VERSION,
    SECONDS,
    SLOW,
    Dask,
    Recording,
    counts,
    wrapped_qemu,
)
from support import profdiff

from profdiff.session.session import Session

pytestmark = pytest.mark.guest
Start = Callable[..., Recording]


def test_a_cluster_counts_the_same_and_refuses_another_qemu(
    dask: Dask, start: Start, asked: list[str], alone: dict[str, bytes], tmp_path: Path
) -> None:
    good = dask.add()
    path = f"{wrapped_qemu(tmp_path / 'bin', ANOTHER_VERSION)}:{os.environ['PATH']}"
    bad = dask.add({"PATH": path})
    for worker in (good, bad):
        dask.wait_for(worker)
    session = tmp_path / "s.profdiff"
    # As long as a node takes to answer, on a busy machine, too.
    recording = start("--cluster", dask.address, "-o", session, "--repeat", "6", *asked)
    said = recording.wait_for(lambda said: "is left out" in said and "takes part" in said)
    assert recording.end() == 0, recording.said
    assert f":{good}) takes part, 1 guest at a time" in said
    (refused,) = re.findall(r"^.*is left out.*$", said, re.MULTILINE)
    assert f":{bad})" in refused
    assert "its QEMU is 'QEMU emulator version 99.0.1', not 'QEMU emulator version " in refused
    assert f":{bad})" not in "".join(re.findall(r"^.*: on .*$", recording.said, re.MULTILINE))
    assert counts(session) == alone
    assert [run.node and run.node.lost for run in Session.open(session).manifest.runs] == [[]] * 12


def test_restored_machines_count_the_same(
    old_kernel: Path, new_kernel: Path, workload: Path, tmp_path: Path
) -> None:
    """They are saved here, travel, and give on any node what they give here."""
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    options = ["--restore", "--ops", "2000"]
    found = []
    for number, more in enumerate(([], ["--cluster", "local:2"])):
        session = tmp_path / f"{number}.profdiff"
        command = ["record", *kernels, *options, *more, "-o", session, "--", workload, "2000"]
        said = profdiff(*command, cwd=tmp_path)
        opened = Session.open(session)
        assert opened.manifest.guest
        assert opened.manifest.guest.restored, said.stderr
        runs = opened.manifest.runs
        assert [run.failure for run in runs] == [None] * 2
        assert {run.node is not None for run in runs} == {bool(more)}
        found.append({run.id: opened.path(run.files["counts"]).read_bytes() for run in runs})
        # The kernel's facts are in each run's folder, though they did not travel.
        assert all(opened.path(run.files["kallsyms"]).stat().st_size for run in runs)
    alone, together = found
    assert together == alone


def test_a_worker_that_is_killed(
    start: Start, asked: list[str], alone: dict[str, bytes], tmp_path: Path
) -> None:
    """Its run is made by another one, which counts the same."""
    session = tmp_path / "s.profdiff"
    # Guests end in half a second; on a busy machine, looking for them takes as long.
    path = f"{wrapped_qemu(tmp_path / 'bin', SLOW)}:{os.environ['PATH']}"
    recording = start("--cluster", "local:2", "-o", session, *asked, env={"PATH": path})
    recording.wait_for(lambda said: len(re.findall(r": on ", said)) == 2)
    busy: list[int] = []

    def find_busy(_: str) -> bool:
        workers = filter(is_worker, descendants(recording.process.pid))
        busy.extend(pid for pid in workers if guests(pid))
        return bool(busy)

    recording.wait_for(find_busy)
    os.kill(busy[0], signal.SIGKILL)
    assert recording.end() == 0, recording.said
    assert len(re.findall(r"was lost; it is tried again", recording.said)) == 1
    assert "a run was tried again, as its node was lost" in recording.said
    assert "dashboard" not in recording.said
    assert counts(session) == alone
    runs = Session.open(session).manifest.runs
    assert [run.failure for run in runs] == [None, None]
    assert sorted(len(run.node.lost) for run in runs if run.node) == [0, 1]


def test_a_scheduler_that_is_killed(
    dask: Dask, start: Start, asked: list[str], alone: dict[str, bytes], tmp_path: Path
) -> None:
    """The recording ends with one line, and the same command makes what is missing."""
    dask.add()
    session = tmp_path / "s.profdiff"
    command = ["--cluster", dask.address, "-o", session, *asked]
    recording = start(*command)
    recording.wait_for(lambda said: "1 run left" in said)
    assert dask.scheduler
    dask.scheduler.kill()
    assert recording.end() == 2
    last = recording.said.strip().splitlines()[-1]
    assert "the scheduler does not answer any more" in last
    assert "Traceback" not in recording.said
    (done,) = Session.open(session).manifest.runs
    dask.end()
    dask.start()
    dask.add()
    again = start(*command)
    assert again.end() == 0, again.said
    assert done == Session.open(session).manifest.runs[0]
    assert counts(session) == alone


def test_a_recorder_that_is_killed(
    dask: Dask, start: Start, asked: list[str], tmp_path: Path
) -> None:
    """Nobody waits for its guests any more: they end, and the worker is free."""
    worker = dask.workers[dask.add()]
    recording = start("--cluster", dask.address, "-o", tmp_path / "s.profdiff", *asked)
    until(lambda: guests(worker.pid))
    recording.process.kill()
    until(lambda: not guests(worker.pid))
    assert worker.poll() is None


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def guests(pid: int) -> list[int]:
    """The QEMUs with a kernel that a process started."""
    found = []
    for child in descendants(pid):
        with suppress(OSError):
            if "-kernel" in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
                found.append(child)
    return found


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that these did. Asked all at once: a guest
    ends in half a second."""
    told = subprocess.run(["ps", "-eo", "pid=,ppid="], stdout=subprocess.PIPE, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in told.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = list(children.get(pid, ()))
    for one in found:
        found += children.get(one, ())
    return found


def is_worker(pid: int) -> bool:
    with suppress(OSError):
        return "profdiff.recording.cluster.worker" in Path(f"/proc/{pid}/cmdline").read_text()
    return False
