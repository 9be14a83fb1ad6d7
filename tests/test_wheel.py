"""The wheel, and what it does where a user installs it: a Debian 12 without compiler, Rust and
network."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_repository
import pytest
import whole_run
from built import built as built_wheel
from made_repository import Made
from support import EXAMPLE, ROOT, SHARED, need_kernel, need_program, profdiff

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.calibration import CALIBRATE
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.kernels.apt import MIRROR
from profdiff.commands import COMMANDS
from profdiff.reports.command_forms import ANNOTATION_FORMS as ANNOTATION_FORMS
from profdiff.reports.command_forms import BLAME_FORMS as BLAME_FORMS
from profdiff.reports.command_forms import CHECK_FORMS as CHECK_FORMS
from profdiff.reports.forms import FORMS

pytestmark = pytest.mark.build

# What docs/install.md tells a user to install; git is for sources and their history.
PACKAGES = "python3-venv,qemu-system-x86,busybox-static,cpio,git"
# In namespaces of its own: mounts end with it, and there is no network but loopback.
ENTER = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/kernels" &&
/usr/sbin/chroot "$0" /bin/busybox ip link set lo up &&
exec env -i HOME=/work PATH=/work/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
	/usr/sbin/chroot "$0" /bin/sh -ec "cd /work; $2"
"""
INSTALL = """
for program in cc gcc ld cargo rustc make; do
	if command -v $program; then exit 1; fi
done
python3 -m venv venv
wheel=$(echo wheels/profdiff-*.whl)
pip install --quiet --no-compile --no-index --find-links wheels "$wheel[cluster]"
profdiff --version
"""


@pytest.fixture(scope="module")
def built() -> Path:
    return built_wheel()


def tracked(*folders: str) -> set[str]:
    """The files that git has in folders, or would take."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = run(*command, "--", *folders).split("\0")
    return {name for name in names if (ROOT / name).is_file() or (ROOT / name).is_symlink()}


def test_the_wheel_has_every_file_of_the_tree(built: Path) -> None:
    """Modules and what stands beside them, but for Rust crates; and what is compiled."""
    (wheel,) = built.glob("profdiff-*.whl")
    assert wheel.name.endswith("-cp311-abi3-manylinux_2_34_x86_64.whl")
    with zipfile.ZipFile(wheel) as members:
        names = [name for name in members.namelist() if not name.endswith("/")]
    links = [path for path in (ROOT / "profdiff").iterdir() if path.is_symlink()]
    places = {str(path.resolve().relative_to(ROOT)): f"profdiff/{path.name}" for path in links}
    assert len(places) == 6
    crates = [str(Path(name).parent) for name in tracked("*/Cargo.toml")]
    wanted = {name for name in tracked("profdiff") if not (ROOT / name).is_symlink()}
    for folder, place in places.items():
        for name in tracked(folder):
            if not any(Path(name).is_relative_to(crate) for crate in crates):
                wanted.add(place + name.removeprefix(folder))
    # The suite has a place of its own. What makes a repository of Debian's is no experiment, and
    # the published pairs belong to a benchmark, which is not installed.
    apart = tuple(
        f"{places['examples']}/{name}/" for name in ("suite", "debian-sources", "retrodiction")
    )
    wanted = {name for name in wanted if not name.startswith(apart)}
    # What only the type checker of the page's scripts reads.
    wanted.remove("profdiff/templates/tsconfig.json")
    assert len(wanted) > 400
    with (ROOT / "pyproject.toml").open("rb") as file:
        modules = tomllib.load(file)["tool"]["setuptools-rust"]["ext-modules"]
    wanted |= {one["target"].replace(".", "/") + ".abi3.so" for one in modules}
    wanted |= {f"profdiff/collectors/guest/agent/agent-{one.name}" for one in ARCHITECTURES}
    calibrate = "profdiff/collectors/calibration/calibrate"
    wanted |= {f"{calibrate}-{one.name}" for one in CALIBRATE.architectures}
    assert {name for name in names if name.startswith("profdiff/")} == wanted
    others = {name.partition("/")[2] for name in names if not name.startswith("profdiff/")}
    assert {"licenses/LICENSE", "licenses/NOTICES"} <= others
    assert "data/share/profdiff/ci" in others
    assert {f"data/share/man/man1/profdiff-{command}.1" for command in COMMANDS} <= others


def test_the_archive_has_all_that_git_has(built: Path) -> None:
    """So no test is there without its helpers; and links are links."""
    (archive,) = built.glob("profdiff-*.tar.gz")
    with tarfile.open(archive) as members:
        there = {one.name.partition("/")[2]: one for one in members if not one.isdir()}
    pages = {f"man/profdiff-{command}.1" for command in COMMANDS}
    made = {name for name in there if name.startswith("man/")}
    assert pages < made
    assert there.keys() == {"PKG-INFO"} | tracked(".") | made
    assert there["profdiff/base"].linkname == "../base"


def test_the_same_files_elsewhere_give_the_same_archive(built: Path, tmp_path: Path) -> None:
    """Also if they are another user's, and later."""
    (archive,) = built.glob("profdiff-*.tar.gz")
    with tarfile.open(archive) as members:
        (date,) = {int(one.mtime) for one in members}
    run("tar", "--extract", "--touch", "--file", archive, "--directory", tmp_path)
    (source,) = tmp_path.iterdir()
    (source / "PKG-INFO").unlink()
    run("chmod", "-R", "go=", source)
    run("git", "init", "--quiet", source)
    run("git", "-C", source, "add", ".")
    sdist = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", tmp_path]
    run("env", "-C", source, "-u", "PYTHONPATH", f"SOURCE_DATE_EPOCH={date}", *sdist)
    assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()


