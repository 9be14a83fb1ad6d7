"""What an installation looks like, and what it is made of."""

import configparser
import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support import ROOT


def test_only_the_name_profdiff_is_installed() -> None:
    names = importlib.metadata.distribution("profdiff").read_text("top_level.txt")
    assert names
    assert names.split() == ["profdiff"]


def pyproject() -> dict[str, dict[str, object]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


# What each lock holds beside what the project and its build ask for.
LOCKS = {
    "requirements.txt": [],
    "requirements-wheel.txt": ["wheel"],
    "requirements-site.txt": ["site"],
    "requirements-test.txt": ["wheel", "site", "test"],
}


def wanted(extras: list[str]) -> list[Requirement]:
    """What the project asks for, with its build and those extras."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options"]["install_requires"].split("\n")
    lines += pyproject()["build-system"]["requires"]  # type: ignore[arg-type]
    for extra in extras:
        lines += setup["options.extras_require"][extra].split("\n")
    return [Requirement(line) for line in lines if line]


def name_of(text: str) -> str:
    return re.sub("[-_.]+", "-", text).lower()


@pytest.mark.parametrize("file", LOCKS)
def test_the_lock_holds_what_is_asked_for(file: str) -> None:
    """Every version exact and with a hash; none left out. `scripts/lock` mends it."""
    text = (ROOT / file).read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=[a-z])", re.sub(r"(?m)^#.*\n", "", text).strip())
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
    pins = dict(re.match(r"(\S+)==(\S+)", entry).groups() for entry in entries)  # type: ignore[union-attr]
    for requirement in wanted(LOCKS[file]):
        assert requirement.specifier.contains(pins[name_of(requirement.name)]), requirement


def test_the_locks_hold_the_same_versions() -> None:
    plain, wheel, site, test = (
        set(re.findall(r"(?m)^(\S+==\S+)", (ROOT / name).read_text())) for name in LOCKS
    )
    assert plain < wheel & site
    assert wheel | site < test


def test_rust_is_built_with_the_versions_of_its_lock() -> None:
    modules = pyproject()["tool"]["setuptools-rust"]["ext-modules"]  # type: ignore[index]
    assert len(modules) == 3
    assert all(module["cargo-manifest-args"] == ["--locked"] for module in modules)
    assert Path(ROOT / "Cargo.lock").is_file()


def bounded() -> dict[str, str]:
    """What a build and each extra ask for, by who asks."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = [("build-system", line) for line in pyproject()["build-system"]["requires"]]  # type: ignore[attr-defined]
    for extra, text in setup["options.extras_require"].items():
        lines += [(extra, line) for line in text.split("\n") if line]
    return {f"{who}: {line}": line for who, line in lines}


@pytest.mark.parametrize("line", bounded().values(), ids=bounded())
def test_what_is_built_and_added_with_has_an_upper_bound(line: str) -> None:
    """No release of another package breaks a build, or an extra, of a wheel that is out."""
    assert any(one.operator == "<" for one in Requirement(line).specifier)
