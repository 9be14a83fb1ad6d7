"""What a shell completes of a recording is there: kernels' labels, points; and lists of names."""

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


def completed(words: list[str], typed: str = "") -> list[str]:
    found = ShellComplete(cli, {}, "profdiff", "_").get_completions(words, typed)
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
        assert completed(["compare"], typed) == [found]


def test_points_of_the_sweep(tmp_path: Path) -> None:
    every = [("4", "a"), ("4", "b"), ("40", "a")]
    points = [
        m.Point(cpus=1, ops=None, parameters={"size": size, "how": how, "fixed": "1"})
        for size, how in every
    ]
    described = m.replace(planned(set()), points=points)
    folder = str(Session.create(tmp_path / "s.profdiff", described).folder)
    for command in ("report", "check", "annotate", "coverage", "blame", "mail"):
        words = [command, folder, "--at"]
        assert completed(words) == ["size=", "how="], command
        assert completed(words, "size=") == ["size=4", "size=40"]
        assert completed(words, "size=4,") == ["size=4,how="]
        assert completed(words, "size=40,how=") == ["size=40,how=a"]
        assert completed(words, "colour=") == []


def test_names_separated_by_commas() -> None:
    assert {"exact", "perf", "sharing"} <= {*completed(["record", "--collector"])}
    assert completed(["record", "--collector"], "exact,sh") == ["exact,sharing"]
    assert completed(["record", "--arch"], "x86_64,a") == ["x86_64,arm64"]
