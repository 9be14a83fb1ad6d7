"""What processes of a test run share is made once, and guests have a processor each."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import whole_run
from support import ROOT

# Makes something with the others, then notes when it had which processors.
PROCESS = """
import sys, time
from pathlib import Path
import whole_run
whole_run.folder = Path(sys.argv[1])
whole_run.PROCESSORS = 2
def make(folder):
    with (whole_run.folder / "made").open("a") as file:
        file.write("x")
    time.sleep(0.2)
    (folder / "file").touch()
assert (whole_run.once("thing", make) / "file").exists()
wanted = int(sys.argv[2])
with whole_run.processors(wanted):
    start = time.monotonic()
    time.sleep(0.1)
    print(wanted, start, time.monotonic())
"""


def test_four_processes(tmp_path: Path) -> None:
    """The last one asks for more processors than there are: it has all, and no other one any."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path), str(wanted)],
            env={"PYTHONPATH": str(ROOT / "tests")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for wanted in (1, 1, 1, 3)
    ]
    rows = [process.communicate(timeout=60)[0].split() for process in processes]
    assert (tmp_path / "made").read_text() == "x"
    held = [(min(int(wanted), 2), float(start), float(end)) for wanted, start, end in rows]
    for _, moment, _ in held:
        assert sum(count for count, start, end in held if start <= moment < end) <= 2


def test_what_needs_none_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a report, while others wait for the guests of a recording to end."""
    monkeypatch.setattr(whole_run, "folder", tmp_path)
    entered = threading.Event()

    def report() -> None:
        with whole_run.processors(0):
            entered.set()

    with whole_run.alone("turn"):
        thread = threading.Thread(target=report, daemon=True)
        thread.start()
        assert entered.wait(60)


def test_what_fails_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "folder", tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        whole_run.once("thing", fail)
    made = whole_run.once("thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in made.iterdir()] == ["whole"]
