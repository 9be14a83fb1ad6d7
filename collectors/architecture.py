"""Architectures of kernels: what they are called, and what guests of them need. One entry each."""

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError

# How much of a kernel image is read to know it.
_HEAD = 0x264


@dataclass(frozen=True)
class Architecture:
    """``name`` is the kernel's and QEMU's (``uname -m``); ``arch`` is its ``ARCH=``, what people
    type and tables show; ``told`` is for sentences; ``elf``, ``debian`` and ``triplet`` are what
    ELF, dpkg and compilers say; ``ldconfig`` is what ldconfig(8) prints behind a library of it,
    and ``loader_flags`` how ld.so's cache marks one; ``qemu_package`` is the Debian package with
    its emulator.

    A guest has QEMU's ``machine`` (``large_machine`` with more than 8 vCPUs), the processor ``cpu``
    if nobody asks for another, and ``features`` (no random numbers) beside any; its console is at
    ``console``, and profdiff's channel at ``channel``, which ``channel_device`` makes.

    ``images``: names of kernel images, also below a build tree. ``magic``: at which offset of an
    image what stands; None: anything. ``image_is_elf``: packed, so that KernelImage reads it.
    ``image_memory``: of an image's header, the memory in bytes that the kernel needs before it
    looks for any; 0 if it does not say.
    ``marks``: the instructions that profdiff.h emits, as bytes of a program.
    """

    name: str
    arch: str
    told: str
    elf: str
    debian: str
    triplet: str
    ldconfig: str
    loader_flags: int
    qemu_package: str
    machine: str
    large_machine: str
    cpu: str
    features: tuple[str, ...]
    console: str
    channel: str
    channel_device: tuple[str, ...]
    images: tuple[str, ...]
    magic: tuple[int, bytes] | None
    image_is_elf: bool
    image_memory: Callable[[bytes], int]
    marks: tuple[bytes, ...]

    @property
    def emulator(self) -> str:
        """QEMU's program."""
        return f"qemu-system-{self.name}"

    @property
    def is_host(self) -> bool:
        """Whether this machine's programs run there."""
        return self.name == os.uname().machine

    def machine_of(self, cpus: int) -> str:
        """QEMU's machine for guests of so many vCPUs."""
        return self.machine if cpus <= 8 else self.large_machine

    @property
    def compiler(self) -> str:
        """The C compiler that makes programs for it."""
        return "cc" if self.is_host else f"{self.triplet}-gcc"

    @property
    def cxx_compiler(self) -> str:
        """The C++ compiler that makes programs for it."""
        return "c++" if self.is_host else f"{self.triplet}-g++"

    @property
    def packages(self) -> dict[str, str]:
        """Debian's packages of its emulator and its compilers, by program."""
        triplet = self.triplet.replace("_", "-")
        return {
            self.emulator: self.qemu_package,
            f"{self.triplet}-gcc": f"gcc-{triplet} libc6-dev-{self.debian}-cross",
            f"{self.triplet}-g++": f"g++-{triplet}",
        }


def _bzimage_memory(head: bytes) -> int:
    """Documentation/arch/x86/boot.rst: HdrS at 0x202, from version 0x20a on pref_address at 0x258
    and init_size at 0x260."""
    if len(head) < _HEAD or head[0x202:0x206] != b"HdrS":
        return 0
    (version,) = struct.unpack_from("<H", head, 0x206)
    address, size = struct.unpack_from("<QI", head, 0x258)
    return int(address) + int(size) if version >= 0x020A and address < 1 << 32 else 0


def _arm64_memory(head: bytes) -> int:
    """Documentation/arch/arm64/booting.rst: text_offset and image_size. QEMU puts a kernel without
    an offset 2 MiB into memory (hw/arm/boot.c)."""
    if len(head) < _HEAD:
        return 0
    offset, size = struct.unpack_from("<QQ", head, 8)
    return int(size) + (int(offset) or 2 << 20) if size < 1 << 32 and offset < 1 << 32 else 0


X86_64 = Architecture(
    name="x86_64",
    arch="x86_64",
    told="x86-64",
    elf="EM_X86_64",
    debian="amd64",
    triplet="x86_64-linux-gnu",
    ldconfig="x86-64",
    loader_flags=0x0303,
    qemu_package="qemu-system-x86",
    machine="q35",
    large_machine="q35",
    cpu="max",
    features=("-rdrand", "-rdseed"),
    console="ttyS0",
    channel="/dev/ttyS1",
    channel_device=("-serial", "chardev:channel"),
    images=("bzImage", "vmlinuz", "arch/x86/boot/bzImage"),
    magic=None,
    image_is_elf=True,
    image_memory=_bzimage_memory,
    marks=(b"\x0f\x1f\x80\x01IDP", b"\x0f\x1f\x80\x02IDP"),
)
ARM64 = Architecture(
    name="aarch64",
    arch="arm64",
    told="arm64",
    elf="EM_AARCH64",
    debian="arm64",
    triplet="aarch64-linux-gnu",
    ldconfig="AArch64",
    loader_flags=0x0A03,
    qemu_package="qemu-system-arm",
    machine="virt",
    # The older interrupt controller is for 8. Newer QEMUs do so by themselves.
    large_machine="virt,gic-version=3",
    # Arm's default algorithm of pointer authentication takes most of the time.
    cpu="max,pauth-impdef=on",
    features=(),
    console="ttyAMA0",
    channel="/dev/ttyS0",
    channel_device=("-device", "pci-serial,chardev=channel"),
    images=tuple(
        f"{folder}{name}"
        for folder in ("", "arch/arm64/boot/")
        for name in ("Image", "Image.gz", "vmlinuz.efi")
    ),
    # Documentation/arch/arm64/booting.rst
    magic=(56, b"ARMd"),
    image_is_elf=False,
    image_memory=_arm64_memory,
    marks=(b"\x3f\x20\xe9\xd2", b"\x5f\x20\xe9\xd2"),
)
# The first is the one of Debian's kernels where none is named, and of images without a magic.
ARCHITECTURES = (X86_64, ARM64)


def host() -> Architecture:
    """This machine's, or the first where profdiff does not know it."""
    return next((one for one in ARCHITECTURES if one.is_host), ARCHITECTURES[0])


def named(name: str) -> Architecture | None:
    """The one that anybody calls ``name``."""
    for one in ARCHITECTURES:
        if name in (one.name, one.arch, one.told, one.elf, one.debian):
            return one
    return None


def told_elf(machine: str) -> str:
    """What ELF calls ``machine``, for sentences."""
    known = named(machine)
    return known.told if known else machine.removeprefix("EM_")


def of_image(image: Path) -> Architecture:
    """Of a kernel image, plain or gzip, by its magic number. Raises InputError."""
    return of_head(image_head(image))


def of_head(head: bytes) -> Architecture:
    """Of a kernel image's ``image_head``."""
    for one in ARCHITECTURES:
        if one.magic and head[one.magic[0] :].startswith(one.magic[1]):
            return one
    return next(one for one in ARCHITECTURES if one.magic is None)


def image_head(image: Path) -> bytes:
    """The first bytes of a kernel image, plain or gzip: its header. Raises InputError."""
    import gzip
    import zlib

    try:
        with image.open("rb") as file:
            head = file.read(_HEAD)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(image) as packed:
                head = packed.read(_HEAD)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {image}: {error}") from error
    return head