@pytest.fixture(scope="module")
def debian(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root folder of a Debian 12 with what docs/install.md names, and the wheels in /work."""
    if os.geteuid() != 0:
        pytest.skip("a root folder of its own needs root")
    need_program("mmdebstrap")
    root = tmp_path_factory.mktemp("debian") / "root"
    work = root / "work"
    try:
        packages = f"--include={PACKAGES}"
        run("mmdebstrap", "--quiet", "--variant=apt", packages, "bookworm", root, MIRROR)
        (root / "kernels").mkdir()
        shutil.copytree(built, work / "wheels")
        # All that it asks for, in the versions of the lock.
        (wheel,) = (work / "wheels").glob("*.whl")
        pins = re.findall(r"(?m)^[^ #]+==.*(?= \\$)", (ROOT / "requirements-test.txt").read_text())
        (work / "pins").write_text("\n".join(pins))
        locked = ["--only-binary=:all:", "--constraint", work / "pins"]
        download = [sys.executable, "-m", "pip", "download", "--quiet", *locked]
        run(*download, "--dest", work / "wheels", f"{wheel}[cluster]")
        yield root
    finally:
        run("rm", "-rf", "--one-file-system", root)


def within(root: Path, script: str) -> str:
    """What a shell script prints there, in /work."""
    own = ["unshare", "--mount", "--net", "--pid", "--fork"]
    need_kernel("v6.12.107")
    return run(*own, "sh", "-c", ENTER, root, SHARED / "kernels", script)


@pytest.mark.network
def test_it_installs_on_a_debian_without_compiler(debian: Path) -> None:
    assert within(debian, INSTALL).startswith("profdiff, version ")


@pytest.mark.guest
@pytest.mark.network
def test_every_command_runs_there(debian: Path, new_kernel: Path) -> None:
    work = debian / "work"
    if not (work / "venv").exists():
        within(debian, INSTALL)
    shutil.copy(ROOT / "tests/every_command.py", work)
    shutil.copy(EXAMPLE, work / "toggle.c")
    shutil.copy(ROOT / "tests/lkp/mails/59faa4da7c.eml", work / "robot.eml")
    calls = "mprotect(0x7f0000000000, 163840, PROT_READ) = 0\n" * 9
    (work / "calls.strace").write_text(calls)
    run("cc", "-O1", "-static", f"-I{guest_resources()}", EXAMPLE, "-o", work / "toggle")
    commits = {
        "old": Made({"mm/mprotect.c": "int a;\n"}),
        "new": Made({"mm/mprotect.c": "int b;\n"}, ["old"]),
    }
    linux = made_repository.make(work / "linux", commits)
    for tag, name in (("v6.12.107", "old"), ("v6.18.15", "new")):
        linux.git("tag", tag, name)
    # Most of these commands run no guest: another test's may run meanwhile.
    with whole_run.processors(whole_run.GUESTS):
        within(debian, f"python every_command.py {whole_run.GUESTS}")
    check_commands(json.loads((work / "said.json").read_text()))
    check_files(work)


def run(*command: str | Path) -> str:
    """What it printed. Fails with all that it said."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def check_commands(said: list[dict[str, Any]]) -> None:
    """Each did what it was asked for, or said in one line what it lacks."""
    wrong = []
    for row in said:
        lines = row["stderr"].splitlines() or [""]
        if row["error"]:
            good = row["status"] == 2 and lines[-1].startswith(f"profdiff: {row['error']}")
        else:
            good = row["status"] == 0 and not lines[-1].startswith("profdiff: ")
        if not good or "a defect of profdiff" in row["stderr"] or "Traceback" in row["stderr"]:
            wrong.append(f"{row['words']}: {row['status']} {row['stderr']}")
    assert not wrong, "\n".join(wrong)
    assert {row["words"][0] for row in said} == set(COMMANDS)


def check_files(work: Path) -> None:
    # Rows of x86-64 guests stand before those of other architectures.
    said = {
        tuple(row["words"]): row["stdout"] for row in json.loads((work / "said.json").read_text())
    }
    states = ("ok ", "note ", "missing ", "noise ")
    table = [line for line in said["doctor",].splitlines() if line.startswith(states)]
    found = {line.split()[1]: line for line in reversed(table)}
    assert found["cc"].startswith("note") and "only .c workloads" in found["cc"]
    assert found["exact"].startswith("ok")
    header = said["header",].strip()
    assert (work.parent / header.lstrip("/") / "profdiff.h").is_file()
    assert (work / "venv/share/man/man1/profdiff-kernel-add.1").is_file()
    assert (work / "venv/share/profdiff/ci").is_file()
    # What is tested elsewhere reads the same out of what was recorded there.
    functions = (work / "csv").read_text()
    assert profdiff("report", work / "s.profdiff", "--csv", "-").stdout == functions
    rows = {row["name"]: row for row in csv.DictReader(functions.splitlines())}
    flushed = rows["prot_commit_flush_ptes"]
    assert flushed["self base"] == "0" and int(flushed["self new"]) > 0
    # Inlined: the debug ELF was read.
    assert "commit_anon_folio_batch" in rows
    assert (work / "cluster.csv").read_text() == functions
    for form in (*FORMS, *ANNOTATION_FORMS, *BLAME_FORMS, *CHECK_FORMS):
        made = [*work.glob(form.name), *work.glob(f"*-{form.name}"), *work.glob(f"{form.name}*")]
        assert made and all(path.is_dir() or path.stat().st_size for path in made), form.name
