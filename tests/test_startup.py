"""Help comes at once: nothing large is loaded before it is needed. And where the tests' other
commands are forked of a process that has loaded all (tests/prepared.py), they say the same."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prepared import Prepared
from support import ROOT, SHARED, profdiff

from profdiff.cli import cli
from profdiff.commands import COMMANDS

PROFILE = SHARED / "perf-data/mprotect-v6.12.107.perf.data"
_LARGE = ["numpy", "scipy", "matplotlib", "msgspec", "rich", "profdiff.symbolization._native"]
_CHILD = f"""
import sys
from profdiff.cli import cli
cli.main(sys.argv[1:] + ["--help"], prog_name="profdiff", standalone_mode=False)
print([name for name in {_LARGE!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_loads_nothing_large(command: str) -> None:
    arguments = [sys.executable, "-c", _CHILD, *command.split()]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: profdiff")
    assert result.stderr == "[]\n"


def test_the_list_of_commands_is_complete() -> None:
    context = cli.make_context("profdiff", ["--help"], resilient_parsing=True)
    for name, listed in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None and command.name == name
        assert listed.help.endswith(".") and len(listed.help) <= 60
        assert f"  {name}" in cli.get_help(context)


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    process = Prepared()
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("--help", 0),
        (f"report {ROOT / 'setup.cfg'}", 2),
        ("report nothing-here", 2),
        ("report --no-such-option", 2),
        ("nonsense", 2),
        (f"diff a={PROFILE} b={PROFILE} --csv -", 0),
    ],
)
def test_a_prepared_process_says_what_another_says(
    prepared: Prepared, tmp_path: Path, command: str, status: int
) -> None:
    words = command.split()
    if words[0] == "diff" and not PROFILE.is_file():
        pytest.skip(f"the fixture profile {PROFILE} is absent")
    program = [sys.executable, "-m", "profdiff", *words]
    other = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    for _ in range(2):
        one = prepared.run(words, tmp_path, os.environ, 60)
        assert (one.returncode, one.stdout, one.stderr) == (status, other.stdout, other.stderr)
    assert other.returncode == status
    assert other.stdout or other.stderr


def test_a_prepared_process_has_our_environment_and_folder(
    prepared: Prepared, tmp_path: Path, new_kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path / "config"))
    (tmp_path / "here").symlink_to(new_kernel)
    added = prepared.run(["kernel", "add", "mine", "here"], tmp_path, os.environ, 60)
    assert (added.returncode, added.stderr) == (0, "")
    listed = profdiff("kernel", "list", env={"PROFDIFF_CONFIG": os.environ["PROFDIFF_CONFIG"]})
    assert "mine  " in listed.stdout
    assert prepared.fits(os.environ)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert not prepared.fits(os.environ)


def test_a_prepared_process_that_takes_too_long_is_ended(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nexec sleep 3\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(subprocess.TimeoutExpired):
        prepared.run(["doctor", "--kernel", "ssh://nowhere"], tmp_path, os.environ, 0.5)
    assert prepared.run(["--version"], tmp_path, os.environ, 60).returncode == 0
