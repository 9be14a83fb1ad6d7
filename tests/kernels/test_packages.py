"""Kernels from .deb files, built here by the real dpkg-deb."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.kernels import deb_package
from profdiff.collectors.kernels.deb_package import unpack_kernel
from profdiff.collectors.kernels.files import module_files
from profdiff.collectors.kernels.kinds.registry import parse


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    need_program("dpkg-deb", "dpkg")
    folder = tmp_path / "cache"
    monkeypatch.setenv("PROFDIFF_CACHE", str(folder))
    return folder


def package(
    folder: Path,
    name: str,
    *files: str,
    links: dict[str, str] | None = None,
    sizes: dict[str, int] | None = None,
) -> Path:
    """A package that holds files of those names, which hold these or so many random bytes."""
    root = folder / f"{name}.d"
    (root / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\n"
    control += "Maintainer: t <t@example.org>\nDescription: t\n"
    (root / "DEBIAN/control").write_text(control)
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        size = (sizes or {}).get(file)
        path.write_bytes(os.urandom(size) if size else file.encode())
    for link, target in (links or {}).items():
        path = root / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    deb = folder / f"{name}_1_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-b", root, deb]
    subprocess.run(command, check=True, capture_output=True)
    return deb


def test_the_layout_until_6_18(tmp_path: Path) -> None:
    modules = "lib/modules/6.12-x/kernel/fs/a.ko.xz"
    image = package(tmp_path, "linux-image", "boot/vmlinuz-6.12-x", "boot/config-6.12-x", modules)
    debug = package(
        tmp_path,
        "linux-image-dbg",
        "usr/lib/debug/boot/vmlinux-6.12-x",
        "usr/lib/debug/lib/modules/6.12-x/kernel/fs/a.ko",
        links={"usr/lib/debug/lib/modules/6.12-x/vmlinux": "../../../boot/vmlinux-6.12-x"},
    )
    files = parse(f"{image},{debug}").locate("k")
    assert files.image.name == "vmlinuz-6.12-x"
    assert files.debug_elf
    assert files.debug_elf.read_text() == "usr/lib/debug/boot/vmlinux-6.12-x"
    assert files.config
    assert list(module_files(files.modules)) == ["a"]
    assert "debug" not in str(module_files(files.modules)["a"])


def test_debug_symbols_of_modules_are_not_read(tmp_path: Path) -> None:
    """Damage behind the kernel's own is not noticed."""
    image = package(tmp_path, "linux-image", "boot/vmlinuz-6.12-x")
    elf, module = "usr/lib/debug/boot/vmlinux-6.12-x", "usr/lib/debug/lib/modules/6.12-x/a.ko"
    debug = package(tmp_path, "linux-image-dbg", elf, module, sizes={module: 4 << 20})
    damaged = bytearray(debug.read_bytes())
    damaged[-(1 << 20) : -(1 << 19)] = bytes(1 << 19)
    debug.write_bytes(damaged)
    files = parse(f"{image},{debug}").locate("k")
    assert files.debug_elf
    assert files.debug_elf.read_text() == elf
    renamed = debug.rename(tmp_path / "another.deb")
    with pytest.raises(InputError, match=r"another\.deb cannot be unpacked: "):
        parse(f"{image},{renamed}").locate("k")


@pytest.mark.parametrize("name", ["vmlinuz", "vmlinuz.unsigned"])
def test_the_layout_since_6_19(tmp_path: Path, name: str) -> None:
    folder = "usr/lib/modules/7.0-x"
    binary = package(tmp_path, "linux-binary", f"{folder}/{name}")
    base = package(tmp_path, "linux-base", f"{folder}/config", f"{folder}/System.map")
    debug = package(tmp_path, "linux-image-dbg", "usr/lib/debug/lib/modules/7.0-x/vmlinux")
    files = parse(f"{binary},{base},{debug}").locate("k")
    assert (files.image.name, files.debug_elf and files.debug_elf.name) == (name, "vmlinux")
    assert files.config
    assert not list(files.image.parent.glob("System.map"))


