"""Workers that ssh starts: on a real sshd on loopback."""

import os
import re
import sys
from pathlib import Path

import pytest
from cluster.conftest import counts
from ssh_server import Server
from ssh_server import server as server
from support import IMPORTED, error_line, profdiff

from profdiff.recording.cluster.connection import PYTHON


def python_there(tmp_path: Path, body: str) -> dict[str, str]:
    """The Python of the other side."""
    program = tmp_path / "python-there"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return {PYTHON: str(program)}


@pytest.mark.guest
def test_over_ssh(
    server: Server, asked: list[str], alone: dict[str, bytes], tmp_path: Path
) -> None:
    there = python_there(tmp_path, f'PYTHONPATH={IMPORTED} exec {sys.executable} "$@"')
    session = tmp_path / "s.profdiff"
    command = ["record", "--cluster", f"ssh:127.0.0.1:{server.port}", "-o", session, *asked]
    said = profdiff(*command, cwd=tmp_path, env={**server.environment(), **there}).stderr
    slots = len(os.sched_getaffinity(0))
    assert re.search(rf"takes part, {slots} guests? at a time", said)
    assert counts(session) == alone


def test_a_host_without_profdiff(server: Server, asked: list[str], tmp_path: Path) -> None:
    there = python_there(tmp_path, "echo 'No module named profdiff' >&2; exit 1")
    command = ["record", "--cluster", f"ssh:127.0.0.1:{server.port}", "-o", tmp_path / "s", *asked]
    env = {**server.environment(), **there}
    line = error_line(profdiff(*command, cwd=tmp_path, env=env, status=2))
    assert "has ended (No module named profdiff)" in line
    assert PYTHON in line


def test_nobody_listens_there(server: Server, asked: list[str], tmp_path: Path) -> None:
    command = ["record", "--cluster", "ssh:127.0.0.1:1", "-o", tmp_path / "s", *asked]
    env = server.environment()
    assert "cannot be reached" in error_line(profdiff(*command, cwd=tmp_path, env=env, status=2))
