"""The display of a recording: live on a terminal, plain lines in a pipe."""

import re
import subprocess
from pathlib import Path

import pytest
from support import EXAMPLE, need_program, profdiff


@pytest.mark.guest
def test_a_terminal_sees_the_phases_and_a_pipe_does_not(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, qemu: object
) -> None:
    """script(1) gives the program a terminal and keeps what it wrote."""
    need_program("script", "bsdutils")
    typescript = tmp_path / "typescript"
    command = f"python -m profdiff record --kernel {old_kernel} --kernel {new_kernel} "
    command += f"-o {tmp_path}/s.profdiff --settle 0 -- {EXAMPLE} 400 20"
    subprocess.run(["script", "-qec", command, typescript], check=True, capture_output=True)
    shown = typescript.read_text(errors="replace")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "0 of 2 runs done" in plain
    assert re.search(r"v6\.12\.107-1 +booting  settling  measuring  collecting", plain)
    assert re.search(r"v6\.18\.15-1: [\d,]+ instructions", plain)
    assert "[dim]" not in plain

    again = profdiff(*command.split()[3:])
    assert "\x1b" not in again.stderr + again.stdout
    assert "all runs are already recorded" in again.stderr