def test_a_configuration_is_no_module(tmp_path: Path) -> None:
    folder = "usr/lib/modules/7.0-x"
    module = f"{folder}/kernel/fs/configfs/configfs.ko.xz"
    binary = package(tmp_path, "linux-binary", f"{folder}/vmlinuz", module)
    files = parse(str(binary)).locate("k")
    assert files.config is None
    assert list(module_files(files.modules)) == ["configfs"]


def test_packages_without_or_with_two_kernels(tmp_path: Path) -> None:
    empty = package(tmp_path, "meta", "usr/share/doc/meta/copyright")
    with pytest.raises(InputError, match="none of the packages holds a kernel image"):
        parse(str(empty)).locate("k")
    one = package(tmp_path, "one", "boot/vmlinuz-1")
    two = package(tmp_path, "two", "boot/vmlinuz-2")
    with pytest.raises(InputError, match="hold 2 kernels"):
        parse(f"{one},{two}").locate("k")


def test_a_corrupt_package_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    whole = package(tmp_path, "whole", "boot/vmlinuz-1")
    for number, data in enumerate((b"", b"hello", whole.read_bytes()[:-100])):
        broken = tmp_path / f"broken{number}.deb"
        broken.write_bytes(data)
        with pytest.raises(InputError, match=f"broken{number}.deb"):
            unpack_kernel([whole, broken])
    assert not [path for path in (cache / "kernels").iterdir() if path.is_dir()]
    with pytest.raises(InputError, match="No such file"):
        unpack_kernel([tmp_path / "gone.deb"])


