"""How long a guest may take: its own time, whatever else the machine does."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import need_program

from profdiff.collectors.guest.delivery import MEMBERS
from profdiff.collectors.guest.run import GuestRun, OwnTime
from profdiff.collectors.records import Failure

BUSY = [sys.executable, "-c", "while True: pass"]
ASLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def _told(folder: Path, state: str = "S", **threads: str) -> Path:
    for name, text in threads.items():
        place = folder / "7/task" / name.removeprefix("t")
        place.mkdir(parents=True, exist_ok=True)
        (place / "schedstat").write_text(text)
        (place / "stat").write_text(f"7 (a (name) {state}) {state} 1 7 7 0\n")
    return folder


@pytest.mark.parametrize(
    ("threads", "own"),
    [
        pytest.param({"t7": "9000000000 0 5\n"}, 10.0, id="it never waited"),
        pytest.param({"t7": "2000000000 8000000000 5\n"}, 2.0, id="it waited whenever it could"),
        pytest.param({"t7": "1000000000 4000000000 5\n"}, 6.0, id="it computed, waited and slept"),
        pytest.param({"t7": "0 0 1\n"}, 10.0, id="it slept"),
        pytest.param(
            {"t7": "9000000000 1000000000 5\n", "t8": "10000000 9900000000 5\n"},
            9.0,
            id="the busiest thread",
        ),
        pytest.param({"t7": "no numbers\n"}, 10.0, id="damaged"),
        pytest.param({"t7": "99000000000 0 5\n"}, 10.0, id="never more than the wall"),
        pytest.param({}, 10.0, id="not told"),
    ],
)
def test_own_time(tmp_path: Path, threads: dict[str, str], own: float) -> None:
    assert OwnTime(7, _told(tmp_path, **threads)).at(10.0) == pytest.approx(own)


def test_a_wait_that_has_not_ended(tmp_path: Path) -> None:
    """Linux counts it when it ends; meanwhile the thread could run, and does not."""
    found = OwnTime(7, _told(tmp_path, "R", t7="500000000 500000000 9\n"))
    assert found.at(1.0) == pytest.approx(0.5)
    assert found.at(4.0) == pytest.approx(0.5)
    _told(tmp_path, "R", t7="600000000 3400000000 10\n")
    assert found.at(4.0) == pytest.approx(0.6)
    _told(tmp_path, "S", t7="600000000 3400000000 10\n")
    assert found.at(9.0) == pytest.approx(5.6)


def _outcome(command: list[str], folder: Path, timeout: float, wall: float) -> Failure | None:
    """Why it failed; None where it did not in ``wall`` seconds."""
    run = GuestRun(command, folder, timeout)
    try:
        while not run.poll():
            if run.wall_seconds > wall:
                return None
            time.sleep(0.05)
        outcome = run.result(MEMBERS)
        assert isinstance(outcome, Failure)
        return outcome
    finally:
        run.stop()


@pytest.fixture
def one_busy_processor() -> Iterator[int]:
    """A processor that others have: what runs there with the lowest priority gets little."""
    processor = min(os.sched_getaffinity(0))
    hogs = [subprocess.Popen(["taskset", "-c", str(processor), *BUSY]) for _ in range(2)]
    yield processor
    for one in hogs:
        one.kill()
        one.wait()


@pytest.mark.slow
def test_a_busy_machine_costs_a_guest_nothing(one_busy_processor: int, tmp_path: Path) -> None:
    """Three seconds of wall time, for one that may take one and hardly gets a processor."""
    need_program("taskset", "util-linux")
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel has no /proc/PID/schedstat")
    command = ["nice", "-n", "19", "taskset", "-c", str(one_busy_processor), *BUSY]
    assert _outcome(command, tmp_path, 1.0, 4.0) is None


@pytest.mark.slow
@pytest.mark.parametrize("command", [ASLEEP, BUSY], ids=["asleep", "busy"])
def test_a_guest_that_had_its_time_ends(tmp_path: Path, command: list[str]) -> None:
    """One that waits forever, too."""
    failure = _outcome(command, tmp_path, 1.0, 11.0)
    assert isinstance(failure, Failure)
    assert failure.kind == "timeout"
    assert failure.message.startswith("the guest did not finish within 1 s (while booting)")


def test_a_guest_that_gets_nothing_ends(
    tmp_path: Path, one_busy_processor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the wall, ten times the limit."""
    need_program("taskset", "util-linux")
    monkeypatch.setattr(OwnTime, "at", lambda *_: 0.1)
    command = ["taskset", "-c", str(one_busy_processor), *BUSY]
    failure = _outcome(command, tmp_path, 0.2, 10.0)
    assert isinstance(failure, Failure)
    assert failure.message.startswith("the guest did not finish within 2 s, of which it had 0 s")
