"""arm64 images that unpack themselves under EFI, made as zboot-header.S lays them out."""

import gzip
import struct
from pathlib import Path

import pytest

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARM64, of_image
from profdiff.collectors.kernels.images import bootable
from profdiff.collectors.kernels.kinds.registry import parse

IMAGE = bytes(56) + b"ARMd" + bytes(8000)


def zboot(payload: bytes, how: bytes = b"gzip", size: int | None = None) -> bytes:
    """As drivers/firmware/efi/libstub/zboot-header.S does: 4 bytes behind the payload are its
    unpacked size."""
    size = len(payload) if size is None else size
    head = b"MZ\0\0zimg" + struct.pack("<II8x", 512, size) + how.ljust(32, b"\0")
    return head.ljust(512, b"\0") + payload + struct.pack("<I", len(IMAGE))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))


def test_what_is_packed_in_it_boots(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    (folder / "arch/arm64/boot").mkdir(parents=True)
    efi = folder / "arch/arm64/boot/vmlinuz.efi"
    efi.write_bytes(zboot(gzip.compress(IMAGE)))
    found = parse(str(folder)).locate("k")
    assert found.image
    assert found.image.read_bytes() == IMAGE
    assert of_image(found.image) is ARM64
    # Once.
    changed = found.image.stat().st_mtime_ns
    again = parse(str(efi)).locate("k").image
    assert again == found.image
    assert again.stat().st_mtime_ns == changed


def test_other_images_stay(tmp_path: Path) -> None:
    for data in (IMAGE, gzip.compress(IMAGE), b"", b"zimg"):
        path = tmp_path / "Image"
        path.write_bytes(data)
        assert bootable(path) is path


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zboot(IMAGE, how=b"zstd"), "packed with 'zstd': give Image"),
        (zboot(gzip.compress(IMAGE), size=40), "it is damaged"),
        (zboot(b""), "it is damaged"),
        (zboot(b"\x1f\x8bnothing"), "it is damaged"),
        (zboot(gzip.compress(IMAGE))[:64], "it is damaged"),
        (zboot(gzip.compress(IMAGE), how=b"\xff" * 32), "packed with"),
    ],
)
def test_what_cannot_be_unpacked(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "vmlinuz.efi"
    path.write_bytes(data)
    with pytest.raises(InputError, match=why) as error:
        bootable(path)
    assert "\n" not in str(error.value)
