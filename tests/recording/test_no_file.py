"""Words of COMMAND that name a folder here, and are meant as something else."""

from pathlib import Path

import pytest
from support import need_kernel, profdiff

pytestmark = [pytest.mark.kernel, pytest.mark.kernel]


def test_plan_says_which_folder_stays(tmp_path: Path) -> None:
    """`./prog shared`, where a large folder of this name lies."""
    kernel = need_kernel("v6.18.15")
    (tmp_path / "shared").mkdir()
    with (tmp_path / "shared/large").open("wb") as file:
        file.truncate((64 << 20) + 1)
    (tmp_path / "prog").write_text("#!/bin/sh\ntrue\n")
    (tmp_path / "prog").chmod(0o755)
    kernels = ("--kernel", f"a={kernel}", "--kernel", f"b={kernel}")
    shown = profdiff("plan", *kernels, "--", "./prog", "shared", cwd=tmp_path)
    told = " ".join((shown.stdout + shown.stderr).split())
    assert "the folder shared here, which COMMAND names, does not travel" in told
    quiet = profdiff(
        "plan", *kernels, "--no-file", "shared", "--", "./prog", "shared", cwd=tmp_path
    )
    assert "does not travel" not in quiet.stdout + quiet.stderr
    refused = profdiff("plan", *kernels, "--", "./prog", "./shared", cwd=tmp_path, status=2)
    assert "--no-file ./shared" in refused.stderr
    suite = tmp_path / "one.toml"
    suite.write_text('[[workload]]\nname = "w"\ncommand = ["./prog", "./shared"]\n')
    refused = profdiff("plan", "--suite", suite, *kernels, cwd=tmp_path, status=2)
    assert "--no-file ./shared" in refused.stderr
    suite.write_text(suite.read_text() + 'no-file = ["./shared"]\n')
    profdiff("plan", "--suite", suite, *kernels, cwd=tmp_path)
