"""Architectures of kernels: what they are called, and what guests of them need. One entry each."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError


@dataclass(frozen=True)
class Architecture:
    """``name`` is the kernel's and QEMU's (``uname -m``); ``arch`` is its ``ARCH=``, what people
    type and tables show; ``told`` is for sentences; ``elf``, ``debian`` and ``triplet`` are what
    ELF, dpkg and compilers say; ``ldconfig`` is what ldconfig(8) prints behind a library of it;
    ``qemu_package`` is the Debian package with its emulator.

    A guest has QEMU's ``machine`` with the model ``cpu`` if nobody asks for another, and with
    ``features`` (no random numbers) beside any model; its console at ``console``, and profdiff's
    channel at ``channel``, which ``channel_device`` makes.

    ``images``: names of kernel images, also below a build tree. ``magic``: at which offset of an
    image what stands; None: anything. ``image_has_build_id``: KernelImage finds it there.
    ``marks``: the instructions that profdiff.h emits, as bytes of a program.
    """

    name: str
    arch: str
    told: str
    elf: str
    debian: str
    triplet: str
    ldconfig: str
    qemu_package: str
    machine: str
    cpu: str
    features: tuple[str, ...]
    console: str
    channel: str
    channel_device: tuple[str, ...]
    images: tuple[str, ...]
    magic: tuple[int, bytes] | None
    image_has_build_id: bool
    marks: tuple[bytes, ...]

    @property
    def emulator(self) -> str:
        """QEMU's program."""
        return f"qemu-system-{self.name}"

    @property
    def is_host(self) -> bool:
        """Whether this machine's programs run there."""
        return self.name == os.uname().machine

    @property
    def compiler(self) -> str:
        """The C compiler that makes programs for it."""
        return "cc" if self.is_host else f"{self.triplet}-gcc"

    @property
    def packages(self) -> dict[str, str]:
        """Debian's packages of its emulator and its compiler, by program."""
        cross = f"gcc-{self.triplet.replace('_', '-')} libc6-dev-{self.debian}-cross"
        return {self.emulator: self.qemu_package, f"{self.triplet}-gcc": cross}


X86_64 = Architecture(
    name="x86_64",
    arch="x86_64",
    told="x86-64",
    elf="EM_X86_64",
    debian="amd64",
    triplet="x86_64-linux-gnu",
    ldconfig="x86-64",
    qemu_package="qemu-system-x86",
    machine="q35",
    cpu="max",
    features=("-rdrand", "-rdseed"),
    console="ttyS0",
    channel="/dev/ttyS1",
    channel_device=("-serial", "chardev:channel"),
    images=("bzImage", "vmlinuz", "arch/x86/boot/bzImage"),
    magic=None,
    image_has_build_id=True,
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
    qemu_package="qemu-system-arm",
    machine="virt",
    # Arm's default algorithm of pointer authentication takes most of the time.
    cpu="max,pauth-impdef=on",
    features=(),
    console="ttyAMA0",
    channel="/dev/ttyS0",
    channel_device=("-device", "pci-serial,chardev=channel"),
    images=("Image", "Image.gz", "arch/arm64/boot/Image"),
    # Documentation/arch/arm64/booting.rst
    magic=(56, b"ARMd"),
    image_has_build_id=False,
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


def chosen(values: Sequence[str], architecture: Architecture) -> str | None:
    """Of an option's values, each ``[ARCH=]VALUE``, the last that is for an architecture; one
    without ARCH is for all that have none of their own."""
    plain, own = None, None
    for value in values:
        arch, _, rest = value.partition("=")
        if arch == architecture.arch:
            own = rest
        elif all(arch != one.arch for one in ARCHITECTURES):
            plain = value
    return plain if own is None else own


def of_image(image: Path) -> Architecture:
    """Of a kernel image, plain or gzip, by its magic number.

    Raises InputError for an image that QEMU cannot boot.
    """
    import gzip
    import zlib

    try:
        with image.open("rb") as file:
            head = file.read(64)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(image) as packed:
                head = packed.read(64)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {image}: {error}") from error
    if head[4:8] == b"zimg":
        raise InputError(
            f"{image} is an EFI image that unpacks itself (CONFIG_EFI_ZBOOT): give Image or "
            "Image.gz"
        )
    for one in ARCHITECTURES:
        if one.magic and head[one.magic[0] :].startswith(one.magic[1]):
            return one
    return next(one for one in ARCHITECTURES if one.magic is None)
