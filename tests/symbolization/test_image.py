"""Kernel images: version and build id."""

import random
from pathlib import Path

import pytest
from support import need_kernel

from profdiff.symbolization._native import KernelImage, NativeError, elf_build_id


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["v6.12.107", "v6.18.15", "v7.1.8"])
def test_image_and_debug_elf_agree(name: str) -> None:
    folder = need_kernel(name)
    image = KernelImage.open(str(folder / "bzImage"))
    assert image.version.startswith(f"{name[1:]}-profdiff ")
    assert image.build_id is not None
    assert image.build_id == elf_build_id(str(folder / "vmlinux.zst"))


@pytest.mark.kernel
def test_damaged_images_never_crash(tmp_path: Path) -> None:
    good = (need_kernel("v6.12.107") / "bzImage").read_bytes()[: 1 << 20]
    rng, path = random.Random(3), tmp_path / "bzImage"
    for turn in range(100):
        bad = bytearray(good)
        for _ in range(8):
            bad[rng.randrange(0x1F0, 0x280 if turn % 2 else len(bad))] = rng.randrange(256)
        path.write_bytes(bad[: rng.randrange(0x100, len(bad))])
        try:
            KernelImage.open(str(path))
        except NativeError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ" + bytes(2000), b"hello" * 1000])
def test_what_is_no_image_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(content)
    with pytest.raises(NativeError, match=f"{path} is not an x86 kernel image .*: give the"):
        KernelImage.open(str(path))
