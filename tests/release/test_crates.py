"""The crates that others can use are packed without a warning."""

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from support import ROOT

pytestmark = [pytest.mark.build, pytest.mark.network]


def test_each_is_packed_with_its_readme(tmp_path: Path) -> None:
    """By the command of docs/releasing.md. Cargo also warns where a crate does not say what it is,
    and whose."""
    text = (ROOT / "docs/releasing.md").read_text()
    (command,) = re.findall(r"(?m)^cargo package .*", text)
    words = [*command.split(), "--no-verify", "--allow-dirty"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path)}
    said = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stderr
    assert "warning" not in said, said
    names = re.findall(r"-p (\S+)", command)
    assert len(names) == 4
    for name in names:
        (packed,) = (tmp_path / "package").glob(f"{name}-*.crate")
        with tarfile.open(packed) as members:
            files = {member.partition("/")[2] for member in members.getnames()}
        assert {"src/lib.rs", "Cargo.toml"} <= files
        assert name == "profdiff-stacks" or "README.md" in files
