"""The container image, unpacked by another tool than made it, and started without an engine."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from release.roots import run, within
from support import ROOT, need_program

pytestmark = pytest.mark.guest

TEMPLATE = ROOT / "scripts/gitlab-ci.yml"
SHARDS = 2
KERNELS = "base=/kernels/v6.12.107\nnew=/kernels/v6.18.15"


def job(variables: dict[str, str]) -> str:
    """What a runner of GitLab's starts in it."""
    template = yaml.safe_load(TEMPLATE.read_text())[".profdiff"]
    lines = [
        *(f"export {name}={shlex.quote(text)}" for name, text in variables.items()),
        *template["before_script"],
        *template["script"],
    ]
    return "\n".join(lines)


def test_the_jobs_for_ci_run_in_it(released: Path, tmp_path: Path) -> None:
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
        doctor = within(root, "profdiff doctor || true", path=path)
        assert re.search(r"(?m)^ok +exact counts .*QEMU emulator version 10\.0", doctor)
        for program in ("cargo", "rustc"):
            assert within(root, f"command -v {program} || echo none", path=path) == "none\n"
        # The jobs of docs/ci.md for a suite on several machines, with two cells of it.
        common = {"PROFDIFF_SUITE": "syscalls", "PROFDIFF_KERNEL": KERNELS}
        common["PROFDIFF_OPTIONS"] = "--vary-state 0 --only 'mprotect/anon,*'"
        parts = []
        for shard in range(1, SHARDS + 1):
            own = {"PROFDIFF_SHARD": f"{shard}/{SHARDS}", "PROFDIFF_OUTPUT": f"part-{shard}"}
            within(root, job({**common, **own}), path=path)
            parts.append(f"part-{shard}/session.profdiff")
        merge = {"PROFDIFF_MERGE": "\n".join(parts), "PROFDIFF_OUTPUT": "all"}
        said = within(root, job(merge), path=path)
        assert "mprotect" in said
        assert (root / "work/all/report.html").stat().st_size > 100_000
        # As docs/python.md has it.
        asked = "import profdiff; print(len(list(profdiff.open('all/session.profdiff').results())))"
        rows = within(root, f'/usr/lib/profdiff/bin/python3 -c "{asked}"', path=path)
        assert int(rows) > 1
        assert not (root / "opt/profdiff").exists(), "it installed what is there"
    finally:
        run("rm", "-rf", "--one-file-system", bundle)
