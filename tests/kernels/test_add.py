"""profdiff kernel add: what it is given is checked before it is registered."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import error_line, need_program, profdiff

from profdiff.collectors.kernels.registered import registered


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path / "config"))


def refused(name: str, spec: str | Path) -> str:
    """The line that refuses it; nothing is registered."""
    before = registered()
    line = error_line(profdiff("kernel", "add", name, str(spec), status=2))
    assert registered() == before
    return line


def test_a_kernel_and_what_stands_for_it(old_kernel: Path, tmp_path: Path) -> None:
    added = profdiff("kernel", "add", "good", old_kernel)
    assert added.stdout == f"good = {old_kernel}\n"
    assert added.stderr == ""
    profdiff("kernel", "add", "again", "good", cwd=tmp_path)
    for spec in ("running", "ssh://root@host:2222", "debian:sid"):
        profdiff("kernel", "add", spec[:3], spec)
    assert registered() == {
        **{"good": str(old_kernel), "again": str(old_kernel)},
        **{"run": "running", "ssh": "ssh://root@host:2222", "deb": "debian:sid"},
    }


def test_what_is_no_pair_of_image_and_vmlinux(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    image, debug_elf = old_kernel / "bzImage", old_kernel / "vmlinux.zst"
    (tmp_path / "text").write_text("no kernel\n")
    (tmp_path / "link").symlink_to(image)
    for spec, said in (
        (tmp_path, "holds no kernel image"),
        (tmp_path / "text", "is not an x86 kernel image"),
        ("/bin/sh", "is not an x86 kernel image (it is an ELF file)"),
        (debug_elf, "is not an x86 kernel image"),
        (f"{image},vmlinux={tmp_path}/link", "is given twice: as the image and as its vmlinux"),
        (f"{image},vmlinux={tmp_path}/gone", "gone is not a file"),
        (f"{image},vmlinux={tmp_path}/text", "is not a 64-bit little-endian ELF file"),
        (f"{image},vmlinux={new_kernel}/vmlinux.zst", "give the vmlinux of that build"),
        (tmp_path / "nothing", "no such kernel"),
    ):
        assert said in refused("k", spec)


def test_names_that_mean_something_else(old_kernel: Path) -> None:
    for name in ("running", "linux.deb"):
        assert f"{name} is a SPEC itself" in refused(name, old_kernel)


def test_what_will_not_be_visible_is_said(old_kernel: Path, tmp_path: Path) -> None:
    need_program("objcopy", "binutils")
    need_program("zstd")
    image, plain, stripped = old_kernel / "bzImage", tmp_path / "plain", tmp_path / "stripped"
    assert "k has no debug ELF" in profdiff("kernel", "add", "k", image).stderr
    subprocess.run(["zstd", "-dq", old_kernel / "vmlinux.zst", "-o", plain], check=True)
    subprocess.run(["objcopy", "--strip-debug", plain, stripped], check=True)
    said = profdiff("kernel", "add", "k", f"{image},vmlinux={stripped}").stderr
    assert f"{stripped} has no DWARF: inlined functions are not visible" in said


@pytest.fixture
def package(tmp_path: Path) -> Callable[[str], Path]:
    """A function that builds a package with nothing in it, by the real dpkg-deb."""
    need_program("dpkg-deb", "dpkg")

    def build(name: str) -> Path:
        root = tmp_path / "root"
        (root / "DEBIAN").mkdir(parents=True, exist_ok=True)
        control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nDescription: t\n"
        (root / "DEBIAN/control").write_text(f"{control}Maintainer: t <t@example.org>\n")
        file = tmp_path / f"{name}.deb"
        subprocess.run(["dpkg-deb", "-b", root, file], check=True, capture_output=True)
        return file

    return build


def test_packages(package: Callable[[str], Path], tmp_path: Path) -> None:
    image, debug = package("linux-image-6.17-amd64"), package("linux-image-6.17-amd64-dbg")
    shutil.copy("/etc/passwd", broken := tmp_path / "broken.deb")
    assert "no kernel image is in linux-image-6.17-amd64-dbg: add" in refused("k", debug)
    assert f"{image} is given twice" in refused("k", f"{image},{debug},{image}")
    assert "broken.deb is not a Debian package" in refused("k", f"{image},{broken}")
    assert "gone.deb is not a file" in refused("k", tmp_path / "gone.deb")
    profdiff("kernel", "add", "k", f"{image},{debug}")
    assert registered()["k"] == f"{image},{debug}"


def test_a_suite_that_is_not_known_is_said() -> None:
    result = profdiff("kernel", "add", "k", "debian:bookwrom", status=2)
    assert "there is no such suite: did you mean bookworm?" in error_line(result)
    assert "k" not in registered()
    # It may be one.
    assert "looked up" in profdiff("kernel", "add", "k", "debian:trixie-updates").stderr
    assert "looked up" in profdiff("kernel", "add", "k", "debian:duke").stderr
    assert profdiff("kernel", "add", "k", "debian:6.17.13").stderr == ""
