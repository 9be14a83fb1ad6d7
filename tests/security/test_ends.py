"""How profdiff ends: by signals, killed, by errors that nobody foresaw, on a full disk."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import error_line, profdiff
from synthetic_session import exact_session

from profdiff.base.atomic import make_folder, write_atomic
from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.session.lock import recording
from profdiff.session.session import Session

LOCK = ".profdiff-lock"
HOLD = """
import sys, time
from pathlib import Path
from profdiff.base.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, for this process and its children."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def holder() -> tuple[subprocess.Popen[str], Path]:
    """A process that has a temporary folder, and where."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_goes_with_the_next(place: Path) -> None:
    (place / "profdiff-results").mkdir()
    (place / "profdiff-results/mine").write_text("a user's own")
    alive, used = holder()
    killed, left = holder()
    end(killed)
    assert left.exists()
    with temporary_folder() as mine:
        assert not left.parent.exists()
        assert (used / "file").exists()
        assert list(mine.iterdir()) == []
    assert not mine.parent.exists()
    end(alive)
    with temporary_folder():
        pass
    assert [entry.name for entry in place.iterdir()] == ["profdiff-results"]


def test_another_users_folder_and_links_are_left_alone(place: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / LOCK).touch()
    (place / "profdiff-link").symlink_to(precious)
    trap = place / "profdiff-trap"
    trap.mkdir()
    (trap / LOCK).symlink_to(precious / LOCK)
    if os.geteuid() == 0:
        foreign = place / "profdiff-foreign"
        foreign.mkdir()
        (foreign / LOCK).touch()
        os.chown(foreign / LOCK, 12345, 12345)
    before = sorted(place.iterdir())
    with temporary_folder():
        pass
    assert sorted(place.iterdir()) == before
    assert (precious / LOCK).exists()


def test_many_at_once_each_have_their_own(place: Path) -> None:
    processes = [holder() for _ in range(6)]
    folders = {folder for _, folder in processes}
    assert len(folders) == 6
    assert all((folder / "file").exists() for folder in folders)
    for process, _ in processes:
        end(process)


def test_a_folder_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), make_folder(tmp_path / "made") as folder:
        (folder / "half").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "made").mkdir()
    with make_folder(tmp_path / "made") as folder:
        (folder / "whole").touch()
    assert [p.relative_to(tmp_path).name for p in tmp_path.rglob("*")] == ["made", "whole"]
    with pytest.raises(OSError), make_folder(tmp_path / "made"):
        pass
    assert (tmp_path / "made/whole").exists()


@pytest.fixture
def recorder(place: Path, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a recording of the running kernel that would take a minute, and waits until its
    workload runs."""
    processes = []

    def start() -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "profdiff", "record", "--kernel", "a=running"]
        program += ["--collector", "timed", "-o", str(tmp_path / "s.profdiff"), "--"]
        process = subprocess.Popen(
            [*program, "sleep", "61.5"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # As a shell's job: it is not a signal to the tests.
            start_new_session=True,
        )
        processes.append(process)
        deadline = time.monotonic() + 60
        while not sleeping():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def sleeping() -> list[int]:
    """The workload's processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == b"sleep\0" + b"61.5\0":
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_recording_and_leaves_nothing(
    recorder: Callable[[], subprocess.Popen[str]], place: Path, number: signal.Signals
) -> None:
    process = recorder()
    assert list(place.iterdir())
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    last = said.splitlines()[-1]
    assert last.startswith("profdiff: interrupted: run the same command again to resume")
    assert "Traceback" not in said
    assert list(place.iterdir()) == []
    deadline = time.monotonic() + 10
    while sleeping() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not sleeping()


def test_what_a_killed_recorder_left_goes_with_the_next(
    recorder: Callable[[], subprocess.Popen[str]], place: Path
) -> None:
    process = recorder()
    assert len(list(place.iterdir())) == 2  # the recording's, and the run's
    process.kill()
    process.communicate()
    for number in sleeping():
        os.kill(number, signal.SIGKILL)
    assert list(place.iterdir())
    with temporary_folder():
        pass
    assert list(place.iterdir()) == []


def test_nohup_keeps_a_recording_alive(
    recorder: Callable[[], subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = recorder()
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


PLANTED = """
import sys
import profdiff.evidence.results
def fails(*_): raise {error}
profdiff.evidence.results.Results.gather = fails
from profdiff.cli import main
main()
"""


# PyO3 raises panics of native code as a BaseException.
ERRORS = [
    *("KeyError('x')", "RecursionError()", "MemoryError()", "OSError(5, 'I/O')"),
    "BaseException('panic')",
]


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_that_nobody_foresaw(tmp_path: Path, error: str) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    for command, status in (["check", "--fail-if", "instructions > +1%"], 125), (["report"], 2):
        for debug in [], ["--debug"]:
            program = [sys.executable, "-c", PLANTED.format(error=error), *debug]
            result = subprocess.run(
                [*program, command[0], str(session), *command[1:]],
                capture_output=True,
                text=True,
                check=False,
            )
            assert result.returncode == status, result.stderr
            assert result.stderr.splitlines()[-1].startswith("profdiff: ")
            assert len(result.stderr.splitlines()) == 1 or debug
            assert ("Traceback" in result.stderr) == bool(debug)


@pytest.mark.parametrize("damage", ["gone", "manifest", "counts"])
def test_check_skips_a_session_that_cannot_be_read(tmp_path: Path, damage: str) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    if damage == "gone":
        session = tmp_path / "nothing"
    else:
        name = {"manifest": "manifest.json", "counts": "runs/base-1/counts"}[damage]
        (session / name).write_bytes(b"no")
    error_line(profdiff("check", session, "--fail-if", "instructions > +1%", status=125))
    error_line(profdiff("check", session, "--fail-if", "instructions >", status=2))


@pytest.mark.parametrize("small_disk", ["256k"], indirect=True)
def test_an_import_that_failed_can_be_run_again(small_disk: Path, tmp_path: Path) -> None:
    stacks = tmp_path / "a.folded"
    stacks.write_text("".join(f"main;f{number:0100} 1\n" for number in range(4000)))
    command = ["import", f"a={stacks}", f"b={stacks}", "-o", small_disk / "s.profdiff"]
    line = error_line(profdiff(*command, status=2))
    assert "No space left on device: make room and run the same command again" in line
    assert line.startswith(str(small_disk)), "it names the disk, not what was read"
    assert list(small_disk.iterdir()) == []
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    profdiff(*command)
    assert "b takes exactly as many samples" in profdiff("report", small_disk / "s.profdiff").stdout


@pytest.mark.parametrize("named", [True, False])
def test_a_temporary_folder_on_a_full_disk(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """write(2) names no file; what fills another disk is no reason to move this folder."""
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    advice = f"^{small_disk}: No space left on device: make room there, or set TMPDIR to a folder"
    with pytest.raises(MissingError, match=advice), temporary_folder() as folder:
        write = write_atomic if named else Path.write_bytes
        write(folder / "file", bytes(4 << 20))
    assert list(small_disk.iterdir()) == []
    no_space = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(OSError, match="No space") as raised,
        recording(tmp_path / "s.profdiff"),
        temporary_folder(),
    ):
        raise no_space
    assert raised.value.filename == str(tmp_path / "s.profdiff")
    no_space.filename = "/elsewhere"
    with pytest.raises(OSError, match="No space") as raised, temporary_folder():
        raise no_space
    assert raised.value is no_space


@pytest.mark.parametrize("words", [[], ["--json", "-"], ["--json", "/proc/self/fd/1"]])
def test_standard_output_on_a_full_disk(tmp_path: Path, words: list[str]) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    with Path("/dev/full").open("w") as full:
        program = [sys.executable, "-m", "profdiff", "report", str(session), *words]
        result = subprocess.run(
            program, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("profdiff: standard output: No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed(tmp_path: Path, closed: str) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    program = f"{sys.executable} -m profdiff"
    for command, status in (
        (f"check {session} --fail-if 'instructions > +900%'", 0),
        (f"check {session} --fail-if 'instructions > +1%'", 1),
        (f"check {tmp_path}/nothing --fail-if 'instructions > +1%'", 125),
        (f"report {session}", 0),
        (f"report {tmp_path}/nothing", 2),
    ):
        result = subprocess.run(["sh", "-c", f"{program} {command} {closed}"], check=False)
        assert result.returncode == status, command
    Session.open(session)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("report {} --json -", 2),
        ("report {} --json /proc/self/fd/1", 2),
        ("report {}", 2),
        ("report --help", 2),
        ("check {} --fail-if instructions>+900%", 125),
    ],
)
def test_a_pipe_that_nobody_reads(tmp_path: Path, arguments: str, status: int) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as gone:
        program = [sys.executable, "-m", "profdiff", *arguments.format(session).split()]
        result = subprocess.run(
            program, stdout=gone, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == status
    assert result.stderr == ""


NATIVE = """
import hashlib
import profdiff.evidence.results
# Native code that takes a minute and hears of no signal.
gather = lambda *_: (print("busy", flush=True), hashlib.pbkdf2_hmac("md5", b"x", b"y", 60_000_000))
profdiff.evidence.results.Results.gather = gather
from profdiff.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_native_code(tmp_path: Path, number: signal.Signals) -> None:
    session = exact_session(tmp_path / "s.profdiff").folder
    command = [sys.executable, "-c", NATIVE, "report", str(session)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "busy\n"
        process.send_signal(number)
        assert process.wait(30) == 128 + number
