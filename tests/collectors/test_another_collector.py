"""A collector of another package: the example of docs/collectors.md, from its page to a report."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import EXAMPLE, IMPORTED, RESTORED, ROOT, error_line, profdiff


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment with the page's package, installed as a user would."""
    page = (ROOT / "docs/collectors.md").read_text()
    folder = tmp_path_factory.mktemp("package")
    for kind, name in (("toml", "pyproject.toml"), ("python", "profdiff_vmstat.py")):
        (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (folder / name).write_text(block)
    assert len((folder / "profdiff_vmstat.py").read_text().splitlines()) <= 60
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", "--disable-pip-version-check", "--target"]
    subprocess.run([*command, folder / "site", folder], check=True, capture_output=True)
    return {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(IMPORTED)])}


@pytest.mark.slow
def test_its_options_are_shown(installed: dict[str, str]) -> None:
    shown = " ".join(profdiff("record", "--help", env=installed).stdout.split())
    assert "vmstat: changes of /proc/vmstat" in shown
    assert "--vmstat NAME,..." in shown
    assert "vmstat" not in profdiff("record", "--help").stdout


@pytest.mark.guest
def test_it_records_and_reports(
    installed: dict[str, str], old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path
) -> None:
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
    command = ["record", "--collector", "vmstat", *kernels, "-o", session]
    command += ["--repeat", "2", "--no-observe", *RESTORED]
    workload = ["--", EXAMPLE, "400", "20"]
    profdiff(*command, *workload, env=installed)

    manifest = json.loads((session / "manifest.json").read_text())
    assert manifest["collectors"] == ["vmstat"]
    counters = "nr_active_anon,nr_slab_unreclaimable"
    assert manifest["options"] == {"vmstat": counters}
    values = {run["id"]: run["measured"][0]["values"][0] for run in manifest["runs"]}
    assert values.keys() == {f"{k}-vmstat-{n}" for k in ("base", "new") for n in (1, 2)}
    # The workload's pages, of 4 KiB and less than 400 of them, become active.
    assert all(100 < value < 400 for value in values.values()), values

    shown = profdiff("report", session, env=installed).stdout
    assert "counted, not sampled" in shown
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("nr_active_anon  ")]
    assert row[1:3] == [f"{values[f'{label}-vmstat-1']:g}" for label in ("base", "new")]
    # A column of verdicts stands only where they differ.
    assert row[3].endswith("%")
    data = json.loads(profdiff("report", session, "--json", "-", env=installed).stdout)
    results = data["experiment"]["results"]
    assert [result["metric"] for result in results] == counters.split(",")
    assert all(result["kernels"][1]["change"]["verdict"] for result in results)

    # The same command goes on, another is refused, and without the package nobody opens it.
    again = profdiff(*command, *workload, env=installed)
    assert "already recorded" in again.stderr
    other = profdiff(*command, "--vmstat", "pgfree", *workload, env=installed, status=2)
    assert f"--vmstat {counters}" in error_line(other)
    assert "there is no collector vmstat" in error_line(profdiff("report", session, status=2))


@pytest.mark.guest
def test_a_counter_that_is_not_there_fails_the_run(
    installed: dict[str, str], old_kernel: Path, qemu: object, tmp_path: Path
) -> None:
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel}"]
    command = ["record", "--collector", "vmstat", "--vmstat", "nonsense", *kernels]
    command += [*RESTORED, "-o", tmp_path / "s.profdiff", "--", "/bin/true"]
    line = error_line(profdiff(*command, env=installed, status=2))
    assert "--vmstat nonsense: the kernel has no such counter" in line
