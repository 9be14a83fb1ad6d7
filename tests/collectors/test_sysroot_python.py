"""Python of a root folder (``--sysroot``), which cannot be asked."""

import marshal
import os
import sys
import zipfile
from pathlib import Path

import pytest
from root_folders import INTERPRETER, Build, Ready, places

from profdiff.base.errors import InputError

pytestmark = [pytest.mark.build, pytest.mark.build]


def python(root: Path, build: Build, version: str) -> Path:
    """A folder that looks like Python's standard library, with an interpreter."""
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / f"usr/bin/python{version}")
    (root / "usr/bin/python3").symlink_to(f"python{version}")
    library = root / f"usr/lib/python{version}"
    for name in ("os.py", "json/__init__.py", "test/big.py", "site-packages/more.py"):
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(f"name = {name!r}\n")
    build(library / "lib-dynload/_fast.so", "-shared")
    return library


def test_python_of_a_root_folder(
    ready: Ready, root: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its library, compiled by a Python of that version here; what links lead to outside is
    left out."""
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    version = "{}.{}".format(*sys.version_info)
    library = python(root, build, version)
    (tmp_path / "mine.py").write_text("secret = 1\n")
    (library / "mine.py").symlink_to(tmp_path / "mine.py")
    (root / "etc").mkdir()
    (root / "etc/custom.py").write_text("custom = 1\n")
    (library / "custom.py").symlink_to("/etc/custom.py")
    os.mkfifo(library / "fifo.py")
    Path("wl.py").write_text("import json, helper\n")
    Path("helper.py").touch()
    workload = ready("python3", "wl.py")
    place = f"/usr/bin/python{version}"
    assert workload.guest_argv == (place, "wl.py")
    found = places(workload)
    there = f"/usr/lib/python{version}"
    assert found[place] == root / place[1:]
    assert {"/work/wl.py", "/work/helper.py", f"{there}/os.py", INTERPRETER} < found.keys()
    assert f"{there}/lib-dynload/_fast.so" in found
    with zipfile.ZipFile(found[f"/usr/lib/python{version.replace('.', '')}.zip"]) as packed:
        assert packed.namelist() == ["custom.pyc", "os.pyc", "json/__init__.pyc"]
        code = marshal.loads(packed.read("os.pyc")[16:])  # noqa: S302
    assert code.co_filename == f"{there}/os.py"
    Path("wl.py").write_text("import more\n")
    with pytest.raises(InputError, match=f"add --file {library}/site-packages/more.py"):
        ready("python3", "wl.py")


def test_python_of_a_version_that_is_not_here(
    ready: Ready, root: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    python(root, build, "3.99")
    # A version manager's, which does not run.
    manager = tmp_path / "programs/python3.99"
    manager.parent.mkdir()
    manager.write_text("#!/bin/sh\necho not installed >&2\nexit 127\n")
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{manager.parent}:/usr/bin:/bin")
    found = places(ready("python3", "-c", "pass"))
    with zipfile.ZipFile(found["/usr/lib/python399.zip"]) as packed:
        assert packed.namelist() == ["os.py", "json/__init__.py"]
        assert packed.read("os.py") == b"name = 'os.py'\n"


def test_python_that_cannot_be_used(ready: Ready, root: Path, build: Build) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / "usr/bin/python3")
    with pytest.raises(InputError, match="does not tell its version"):
        ready("python3", "-c", "pass")
    build(root / "usr/bin/python3.12")
    missing = rf"has no standard library \({root}/usr/lib/python3\.12/os\.py is missing\)"
    with pytest.raises(InputError, match=missing):
        ready("python3.12", "-c", "pass")
