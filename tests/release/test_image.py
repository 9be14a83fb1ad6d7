"""The container image, unpacked by another tool than made it, and started without an engine."""

import json
import re
from pathlib import Path

import pytest
from release.roots import run, within
from support import ROOT, need_program

pytestmark = [pytest.mark.nightly, pytest.mark.guest]

SHARDS = 2


def commands() -> list[str]:
    """Those of docs/clusters.md for CI."""
    text = (ROOT / "docs/clusters.md").read_text()
    section = text[text.index("**GitHub Actions**") : text.index("**GitLab**")]
    return re.findall(r"- run: (.*)", section)


def test_the_examples_for_ci_run_in_it(released: Path, tmp_path: Path) -> None:
    need_program("umoci")
    (archive,) = released.glob("profdiff-*-oci-amd64.tar")
    layout, bundle = tmp_path / "layout", tmp_path / "bundle"
    layout.mkdir()
    run("tar", "-xf", archive, "-C", layout)
    (tag,) = run("umoci", "list", "--layout", layout).split()
    run("umoci", "unpack", "--image", f"{layout}:{tag}", bundle)
    process = json.loads((bundle / "config.json").read_text())["process"]
    assert process["args"] == ["profdiff", "--help"]
    assert process["cwd"] == "/work"
    root = bundle / "rootfs"
    (path,) = (one.removeprefix("PATH=") for one in process["env"] if one.startswith("PATH="))
    try:
        assert "ok       exact counts" in within(root, "profdiff doctor || true", path=path)
        for program in ("cargo", "rustc"):
            assert within(root, f"command -v {program} || echo none", path=path) == "none\n"
        record, merge = commands()
        record = re.sub(r"base=\S+", "base=/kernels/v6.12.107", record)
        record = re.sub(r"new=\S+", "new=/kernels/v6.18.15", record)
        record = record.replace("/8 ", f"/{SHARDS} --only 'mprotect/*' ")
        for shard in range(1, SHARDS + 1):
            within(root, record.replace("${{ matrix.shard }}", str(shard)), path=path)
        within(root, merge, path=path)
        assert "mprotect" in within(root, "profdiff report syscalls.profdiff", path=path)
    finally:
        run("rm", "-rf", "--one-file-system", bundle)
