"""The file of a suite: what each workload's options are, and what a mistake in it is told as."""

import textwrap
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from support import error_line, profdiff

from profdiff.base.errors import InputError
from profdiff.cli import cli
from profdiff.commands.experiment.file import GivenSuite
from profdiff.commands.record import record
from profdiff.commands.suite_file import installed, load, located, names

KERNELS = ("--kernel", "base=none/a", "--kernel", "new=none/b")


def _write(path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text))
    return path


def _options(file: Path, *more: str) -> dict[str, dict[str, Any]]:
    """The options of each workload, by its name."""
    context = click.Context(record, info_name="record")
    with context:
        record.parse_args(context, ["--suite", str(file), *KERNELS, *more])
        given = GivenSuite.of(context)
        assert given
        return {
            entry.told.name: record.context_of(context, given, entry).params  # type: ignore[attr-defined]
            for entry in given.file.entries
        }


def test_options_are_the_command_lines_then_the_workloads_then_the_files(tmp_path: Path) -> None:
    file = _write(
        tmp_path / "s.toml",
        """
        memory = "256M"
        repeat = 3
        settle = 1
        [[workload]]
        name = "a"
        command = ["true", "{n}"]
        sweep = { n = [1, 2] }
        repeat = 2
        settle = 2
        [[workload]]
        name = "b"
        command = ["false"]
        """,
    )
    found = _options(file, "--settle", "4")
    assert {name: one["repeat"] for name, one in found.items()} == {"a": 2, "b": 3}
    assert {name: one["settle"] for name, one in found.items()} == {"a": 4, "b": 4}
    assert {one["memory"] for one in found.values()} == {256}
    assert found["a"]["sweep"] == ("n=1,2",)
    assert tuple(found["b"]["command"]) == ("false",)
    assert not found["b"]["sweep"]


def test_included_files_say_more_of_their_own_workloads(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    _write(tmp_path / "inner/w.c", "int main(void) { return 0; }")
    _write(
        tmp_path / "inner/i.toml",
        """
        repeat = 2
        [[workload]]
        name = "inner"
        tags = "mm"
        command = ["w.c"]
        """,
    )
    file = _write(
        tmp_path / "s.toml",
        """
        include = ["inner/i.toml"]
        repeat = 3
        ops = 7
        [[workload]]
        name = "outer"
        command = ["true"]
        """,
    )
    found = _options(file)
    assert list(found) == ["inner", "outer"] == names(file)
    assert [one["repeat"] for one in found.values()] == [2, 3]
    assert [one["ops"] for one in found.values()] == ["7", "7"]
    assert Path(found["inner"]["command"][0]).resolve() == tmp_path / "inner/w.c"
    assert load(file, record).entries[0].told.tags == ["mm"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[workload]]\ncommand=['x']", "workload 1 has no name"),
        ("[[workload]]\nname='a'", "workload a has no command"),
        ("[[workload]]\nname='a/b'\ncommand=['x']", "a name has at most 64"),
        ("[[workload]]\nname='a'\ncommand=['x']\nsweeep=1", "unknown key sweeep: did you mean"),
        ("[[workload]]\nname='a'\ncommand=['x']\nkernel='b'", "kernel is of the whole suite"),
        ("[[workload]]\nname='a'\ncommand=['x']\njobs=2", "jobs is of the whole suite"),
        ("[[workload]]\nname='a'\ncommand=['x']\ntags=['a b']", "workload a: .*tags"),
        ("[[workload]]\nname='a'\ncommand=['x']\nop=''", "workload a: .*op"),
        ("[[workload]]\nname='a'\ncommand=['x']\n" * 2, "the workload a is given twice"),
        ("command=['x']\n[[workload]]\nname='a'\ncommand=['x']", "command is of a workload"),
        ("workload = 3", r"write each workload as \[\[workload\]\]"),
        ("include = []", r"has no \[\[workload\]\]"),
        ("include = ['s.toml']", "includes itself"),
        ("include = [3]", "include names at most 64 files"),
        ("include = ['none.toml']", "cannot read"),
        ("name = '../x'\n[[workload]]\nname='a'\ncommand=['x']", "name is not a name"),
        ("workload = [1]", r"write each workload as \[\[workload\]\]"),
    ],
)
def test_a_mistake_is_told_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    file = _write(tmp_path / "s.toml", text)
    with pytest.raises(InputError, match=said) as error:
        load(file, record)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_a_wrong_value_names_its_workload(tmp_path: Path) -> None:
    file = _write(tmp_path / "s.toml", "[[workload]]\nname='a'\ncommand=['x']\nrepeat='often'")
    result = profdiff("plan", "--suite", file, *KERNELS, status=2)
    assert error_line(result).startswith("workload a: ")
    assert "repeat" in error_line(result)


def test_an_experiment_file_with_workloads_is_a_suite(tmp_path: Path) -> None:
    _write(tmp_path / "profdiff.toml", "[[workload]]\nname='a'\ncommand=['x']\nrepeat=0")
    for words in ((), ("--experiment", "profdiff.toml")):
        said = error_line(profdiff("record", *words, *KERNELS, cwd=tmp_path, status=2))
        assert said.startswith("workload a: ")
    assert load(tmp_path / "profdiff.toml", record).name == tmp_path.name  # type: ignore[arg-type]


def test_a_suite_has_its_own_commands(tmp_path: Path) -> None:
    file = _write(tmp_path / "s.toml", "[[workload]]\nname='a'\ncommand=['x']")
    result = profdiff("record", "--suite", file, *KERNELS, "--", "true", status=2)
    assert error_line(result) == "a suite has commands of its own: leave COMMAND out"
    bisect = profdiff("record", "--only", "a", *KERNELS, "--", "true", status=2)
    assert error_line(bisect) == "--only works only on a suite: add --suite FILE"


def test_a_name_is_one_of_the_suites_that_come_along() -> None:
    assert "syscalls" in installed()
    assert located("syscalls").name == "syscalls.toml"
    with pytest.raises(InputError, match=r"--suite syscals: .*did you mean syscalls\?"):
        located("syscals")


def _completed(*words: str) -> list[str]:
    complete = ShellComplete(cli, {}, "profdiff", "_PROFDIFF_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_completes_suites_and_their_workloads(tmp_path: Path) -> None:
    assert "syscalls" in _completed("record", "--suite", "sys")
    file = _write(
        tmp_path / "s.toml",
        "[[workload]]\nname='alpha'\ncommand=['x']\n[[workload]]\nname='beta'\ncommand=['x']",
    )
    assert _completed("record", "--suite", str(file)[:-2]) == [str(file)]
    assert _completed("record", "--suite", str(file), "--only", "a") == ["alpha"]
    assert _completed("record", "--suite", str(tmp_path / "none"), "--only", "a") == []
