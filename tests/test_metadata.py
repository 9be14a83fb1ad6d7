"""What indexes, archives and people who cite read of profdiff says one thing everywhere."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from support import ROOT

from profdiff import __version__

PLACEHOLDER = "https://profdiff.example"
# Where indexes look for the address of the repository.
FILES = ("setup.cfg", "Cargo.toml", "CITATION.cff", "debian/control")


def setting(root: Path, name: str) -> str:
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(root / "setup.cfg")
    return setup["metadata"][name]


def test_every_file_has_the_same_version() -> None:
    with (ROOT / "Cargo.toml").open("rb") as file:
        assert tomllib.load(file)["workspace"]["package"]["version"] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "debian/changelog").read_text().startswith(f"profdiff ({__version__}-1) ")
    assert f"\n## {__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_every_file_has_the_same_authors() -> None:
    authors = setting(ROOT, "author")
    assert f"- name: {authors}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\nMaintainer: {authors} <" in (ROOT / "debian/control").read_text()
    with (ROOT / "Cargo.toml").open("rb") as file:
        assert tomllib.load(file)["workspace"]["package"]["authors"] == [authors]


def test_every_python_that_it_runs_on_is_told() -> None:
    told = re.findall(r":: (3\.\d+)$", setting(ROOT, "classifiers"), re.MULTILINE)
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options"]["python_requires"] == f">={told[0]}"
    assert [int(one.split(".")[1]) for one in told] == [*range(11, 11 + len(told))]


def test_one_command_writes_the_repositorys_address_everywhere(tmp_path: Path) -> None:
    for name in (*FILES, "scripts/home"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    command = [tmp_path / "scripts/home", "https://forge.example/tools/profdiff"]
    subprocess.run(command, check=True)
    for name in FILES:
        text = (tmp_path / name).read_text()
        assert PLACEHOLDER not in text, name
        assert "https://forge.example/tools/profdiff" in text, name
    assert setting(tmp_path, "project_urls").endswith("/tools/profdiff/issues")


@pytest.mark.parametrize("given", [[], ["profdiff"], ["https://a b"], ["https://a|b"]])
def test_what_is_not_an_address_is_refused(given: list[str]) -> None:
    said = subprocess.run(
        [ROOT / "scripts/home", *given], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert said.stderr.startswith("home: give the address") and said.stderr.count("\n") == 1
