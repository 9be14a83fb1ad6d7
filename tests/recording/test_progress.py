"""The display of a recording: live on a terminal, plain lines in a pipe."""

import re
from pathlib import Path

import pytest
from support import EXAMPLE, ODD, RESTORED, profdiff


@pytest.mark.guest
def test_a_terminal_sees_the_phases_and_a_pipe_does_not(
    old_kernel: Path, new_kernel: Path, at_a_terminal: Path
) -> None:
    typescript = at_a_terminal / "typescript"
    shown = typescript.read_text(errors="replace")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "0 of 3 runs done" in plain
    assert re.search(r"v6\.12\.107-1 +restoring  settling  measuring  collecting", plain)
    assert re.search(r"v6\.18\.15-1: [\d,]+ instructions", plain)
    assert "[dim]" not in plain

    kernels = [f"--kernel={kernel}" for kernel in (old_kernel, new_kernel, f"again={old_kernel}")]
    options = [*RESTORED, "--no-call-tree", "-o", at_a_terminal / ODD]
    again = profdiff("record", *kernels, *options, "--", EXAMPLE, "400", "20")
    assert "\x1b" not in again.stderr + again.stdout
    assert "all runs are already recorded" in again.stderr
