"""A session's command runs unseen only where the user recorded it himself."""

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import error_line, profdiff

RUNNING = ("record", "--collector", "timed", "--kernel")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of one run of a command that tells when it runs."""
    monkeypatch.setenv("PROFDIFF_STATE", str(tmp_path / "state"))
    folder = tmp_path / "s.profdiff"
    command = ["sh", "-c", f"echo ran >> {tmp_path}/ran"]
    profdiff(*RUNNING, "a=running", "-o", folder, "--", *command)
    assert times(tmp_path) == 1
    return folder


def times(tmp_path: Path) -> int:
    return len((tmp_path / "ran").read_text().splitlines())


def again(session: Path, *options: str, status: int = 0) -> str:
    """Record once more into the session, without a COMMAND; what was said."""
    repeat = ("--repeat", "9")
    result = profdiff(*RUNNING, "a=running", *repeat, *options, "-o", session, status=status)
    return result.stderr


@pytest.mark.slow
def test_ones_own_command_runs_again(session: Path, tmp_path: Path) -> None:
    said = again(session)
    assert f"{session}: its command is sh -c 'echo ran >> {tmp_path}/ran'" in said
    assert times(tmp_path) == 9


@pytest.mark.slow
def test_a_strangers_command_does_not_run(session: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "state")
    line = error_line(profdiff(*RUNNING, "a=running", "--repeat", "2", "-o", session, status=2))
    assert "you did not record" in line
    assert "--yes" in line
    assert times(tmp_path) == 1
    said = again(session, "--yes")
    assert "its command is sh -c" in said
    assert times(tmp_path) == 9


@pytest.mark.slow
def test_a_session_that_was_changed_or_moved_is_a_strangers(session: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(session, tmp_path / "moved.profdiff")
    again(moved, status=2)
    path = session / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["workload"]["argv"][2] = f"echo evil >> {tmp_path}/ran"
    path.write_text(json.dumps(manifest))
    again(session, status=2)
    assert times(tmp_path) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "runs"), [("y\n", 9), ("n\n", 1), ("\n", 1)])
def test_on_a_terminal_it_is_asked(session: Path, tmp_path: Path, answer: str, runs: int) -> None:
    shutil.rmtree(tmp_path / "state")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "profdiff", *RUNNING, "a=running", "--repeat", "9"]
    process = subprocess.Popen(
        [*command, "-o", str(session)], stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 60
    while b"[y/N]" not in shown and time.monotonic() < deadline:
        shown += os.read(ours, 4096)
    assert b"its command is sh -c" in shown
    os.write(ours, answer.encode())
    try:
        while os.read(ours, 4096):
            pass
    except OSError:
        pass
    assert process.wait() == (0 if runs > 1 else 2)
    os.close(ours)
    assert times(tmp_path) == runs


def test_an_experiment_file_cannot_agree(session: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "profdiff.toml").write_text('kernel = {a = "running"}\nyes = true\n')
    line = error_line(profdiff("record", "-o", session, cwd=tmp_path, status=2))
    assert "unknown key yes" in line
    assert times(tmp_path) == 1
