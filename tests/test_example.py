"""``profdiff example``: what README's first command takes is there without a checkout."""

import tomllib
from pathlib import Path

import pytest
from support import ROOT, profdiff


def test_each_example_is_listed_and_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = dict(line.split("  ", 1) for line in profdiff("example").stdout.splitlines())
    folders = {one.parent for one in (ROOT / "examples").glob("*/profdiff.toml")}
    assert {one.name for one in folders} == {name.strip() for name in listed}
    for folder in folders:
        profdiff("example", folder.name)
        copied = Path(folder.name)
        for file in folder.rglob("*"):
            if file.is_file():
                assert (copied / file.relative_to(folder)).read_bytes() == file.read_bytes()
        program = tomllib.loads((copied / "profdiff.toml").read_text())["command"][0]
        assert (copied / program).is_file()


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mincore-present-pte").mkdir()
    Path("mincore-present-pte/mine").write_text("kept")
    refused = profdiff("example", "mincore-present-pte", status=2).stderr
    assert "is here already" in refused
    assert [one.name for one in Path("mincore-present-pte").iterdir()] == ["mine"]


def test_a_wrong_name_is_told_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = profdiff("example", "mincore-present", status=2).stderr
    assert "did you mean mincore-present-pte?" in refused
    assert not any(tmp_path.iterdir())
