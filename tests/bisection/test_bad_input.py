"""What ``profdiff bisect`` refuses, before a guest runs."""

import json
import subprocess
from pathlib import Path

import made_repository
import pytest
import small_linux
from made_repository import Made
from small_bisection import Bisect, history
from support import error_line

from profdiff.base.git import Git
from profdiff.bisection.git_bisect import GitBisect
from profdiff.session.lock import recording


@pytest.fixture
def line(tmp_path: Path) -> Bisect:
    """Three kernels that build and do not boot."""
    return history(tmp_path, ["own", "own", "own"])


def refused(bisect: Bisect, *options: str, workload: tuple[str, ...] = ()) -> str:
    return error_line(bisect.run(*options, status=2, workload=workload))


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--good", "nowhere"], "has no revision 'nowhere'"),
        (["--bad", "c0"], "are the same commit"),
        (["--good", "c2", "--bad", "c0"], "comes before --good c2"),
        (["--repo", "/nowhere"], "no such folder"),
        (["--cpus", "1,2"], "one number of vCPUs"),
        (["--sweep", "n=1,2"], "each parameter one value"),
        (["--when", "instructions"], "has no comparison"),
        (["--threshold", "1"], "write 1% or 0.5%"),
        (["--cc", "gcc-99"], "gcc-99"),
    ],
)
def test_what_is_wrong_is_one_line(line: Bisect, options: list[str], said: str) -> None:
    assert said in refused(line, *options)


@pytest.mark.kernel
def test_no_command(line: Bisect) -> None:
    done = subprocess.run(
        line.command()[: line.command().index("--")],
        env=line.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no COMMAND" in error_line(done)


@pytest.mark.kernel
def test_a_folder_of_something_else(line: Bisect) -> None:
    (line.folder / "b").mkdir()
    (line.folder / "b/mine").write_text("")
    assert "b exists and is not a bisection" in refused(line)


@pytest.mark.kernel
def test_a_folder_of_another_bisection(line: Bisect) -> None:
    refused(line, "--cc", "gcc-99")
    git = GitBisect.make(
        Git.open(line.repository.folder), line.folder / "b/git", line.repository.commits["c0"]
    )
    git.begin(line.repository.commits["c0"], line.repository.commits["c2"])
    assert "holds a bisection with compiler gcc-99" in refused(line)


@pytest.mark.kernel
def test_what_was_wrong_is_asked_again_in_the_same_folder(line: Bisect) -> None:
    """As long as git has no marks, nothing is lost."""
    refused(line, "--cc", "gcc-99")
    assert "gcc-98" in refused(line, "--cc", "gcc-98")
    asked = json.loads((line.folder / "b/bisect.json").read_text())["question"]
    assert asked["compiler"] == "gcc-98"


@pytest.mark.kernel
def test_killed_as_it_writes_down_what_is_asked(line: Bisect) -> None:
    """What is left of the folder then is the bisection's own."""
    (line.folder / "b/steps.profdiff").mkdir(parents=True)
    (line.folder / "b/steps.profdiff/.lock").write_text("")
    (line.folder / "b/.bisect.json.k2.part").write_text("{")
    assert "gcc-99" in refused(line, "--cc", "gcc-99")
    assert not (line.folder / "b/.bisect.json.k2.part").exists()


@pytest.mark.kernel
def test_two_at_a_time(line: Bisect) -> None:
    refused(line, "--cc", "gcc-99")
    with recording(line.folder / "b/steps.profdiff"):
        assert "by another process" in refused(line)


@pytest.mark.kernel
def test_no_common_history(tmp_path: Path) -> None:
    commits = {"c0": Made(small_linux.tree()), "c1": Made(small_linux.tree("broken"))}
    made = made_repository.make(tmp_path / "linux", commits)
    assert "no common history" in refused(Bisect(tmp_path, made))


def test_bad_that_does_not_build(tmp_path: Path, qemu: object) -> None:
    bisect = history(tmp_path, ["own", "own", "broken"])
    said = refused(bisect)
    assert "does not build" in said
    assert "mm/mprotect.c" in said
