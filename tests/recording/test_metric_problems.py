"""A metric that cannot be read is found before anything is recorded, or after the first run."""

import json
from pathlib import Path

import pytest
from support import ROOT, error_line, need_program, profdiff

SAMPLE = ROOT / "tests/workload_metrics/samples/sections.txt"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A recording of three runs on this machine, up to its --metric."""
    return ["--kernel", "here=running", "--repeat", "3", "-o", str(tmp_path / "s.profdiff")]


def test_a_sample_is_read_before_anything_runs(command: list[str], tmp_path: Path) -> None:
    workload = ["--", "touch", tmp_path / "ran"]
    sampled = [*command, "--metric-sample", SAMPLE]
    for name in ("plan", "record"):
        line = error_line(profdiff(name, *sampled, "--metric", "values:Avg", *workload, status=2))
        assert "values finds 'Avg' 3 times" in line
        assert str(SAMPLE) in line
    assert "with --metric" in error_line(profdiff("plan", *sampled, *workload, status=2))
    missing = profdiff(
        *("plan", *command, "--metric", "values:Avg", "--metric-sample", tmp_path / "none"),
        *workload,
        status=2,
    )
    assert "cannot read the sample" in error_line(missing)
    shown = profdiff("plan", *sampled, "--metric", "values:PROT_NONE/Avg", *workload).stdout
    assert "in the sample, PROT_NONE/Avg: 7,618.13 ns/call, lower is better" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_first_run_is_the_last_if_its_metric_is_not_there(
    command: list[str], tmp_path: Path
) -> None:
    need_program("cc", "gcc")
    workload = ["--", "cat", SAMPLE]
    told = profdiff("record", *command, "--metric", "values:Avg", *workload, status=2).stderr
    assert "take values:PROT_NONE/Avg" in told
    assert "the other runs are left out" in told
    session = tmp_path / "s.profdiff"
    (run,) = json.loads((session / "manifest.json").read_text())["runs"]
    assert run["failure"]["kind"] == "metric"
    # What the run printed is a sample, and the corrected metric goes into the same session.
    kept = session / run["files"]["stdout"]
    assert f"--metric-sample {kept}" in told
    assert kept.read_text() == SAMPLE.read_text()
    wanted = ["--metric", "values:PROT_NONE/Avg", "--metric-sample", kept]
    profdiff("record", *command, *wanted, *workload)
    manifest = json.loads((session / "manifest.json").read_text())
    assert [run["failure"] is None for run in manifest["runs"]] == [False, True, True, True]
    assert manifest["options"]["metrics"] == ["values:PROT_NONE/Avg"]
    assert "metric_sample" not in manifest["options"]
    (value,) = {run["measured"][1]["values"][0] for run in manifest["runs"][1:]}
    assert value == 7618.13
    # With results, another metric is another recording.
    line = error_line(profdiff("record", *command, "--metric", "values", *workload, status=2))
    assert "name another folder" in line
