"""Sessions whose folders have names that mean something to QEMU's options."""

import subprocess
from pathlib import Path

import pytest
from support import ODD, need_program

from profdiff.collectors.architecture import named
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.guest.qemu import find_emulator
from profdiff.session.session import Session


@pytest.mark.guest
def test_a_recording_into_a_folder_with_commas(at_a_terminal: Path) -> None:
    """And colons, spaces and equals signs."""
    assert {path.name for path in at_a_terminal.iterdir()} == {ODD, "typescript"}
    opened = Session.open(at_a_terminal / ODD)
    one, other = (opened.finished(label, "exact")[0] for label in ("v6.12.107", "again"))
    assert opened.read(one, "counts") == opened.read(other, "counts")
    assert "console" in one.files


@pytest.mark.guest
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_ports_files_are_where_they_are_looked_for(architecture: str, tmp_path: Path) -> None:
    package = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}[architecture]
    need_program(f"qemu-system-{architecture}", package)
    folder = tmp_path / ODD
    folder.mkdir()
    (tmp_path / "nothing").touch()
    known = named(architecture)
    assert known
    boot = Boot(tmp_path / "no-kernel", tmp_path / "nothing", "", memory=128, cpus=1)
    arguments = find_emulator(known).arguments(boot, folder)
    # QEMU opens its ports before it looks for the kernel, and ends there.
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert "no-kernel" in result.stderr
    assert {path.name for path in folder.iterdir()} == {"console.log", "channel"}
