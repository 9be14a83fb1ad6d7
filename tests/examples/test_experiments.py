"""The experiment files of examples/: each is read as it is; one is recorded, at a small point."""

import re
import tomllib
from pathlib import Path

import pytest
from support import RESTORED, ROOT, need_debian, profdiff

from profdiff.commands.experiment.file import ExperimentCommand
from profdiff.commands.record import record
from profdiff.session.session import Session

FOLDERS = sorted(path.parent for path in ROOT.glob("examples/*/profdiff.toml"))
# Points of the sweep times numbers of vCPUs; runs of each kernel at each of them.
EXPECTED = {
    "memcg-false-sharing": (1, 2),
    "mincore-present-pte": (3, 6),
    "mprotect-large-folios": (4, 1),
    "mprotect-pte-batching": (4, 6),
    "mprotect-series": (1, 4),
    "mprotect-shared-dirty": (1, 6),
    "mprotect-stack-canary": (1, 1),
    "mprotect-write-fault": (3, 6),
}


def _kernels(*folders: Path) -> list[str]:
    return [word for folder in folders for word in ("--kernel", f"{folder.name}={folder}")]


def test_each_example_has_an_experiment() -> None:
    assert [folder.name for folder in FOLDERS] == list(EXPECTED)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_anyone_can_get_its_kernels(folder: Path) -> None:
    experiment = tomllib.loads((folder / "profdiff.toml").read_text())
    assert len(experiment["kernel"]) >= 2
    for kernel in experiment["kernel"]:
        assert re.fullmatch(r"[\w.]+=(debian:[\w.-]+|git:linux@v[\w./,=+-]+)", kernel), kernel


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_its_readme_shows_the_command(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    assert f"profdiff record --experiment examples/{folder.name}/profdiff.toml" in readme
    for table in re.findall(r"^```\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL):
        assert max(map(len, table.splitlines())) <= 100


@pytest.mark.usefixtures("qemu")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_its_plan(folder: Path, old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    experiment = folder / "profdiff.toml"
    file = tomllib.loads(experiment.read_text())
    kernels = _kernels(old_kernel, new_kernel)
    # The fixtures are of one architecture.
    kernels += ["--arch", "x86_64"] if "arch" in file else []
    shown = profdiff("plan", "--experiment", experiment, *kernels, "--all", cwd=tmp_path).stdout
    points, runs = EXPECTED[folder.name]
    twin = file.get("aa", 0)
    assert f"{2 + bool(twin)} kernels, {points} point{'s' * (points > 1)}, " in shown
    assert f" {points * (2 * runs + twin)} to do\n" in shown
    rows = re.findall(r"^ *\d+  (?:timed|exact|sharing) .*$", shown, re.MULTILINE)
    assert len(rows) == points * (2 * runs + twin)
    program = file["command"][0]
    assert all(any(word.endswith(program) for word in row.split()) for row in rows)
    assert not re.search(r"\{\w+\}", shown)
    assert list(tmp_path.iterdir()) == []


def test_the_documents_example_is_an_experiment(tmp_path: Path) -> None:
    text = (ROOT / "docs/experiments.md").read_text()
    shown = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(shown) == 1
    file = tmp_path / "profdiff.toml"
    file.write_text(shown[0])
    assert isinstance(record, ExperimentCommand)
    values = record.defaults(file)
    assert values["sweep"] == ["size_kib=4,40,400,4000"]
    assert (values["cpus"], values["collectors"]) == ("1,2", "timed,exact")


@pytest.mark.guest
@pytest.mark.usefixtures("qemu")
def test_one_is_recorded(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    experiment = ROOT / "examples/mprotect-pte-batching/profdiff.toml"
    kernels = _kernels(old_kernel, new_kernel)
    small = ["--sweep", "size_kib=40", "--repeat", "1", "-o", tmp_path / "s.profdiff"]
    profdiff("record", *RESTORED, "--experiment", experiment, *kernels, *small, cwd=tmp_path)
    shown = profdiff("report", tmp_path / "s.profdiff", "--width", "100").stdout
    # What the workload calls nanoseconds is never said to be time.
    clock, _, exact = shown.partition("\nexact counts\n")
    title = "guest clock, which counts instructions; every change is exact"
    assert clock.count(f"\n{title}\n") == 1
    assert not re.search(r"\bns\b|wall-time|NOT time", shown)
    number = r"([\d,]+(?:\.\d+)?)"
    row = rf" +{number} +{number} +\+({number})%$"
    called = re.search(rf"^nsec_per_call, instructions/call{row}", clock, re.MULTILINE)
    counted = re.search(rf"^instructions per op{row}", exact, re.MULTILINE)
    assert called, shown
    assert counted, shown
    values = [float(text.replace(",", "")) for text in (*called.groups(), *counted.groups())]
    old_called, new_called, _, _, old_counted, new_counted, change, _ = values
    # The clock is read once in 200 calls; and 10 pages have cost half as much again.
    assert old_called == pytest.approx(old_counted, rel=0.05)
    assert new_called == pytest.approx(new_counted, rel=0.05)
    assert change == pytest.approx(100 * (new_counted / old_counted - 1), abs=0.1)
    assert change > 20


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.network
@pytest.mark.usefixtures("qemu", "arm64_qemu")
def test_one_is_recorded_on_two_architectures(tmp_path: Path) -> None:
    """Folios of 64 KiB: the workload fails if it gets others, and each kernel of both needs fewer
    instructions in its newer version, arm64 by more."""
    need_debian("debian:bookworm-backports")
    session = tmp_path / "s.profdiff"
    experiment = ROOT / "examples/mprotect-large-folios/profdiff.toml"
    small = ["--sweep", "folio_kib=64", "--sweep", "protection=read", "-o", session]
    profdiff("record", *RESTORED, "--experiment", experiment, *small, cwd=tmp_path)
    shown = profdiff("report", session, "--width", "100").stdout
    number = r"([\d,]+\.\d+)"
    pair = rf" +{number} -> {number} +-(\d+\.\d)%"
    row = re.search(rf"^.*\b64 +read{pair}{pair}$|^instructions per op{pair}{pair}$", shown, re.M)
    assert row, shown
    old, new, change, arm_old, arm_new, arm_change = [
        float(text.replace(",", "")) for text in row.groups() if text
    ]
    assert change == pytest.approx(100 * (1 - new / old), abs=0.1)
    assert arm_change == pytest.approx(100 * (1 - arm_new / arm_old), abs=0.1)
    assert 10 < change < 50 < arm_change
    for part in ("x86_64", "arm64"):
        for run in Session.open(session / part).manifest.runs:
            output = (session / part / run.files["stdout"]).read_text()
            assert "folios: 25 of 64 KiB\n" in output
