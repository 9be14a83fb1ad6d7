"""How much memory a guest needs, and can have."""

import gzip
import struct
from pathlib import Path

import pytest
from support import need_kernel

from profdiff.base.errors import InputError
from profdiff.collectors.guest import boot
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.workload.files import GuestFile


def image(
    folder: Path, *, version: int = 0x20F, address: int = 16 << 20, size: int = 56 << 20
) -> Path:
    """A header as Documentation/arch/x86/boot.rst has it."""
    data = bytearray(0x300)
    data[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", data, 0x206, version)
    struct.pack_into("<QI", data, 0x258, address, size)
    path = folder / "bzImage"
    path.write_bytes(data)
    return path


def test_a_kernel_says_how_much_it_needs(tmp_path: Path) -> None:
    assert boot.of_image(image(tmp_path)) == 72 << 20
    # Before version 2.10 there was no init_size.
    assert boot.of_image(image(tmp_path, version=0x209)) == 0
    for data in (b"", b"x" * 4096):
        (tmp_path / "other").write_bytes(data)
        assert boot.of_image(tmp_path / "other") == 0


def test_an_arm64_kernel_says_it_too(tmp_path: Path) -> None:
    """Up to the end of its image, 2 MiB into memory where it asks for no other offset; packed or
    not."""
    head = bytearray(4096)
    struct.pack_into("<QQ", head, 8, 0, 41 << 20)
    head[56:60] = b"ARMd"
    plain, packed = tmp_path / "Image", tmp_path / "Image.gz"
    plain.write_bytes(head)
    packed.write_bytes(gzip.compress(head))
    assert boot.of_image(plain) == boot.of_image(packed) == 43 << 20
    struct.pack_into("<QQ", head, 8, 0x80000, 41 << 20)
    plain.write_bytes(head)
    assert boot.of_image(plain) == (41 << 20) + 0x80000
    plain.write_bytes(head[:600])
    assert boot.of_image(plain) == 0


@pytest.mark.kernel
def test_what_a_real_kernel_says() -> None:
    """Its load address is 16 MiB, and tinyconfig with little more takes less than 64."""
    assert 16 << 20 < boot.of_image(need_kernel("v6.18.15") / "bzImage") < 64 << 20


def test_what_cannot_boot_is_refused(tmp_path: Path) -> None:
    kernel = KernelFiles("k", "k", image(tmp_path))
    data = tmp_path / "data"
    with data.open("wb") as file:
        file.truncate(30 << 20)
    files = [GuestFile(data, "/work/data", executable=False, is_code=False)]
    boot.refuse(72, [kernel], [])
    boot.refuse(102, [kernel], files)
    with pytest.raises(
        InputError, match=r"--memory 64M: k and .* at least 72 MiB .*raise --memory"
    ):
        boot.refuse(64, [kernel], [])
    with pytest.raises(InputError, match=r"at least 102 MiB"):
        boot.refuse(101, [kernel], files)


def test_more_than_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "of_this_machine", lambda: 4 << 30)
    boot.refuse(4096, [], [])
    with pytest.raises(InputError, match=r"--memory 5120M: this machine has 4,096 MiB"):
        boot.refuse(5120, [], [])


def test_this_machine_is_what_the_kernel_says() -> None:
    """free(1) would say the same: /proc/meminfo counts kB."""
    told = dict(line.split()[:2] for line in Path("/proc/meminfo").read_text().splitlines())
    most = boot.of_this_machine()
    if most is not None:
        assert most == (int(told["MemTotal:"]) + int(told["SwapTotal:"])) * 1024
