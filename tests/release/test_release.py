"""What scripts/release makes and refuses. ``scripts/release --check FOLDER`` says which folder."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import extent
import pytest
from support import ROOT

from profdiff import __version__

KINDS = (
    r"profdiff-V\.tar\.gz",
    r"profdiff-V-cp311-abi3-manylinux_2_34_x86_64\.whl",
    r"profdiff-V-cp311-abi3-manylinux_2_34_aarch64\.whl",
    r"profdiff_V-1~deb12_amd64\.deb",
    r"profdiff_V-1~deb13_amd64\.deb",
    r"profdiff-V-oci-amd64\.tar",
    r"profdiff\.cdx\.json",
    r"SHA256SUMS",
)


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A tree with nothing but the script."""
    tree = tmp_path / "tree"
    (tree / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/release", tree / "scripts")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", "-C", tree, *words], check=True)
    return tree


def refusal(tree: Path, *words: str | Path) -> str:
    command = [tree / "scripts/release", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert said.stdout == "" and said.stderr.count("\n") == 1
    return said.stderr


def test_a_tree_that_is_not_clean_is_refused(clean: Path, tmp_path: Path) -> None:
    (clean / "new").touch()
    assert refusal(clean, tmp_path / "out").startswith("release: the tree is not clean: ")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_kept(clean: Path, tmp_path: Path) -> None:
    assert refusal(clean, tmp_path) == f"release: {tmp_path} exists: name a new folder\n"


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--chek", "a"], ["--check"]])
def test_other_words_are_refused(clean: Path, words: list[str]) -> None:
    assert refusal(clean, *words).startswith("release: name a folder: ")


def test_a_folder_without_a_release_is_not_checked(clean: Path, tmp_path: Path) -> None:
    assert "has no release" in refusal(clean, "--check", tmp_path)


def test_everything_is_there_with_its_sum(released: Path) -> None:
    names = sorted(path.name for path in released.iterdir())
    kinds = [kind.replace("V", re.escape(__version__)) for kind in KINDS]
    if not extent.is_nightly():
        # The image, and what it is made of.
        kinds = [kind for kind in kinds if "aarch64" not in kind and "deb12" not in kind]
    assert len(names) == len(kinds)
    assert all(any(re.fullmatch(kind, name) for name in names) for kind in kinds)
    rows = dict(
        reversed(line.split("  ")) for line in (released / "SHA256SUMS").read_text().splitlines()
    )
    assert sorted([*rows, "SHA256SUMS"]) == names
    for name, told in rows.items():
        assert hashlib.sha256((released / name).read_bytes()).hexdigest() == told, name


@pytest.mark.nightly
@pytest.mark.build
@pytest.mark.network
def test_another_clone_makes_the_same_bytes(released: Path, tmp_path: Path) -> None:
    """It compiles everything anew, in another folder."""
    clone = tmp_path / "another"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    # The tools, not what they made.
    (clone / ".venv").symlink_to(ROOT / ".venv")
    (clone / ".git/info/exclude").write_text(".venv\n")
    subprocess.run([clone / "scripts/release", tmp_path / "again"], check=True)
    again = (tmp_path / "again/SHA256SUMS").read_text()
    assert again == (released / "SHA256SUMS").read_text()