def by_hand(folder: Path, name: str, *members: tuple[str, str | None]) -> Path:
    """A package with these members in this order: a name, and what it links to if it is a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for path, link in members:
            member = tarfile.TarInfo(path)
            if link:
                member.type, member.linkname = tarfile.SYMTYPE, link
                archive.addfile(member)
            else:
                member.size = 1
                archive.addfile(member, io.BytesIO(b"x"))
    (folder / "data.tar.xz").write_bytes(data.getvalue())
    (folder / "debian-binary").write_text("2.0\n")
    good = package(folder, "donor", "boot/x")
    subprocess.run(["ar", "x", good, "control.tar.xz"], cwd=folder, check=True)
    parts = ["debian-binary", "control.tar.xz", "data.tar.xz"]
    subprocess.run(["ar", "rc", name, *parts], cwd=folder, check=True)
    return folder / name


def hostile(folder: Path, outside: Path) -> Path:
    """A package whose members try to get out: by .., by an absolute name, through a link."""
    return by_hand(
        folder,
        "hostile.deb",
        ("./boot/vmlinuz-../../../escaped1", None),
        (f"./boot/vmlinuz-1/..{'/..' * 20}{outside}/escaped2", None),
        (f"{outside}/boot/vmlinuz-escaped3", None),
        ("./boot/vmlinuz-link", str(outside)),
        ("./boot/vmlinuz-link/escaped4", None),
        ("./boot/vmlinuz-good", None),
    )


def test_a_link_before_the_debug_symbols(tmp_path: Path) -> None:
    """dpkg-deb puts links last; others do not."""
    need_program("ar", "binutils")
    image = package(tmp_path, "linux-image", "boot/vmlinuz-7.0-x")
    folder = "usr/lib/debug/lib/modules/7.0-x"
    debug = by_hand(
        tmp_path,
        "linux-image-dbg_1_amd64.deb",
        ("./usr/lib/debug/boot/vmlinux-7.0-x", "../lib/modules/7.0-x/vmlinux"),
        (f"./{folder}/vmlinux", None),
    )
    files = parse(f"{image},{debug}").locate("k")
    assert files.debug_elf
    assert files.debug_elf.read_text() == "x"


def test_nothing_is_written_outside(tmp_path: Path, cache: Path) -> None:
    need_program("ar", "binutils")
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(InputError):
        unpack_kernel([hostile(tmp_path, outside)])
    assert list(outside.iterdir()) == []
    assert not list(tmp_path.rglob("*escaped*"))


@pytest.mark.parametrize(
    "name", ["boot/vmlinuz-1", "usr/lib/debug/boot/vmlinux-1", "boot/config-1"]
)
@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_out_of_the_package(tmp_path: Path, cache: Path, name: str, absolute: bool) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    target = str(secret) if absolute else f"{'../' * 30}{secret}"
    deb = package(tmp_path, "links", links={name: target})
    with pytest.raises(InputError, match="link out of the package"):
        unpack_kernel([deb])
    assert not [path for path in (cache / "kernels").iterdir() if path.is_dir()]


def test_a_pipe_in_a_package(tmp_path: Path) -> None:
    package(tmp_path, "donor", "boot/config-1")
    os.mkfifo(tmp_path / "donor.d/boot/vmlinuz-1")
    deb = tmp_path / "pipe.deb"
    subprocess.run(["dpkg-deb", "-b", tmp_path / "donor.d", deb], check=True, capture_output=True)
    with pytest.raises(InputError, match="vmlinuz-1 is neither file"):
        unpack_kernel([deb])


def test_a_package_that_is_too_large(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deb = package(tmp_path, "image", "boot/vmlinuz-1")
    monkeypatch.setattr(deb_package, "_MAX_BYTES", 100)
    with pytest.raises(InputError, match="no kernel is that large"):
        unpack_kernel([deb])
    assert not [path for path in (cache / "kernels").iterdir() if path.is_dir()]


def test_in_another_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Shows in German on a machine that has tar's translations.
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert unpack_kernel([package(tmp_path, "image", "boot/vmlinuz-1")]).is_dir()


def test_what_a_killed_process_left_is_removed(tmp_path: Path, cache: Path) -> None:
    deb = package(tmp_path, "image", "boot/vmlinuz-1")
    stale = cache / "kernels/.shared.profdiff-abcd"
    (stale / "files/boot").mkdir(parents=True)
    (stale / ".profdiff-lock").touch()
    deb_package.unpack_into(cache / "kernels/shared", [deb], deb_package.KERNEL_FILES)
    assert not stale.exists()


def test_a_full_disk(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tar that ends as the real one does when write(2) says ENOSPC: no small disk without root.
    programs = tmp_path / "programs"
    programs.mkdir()
    tar = programs / "tar"
    line = "tar: ./boot/vmlinuz-1: Wrote only 512 of 10240 bytes: No space left on device"
    tar.write_text(f"#!/bin/sh\necho '{line}' >&2\nexit 2\n")
    tar.chmod(0o755)
    deb = package(tmp_path, "image", "boot/vmlinuz-1")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(MissingError, match=r"no room in .* image_1_amd64\.deb"):
        unpack_kernel([deb])
    assert not [path for path in (cache / "kernels").iterdir() if path.is_dir()]


def test_two_processes_unpack_once(tmp_path: Path, cache: Path) -> None:
    deb = package(tmp_path, "image", "boot/vmlinuz-1")
    program = "from pathlib import Path\nfrom profdiff.collectors.kernels.deb_package import *\n"
    target = cache / "kernels/shared"
    program += f"print(unpack_into(Path({str(target)!r}), [Path({str(deb)!r})], KERNEL_FILES))"
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    folders = {process.communicate(timeout=60)[0].strip() for process in processes}
    assert folders == {str(cache / "kernels/shared")}
    assert [p.name for p in (cache / "kernels").iterdir() if p.is_dir()] == ["shared"]


def test_without_dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deb = package(tmp_path, "image", "boot/vmlinuz-1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="dpkg-deb is not installed: Debian's packages"):
        unpack_kernel([deb])
