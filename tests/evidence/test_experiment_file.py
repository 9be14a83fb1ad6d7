"""Experiment files: every key is an option and the other way round; bad ones are refused."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from support import error_line, profdiff

from profdiff.base.errors import InputError
from profdiff.commands.experiment.file import ExperimentCommand
from profdiff.commands.plan import plan
from profdiff.commands.record import record


def values(tmp_path: Path, text: str, arguments: list[str] | None = None) -> dict[str, Any]:
    """What ``plan`` is called with for a file."""
    seen: dict[str, Any] = {}

    class Seeing(ExperimentCommand):
        def invoke(self, ctx: click.Context) -> None:
            seen.update(ctx.params)

    file = tmp_path / "profdiff.toml"
    file.write_text(text)
    command = Seeing("plan", params=plan.params)
    command.main([*(arguments or []), "--experiment", str(file)], standalone_mode=False)
    return seen


def test_values_are_those_of_the_options(tmp_path: Path) -> None:
    seen = values(
        tmp_path,
        """
        command = ["true", "{size}", "{N}"]
        kernel = ["a=/k/a", "b=/k/b"]
        repeat = 9
        boot_runs = 3
        cpus = [1, 2]
        collector = ["exact", "timed"]
        zip = true
        call-tree = false
        settle = 0.5
        [sweep]
        size = [4, 40]
        [difference]
        N = [100, 200]
        [metric]
        "cost:ns:lower" = 'pattern:Avg: (?P<cost>[\\d.]+), (?:x|y)=1'
        """,
    )
    assert seen["command"] == ("true", "{size}", "{N}")
    assert seen["kernels"] == ("a=/k/a", "b=/k/b")
    assert (seen["repeat"], seen["boot_runs"], seen["settle"]) == (9, 3, 0.5)
    assert (seen["cpus"], seen["collectors"]) == ([1, 2], ["exact", "timed"])
    assert (seen["zipped"], seen["call_tree"]) == (True, False)
    assert seen["sweep"] == ("size=4,40",)
    assert seen["difference"] == "N=100,200"
    assert seen["metrics"] == (r"cost:ns:lower=pattern:Avg: (?P<cost>[\d.]+), (?:x|y)=1",)


def test_a_kernel_table_and_options_that_win(tmp_path: Path) -> None:
    text = 'command = ["true"]\nrepeat = 3\n[kernel]\nbase = "/k/a"\nnew = "/k/b"\n'
    assert values(tmp_path, text)["kernels"] == ("base=/k/a", "new=/k/b")
    seen = values(tmp_path, text, ["--repeat", "5", "--kernel", "x=/k/x"])
    assert (seen["repeat"], seen["kernels"]) == (5, ("x=/k/x",))


def test_paths_beside_the_file_are_meant_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "example"
    folder.mkdir()
    for name in ("work.c", "data.txt"):
        (folder / name).touch()
    (folder / "k").mkdir()
    monkeypatch.chdir(tmp_path)
    seen = values(
        folder,
        'command = ["work.c", "data.txt"]\nfile = ["data.txt:/d", "gone"]\n'
        'kernel = ["a=k", "b=debian:bookworm", "debian:sid,arch=k"]\n',
    )
    assert seen["command"] == ("example/work.c", "data.txt")
    assert seen["files"] == ("example/data.txt:/d", "gone")
    assert seen["kernels"] == ("a=example/k", "b=debian:bookworm", "debian:sid,arch=k")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("repeats = 3", "did you mean repeat?"),
        ("experiment = 'x'", "unknown key experiment"),
        ("xyzzy = 3", "known: aa, allocations, append"),
        ("repeat = true", "neither text nor a number"),
        ("repeat = 1979-05-27", "neither text nor a number"),
        ("all = true", "unknown key all"),
        ("zip = 1", "zip must be true or false"),
        ("command = 'true'", "command must be a list"),
        ("command = [", "is not valid TOML"),
        ("sweep = {size = [[1]]}", "neither text nor a number"),
        ("a = " + "[" * 100_000, "is not valid TOML"),
        ("repeat = " + "9" * 5000, "is not valid TOML"),
        ("repeat = 0x" + "f" * 5000, "repeat holds a number that is too large"),
        ("repeat = 9223372036854775808", "repeat holds a number that is too large"),
        ('command = ["true", "a\\u0000b"]', "command contains a NUL"),
        ('kernel = ["a=\\u0000.deb"]', "kernel contains a NUL"),
        ('output = "\\u0000"', "output contains a NUL"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        values(tmp_path, text)
    assert words in str(refused.value)


def test_a_name_that_is_too_long_is_no_path(tmp_path: Path) -> None:
    long = "x" * 5000
    assert values(tmp_path, f"kernel = ['{long}']\ncommand = ['true']")["kernels"] == (long,)


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_bytes(b"#" * (2**20 + 1))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name, words in (
        ("large", "too large"),
        ("binary", "not valid TOML"),
        ("absent", "cannot read"),
    ):
        result = profdiff("plan", "--experiment", tmp_path / f"{name}.toml", status=2)
        assert words in error_line(result)


def test_record_and_plan_have_the_same_options() -> None:
    def names(command: click.Command) -> set[str]:
        return {option for parameter in command.params for option in parameter.opts}

    assert names(record) <= names(plan)
    assert names(plan) - names(record) == {"--all"}


def test_the_file_here_is_used_without_a_command(tmp_path: Path) -> None:
    (tmp_path / "profdiff.toml").write_text('repat = 3\ncommand = ["true"]\n')
    assert "did you mean repeat?" in error_line(profdiff("plan", cwd=tmp_path, status=2))
    other = profdiff("plan", "--kernel", "a=/nowhere", "--", "true", cwd=tmp_path, status=2)
    assert "no such kernel" in error_line(other)


@pytest.mark.parametrize("command", ["record", "plan"])
def test_help_loads_nothing_heavy(command: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "profdiff", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    loaded = {line.rpartition("|")[2].strip() for line in shown.splitlines()}
    assert "profdiff.collectors.registry" in loaded
    heavy = {
        "numpy",
        "scipy",
        "matplotlib",
        "msgspec",
        "rich",
        "elftools",
        "profdiff.symbolization._native",
    }
    assert not heavy & loaded


def test_repositories_patches_and_configs_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "example"
    (folder / "li@nux").mkdir(parents=True)
    for name in ("a.patch", "own.config"):
        (folder / name).touch()
    monkeypatch.chdir(tmp_path)
    seen = values(
        folder,
        'command = ["true"]\n'
        'series = "git:li@nux@v1..v2,config=own.config,cc=gcc-13"\n'
        'kernel = ["a=git:li@nux", "b=git:li@nux@HEAD~3+a.patch+gone~abcdefab", "git:gone@v1"]\n',
    )
    assert seen["series"] == "git:example/li@nux@v1..v2,config=example/own.config,cc=gcc-13"
    assert seen["kernels"] == (
        "a=git:example/li@nux",
        "b=git:example/li@nux@HEAD~3+example/a.patch+gone~abcdefab",
        "git:gone@v1",
    )
    plain = values(folder, 'command = ["true"]\nseries = "v1..v2"\n')
    assert plain["series"] == "v1..v2"


def test_what_is_no_path_stays_beside_a_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "example"
    for name in ("arm64", "distribution", "gcc-13", "linux"):
        (folder / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    options = ",config=distribution,cc=gcc-13,arch=arm64"
    seen = values(folder, f'command = ["true"]\nkernel = ["git:linux@v1{options}"]\n')
    assert seen["kernels"] == (f"git:example/linux@v1{options}",)


def test_a_patch_beside_the_file_on_a_repository_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "a.patch").touch()
    (tmp_path / "linux").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    kernels = [f"git:{tmp_path}/linux@v1", "git:~/linux@v1"]
    listed = ", ".join(f'"{one}+a.patch"' for one in kernels)
    seen = values(folder, f'command = ["true"]\nkernel = [{listed}]\n')
    assert seen["kernels"] == tuple(f"{one}+example/a.patch" for one in kernels)
