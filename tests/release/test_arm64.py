"""The wheel for arm64, on an arm64 Debian whose programs QEMU emulates. What it records there is an
x86-64 guest, in an emulator that is emulated itself."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from release.roots import ONE_USER, debian, run, within
from support import EXAMPLE, ROOT, need_kernel, need_program, profdiff
from tars import unpack_session

from profdiff.collectors.guest.initramfs import guest_resources

pytestmark = [pytest.mark.nightly, pytest.mark.network, pytest.mark.guest, pytest.mark.build]

# Unpacked, not configured, which would take minutes of emulation; for that, programs that each
# Debian has must be named.
PACKAGES = (
    "apt,busybox-static,coreutils,cpio,dash,debian-archive-keyring,findutils,grep,gzip,python3,"
    "qemu-system-x86,sed"
)
OPTIONS = (
    "--architectures=arm64",
    "--variant=extract",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    f"--include={PACKAGES}",
)
# Linux's Documentation/admin-guide/binfmt-misc.rst: the head of a 64-bit little-endian program for
# machine 183, EM_AARCH64. Since Linux 6.7 each user namespace has formats of its own, so this
# machine's stay as they are.
HEAD = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
FORMATS = "/proc/sys/fs/binfmt_misc"
EMULATE = f"""
mount -t binfmt_misc none {FORMATS} &&
printf %s ':arm64:M::{HEAD}:{MASK}:/usr/bin/qemu-aarch64-static:OCF' > {FORMATS}/register &&
"""
# What wheels for arm64 hosts are called, by the glibc that they need.
PLATFORMS = [f"manylinux_2_{minor}_aarch64" for minor in range(17, 37)]


@pytest.fixture(scope="module")
def root(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An arm64 Debian with the wheel, and what it needs, in /opt."""
    need_program("qemu-aarch64-static", "qemu-user-static")
    need_program("arch-test")
    folder = tmp_path_factory.mktemp("arm64")
    (wheel,) = released.glob("profdiff-*_aarch64.whl")
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    kind = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"]
    kind += [f"--platform={one}" for one in ("manylinux2014_aarch64", *PLATFORMS)]
    locked = ["--require-hashes", "-r", ROOT / "requirements.txt"]
    subprocess.run([*pip, "download", *kind, *locked, "--dest", wheels], check=True)
    shutil.copy(wheel, wheels)
    with debian(folder, "bookworm", *OPTIONS) as made:
        found = ["--no-index", f"--find-links={wheels}", "--target", made / "opt"]
        subprocess.run([*pip, "install", *kind, *found, "profdiff"], check=True)
        # There is one user.
        (made / "etc/apt/apt.conf.d/one-user").write_text('APT::Sandbox::User "root";\n')
        yield made


NAMES = ("v6.12.107", "v6.18.15")
# All builds of one version of QEMU are one, and none is in a sandbox, which needs the real kernel.
ONE_QEMU = """
from profdiff.collectors.guest import qemu
qemu._hash_of = lambda *_: ""
qemu._sandbox = lambda *_: ()
from profdiff.cli import main
main()
"""


def compile_static(source: Path, program: Path) -> None:
    run("cc", "-O1", "-static", f"-I{guest_resources()}", source, "-o", program)


def emulated(root: Path, script: str) -> str:
    return within(root, f"export PYTHONPATH=/opt; {script}", before=EMULATE, own=ONE_USER)


def test_doctor_runs(root: Path) -> None:
    said = emulated(root, "uname -m; python3 -m profdiff doctor || true")
    assert said.startswith("aarch64\n")
    assert re.search(r"(?m)^ok +exact counts .*QEMU emulator", said)


def test_a_report_is_the_same_as_here(root: Path) -> None:
    unpack_session(root / "work/old.profdiff")
    here = profdiff("report", root / "work/old.profdiff", "--csv", "-").stdout
    assert here.count("\n") > 10
    assert emulated(root, "python3 -m profdiff report old.profdiff --csv -") == here


def test_a_tiny_window_is_counted_as_here(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that were saved here travel there: to boot one in an emulated emulator takes half an
    hour."""
    work = root / "work"
    compile_static(EXAMPLE, work / "toggle")
    (work / "one_qemu.py").write_text(ONE_QEMU)
    window = [
        "--restore",
        "--vary-state",
        "0",
        "--ops",
        "20",
        "--difference",
        "none",
        "--",
        "./toggle",
        "40",
        "{ops}",
    ]
    images = [need_kernel(name) / "bzImage" for name in NAMES]
    here = [f"--kernel={label}={image}" for label, image in zip("ab", images, strict=True)]
    monkeypatch.setenv("PROFDIFF_CACHE", str(work / "cache"))
    command = [sys.executable, "one_qemu.py", "record", *here, "-o", "here.profdiff", *window]
    subprocess.run(command, cwd=work, check=True)
    there = [
        f"--kernel={label}=/kernels/{name}/bzImage" for label, name in zip("ab", NAMES, strict=True)
    ]
    told = shlex.join(["record", *there, "-o", "there.profdiff", *window])
    emulated(root, f"export PROFDIFF_CACHE=/work/cache; python3 one_qemu.py {told}")
    counted = profdiff("report", work / "there.profdiff", "--csv", "-").stdout
    assert "prot_commit_flush_ptes" in counted
    assert counted == profdiff("report", work / "here.profdiff", "--csv", "-").stdout
