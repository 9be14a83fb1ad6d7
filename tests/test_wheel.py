"""The wheel, where a user installs it: a Debian 12 without compiler, Rust and network."""

import csv
import os
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import whole_run
from support import EXAMPLE, ROOT, need_program, profdiff

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.kernels.apt import MIRROR
from profdiff.commands import COMMANDS

pytestmark = pytest.mark.network

# What docs/install.md tells a user to install.
PACKAGES = "python3-venv,qemu-system-x86,busybox-static,cpio"
# In namespaces of its own: mounts end with it, and there is no network.
ENTER = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/kernels" &&
exec env -i /usr/sbin/chroot "$0" /bin/sh -e /work/script
"""
SCRIPT = """
export HOME=/work PATH=/work/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /work
for program in cc gcc ld cargo rustc; do
	if command -v $program; then exit 1; fi
done
python3 -m venv venv
pip install --quiet --no-index --find-links wheels wheels/profdiff-*.whl
profdiff doctor > doctor
profdiff header > header
kernels="--kernel base=/kernels/v6.12.107 --kernel new=/kernels/v6.18.15"
! profdiff record $kernels -- ./toggle.c 2> error
profdiff record --settle 0 --jobs $JOBS $kernels -o s.profdiff -- ./toggle 400 20 400 20
profdiff report s.profdiff --csv report.csv
"""


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder with a source archive and the wheel that was built from it: the one that is
    tested, if it is not the checkout that is."""
    if tested := os.environ.get("PROFDIFF_TESTED"):
        return Path(tested, "wheel")
    return whole_run.once("wheel", lambda folder: run(ROOT / "scripts/wheel", folder))


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
    assert len(places) == 5
    crates = [str(Path(name).parent) for name in tracked("*/Cargo.toml")]
    wanted = {name for name in tracked("profdiff") if not (ROOT / name).is_symlink()}
    for folder, place in places.items():
        for name in tracked(folder):
            if not any(Path(name).is_relative_to(crate) for crate in crates):
                wanted.add(place + name.removeprefix(folder))
    assert len(wanted) > 400
    with (ROOT / "pyproject.toml").open("rb") as file:
        modules = tomllib.load(file)["tool"]["setuptools-rust"]["ext-modules"]
    wanted |= {one["target"].replace(".", "/") + ".abi3.so" for one in modules}
    wanted |= {f"profdiff/collectors/guest/agent-{one.name}" for one in ARCHITECTURES}
    assert {name for name in names if name.startswith("profdiff/")} == wanted
    others = {name.partition("/")[2] for name in names if not name.startswith("profdiff/")}
    assert {"licenses/LICENSE", "licenses/NOTICES"} <= others
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


@pytest.mark.guest
def test_it_records_on_a_debian_without_compiler(
    built: Path, tmp_path: Path, old_kernel: Path, new_kernel: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("a root folder of its own needs root")
    need_program("mmdebstrap")
    root = tmp_path / "root"
    work = root / "work"
    try:
        packages = f"--include={PACKAGES}"
        run("mmdebstrap", "--quiet", "--variant=apt", packages, "bookworm", root, MIRROR)
        (root / "kernels").mkdir()
        shutil.copytree(built, work / "wheels")
        shutil.copy(EXAMPLE, work / "toggle.c")
        run("cc", "-O1", "-static", f"-I{guest_resources()}", EXAMPLE, "-o", work / "toggle")
        (work / "script").write_text(SCRIPT.replace("$JOBS", str(whole_run.GUESTS)))
        with whole_run.processors(whole_run.GUESTS):
            own = ["unshare", "--mount", "--net", "--pid", "--fork"]
            run(*own, "sh", "-c", ENTER, root, old_kernel.parent)
        check_recording(work)
    finally:
        run("rm", "-rf", root)


def run(*command: str | Path) -> str:
    """What it printed. Fails with all that it said."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def check_recording(work: Path) -> None:
    # Rows of x86-64 guests stand before those of other architectures.
    rows = reversed((work / "doctor").read_text().splitlines())
    found = {line.split()[1]: line for line in rows}
    assert found["cc"].startswith("note") and "only .c workloads" in found["cc"]
    assert found["exact"].startswith("ok")
    header = (work / "header").read_text().strip()
    assert (work.parent / header.lstrip("/") / "profdiff.h").is_file()
    error = (work / "error").read_text().splitlines()[-1]
    assert error == "profdiff: cc is not installed: apt-get install gcc libc6-dev"
    assert (work / "venv/share/man/man1/profdiff-kernel-add.1").is_file()
    # The checkout reads the same out of what the wheel recorded.
    table = (work / "report.csv").read_text()
    assert profdiff("report", work / "s.profdiff", "--csv", "-").stdout == table
    rows = {row["name"]: row for row in csv.DictReader(table.splitlines())}
    flushed = rows["prot_commit_flush_ptes"]
    assert flushed["self base"] == "0" and int(flushed["self new"]) > 0
    # Inlined: the debug ELF was read.
    assert "commit_anon_folio_batch" in rows
