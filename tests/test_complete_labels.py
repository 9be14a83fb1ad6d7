"""The labels that a shell completes are those of kernels that there are."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from synthetic import manifest

from profdiff.cli import cli
from profdiff.session import manifest as m
from profdiff.session.held import COMPILER
from profdiff.session.parts import Parts
from profdiff.session.session import Session


def planned(holes: set[str]) -> m.Manifest:
    """base, 1-x and 2-y, without runs; those of ``holes`` were not built."""
    described = m.replace(manifest(["base", "1-x", "2-y"]), runs=[])
    kernels = [
        m.replace(one, image_sha256=None, build_id=None, symbols=None, hole="x.c: no")
        if one.label in holes
        else one
        for one in described.kernels
    ]
    return m.replace(described, kernels=kernels)


def completed(words: list[str]) -> list[str]:
    found = ShellComplete(cli, {}, "profdiff", "_").get_completions(words, "")
    return [one.value for one in found]


def test_what_was_not_built_is_left_out(tmp_path: Path) -> None:
    folder = Session.create(tmp_path / "s.profdiff", planned({"1-x"})).folder
    assert completed(["blame", str(folder), "--kernel"]) == ["2-y"]
    assert completed(["annotate", str(folder), "--source"]) == ["base=", "2-y="]


def test_what_one_compiler_builds_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "s.profdiff"
    Parts.create(folder, ["gcc-12", "clang-19"], ["profdiff"], COMPILER)
    Session.create(folder / "gcc-12", planned({"1-x"}))
    Session.create(folder / "clang-19", planned({"1-x", "2-y"}))
    assert completed(["annotate", str(folder), "--kernel"]) == ["base", "2-y"]


def test_recordings_that_are_compared_may_have_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Session.create(Path("mon.profdiff"), planned(set()))
    for typed, found in (("m", "mon.profdiff"), ("old=m", "old=mon.profdiff")):
        shell = ShellComplete(cli, {}, "profdiff", "_")
        assert [one.value for one in shell.get_completions(["compare"], typed)] == [found]
