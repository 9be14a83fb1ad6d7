"""Architectures of kernels: what they are called, and what guests of them need. Each has one file
with one entry, and a place in ``ARCHITECTURES``.

What an option says of one architecture, ``[ARCH=]VALUE``: paths and models that differ.
"""

from collections.abc import Sequence
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture.arm64 import ARM64
from profdiff.collectors.architecture.entry import HEAD, Architecture
from profdiff.collectors.architecture.riscv64 import RISCV64
from profdiff.collectors.architecture.x86_64 import X86_64

__all__ = ["ARCHITECTURES", "ARM64", "RISCV64", "X86_64", "Architecture", "host", "named"]
# The first is the one of Debian's kernels where none is named, and of images without a magic.
ARCHITECTURES = (X86_64, ARM64, RISCV64)


def host() -> Architecture:
    """This machine's, or the first where profdiff does not know it."""
    return next(
        (architecture for architecture in ARCHITECTURES if architecture.is_host), ARCHITECTURES[0]
    )


def named(name: str) -> Architecture | None:
    """The one that anybody calls ``name``."""
    return next(
        (architecture for architecture in ARCHITECTURES if architecture.named_by(name)), None
    )


def told_elf(machine: str) -> str:
    """What ELF calls ``machine``, for sentences."""
    known = named(machine)
    return known.told if known else machine.removeprefix("EM_")


def of_image(image: Path) -> Architecture:
    """The architecture of a kernel image, plain or gzip, by its magic number. Raises InputError."""
    return of_head(image_head(image))


def of_head(head: bytes) -> Architecture:
    """The architecture of a kernel image with this ``image_head``."""
    for architecture in ARCHITECTURES:
        if architecture.magic and head[architecture.magic[0] :].startswith(architecture.magic[1]):
            return architecture
    return next(architecture for architecture in ARCHITECTURES if architecture.magic is None)


def image_head(image: Path) -> bytes:
    """The first bytes of a kernel image, plain or gzip: its header. Raises InputError."""
    import gzip
    import zlib

    try:
        with image.open("rb") as file:
            head = file.read(HEAD)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(image) as packed:
                head = packed.read(HEAD)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {image}: {error}") from error
    return head


def value_for(option: str, texts: Sequence[str], architecture: Architecture) -> str | None:
    """The value of ``option`` for an architecture: the one that names it, or else the one that
    names none; None where it has neither. Raises InputError when it is given twice, or empty."""
    own: dict[Architecture | None, str] = {}
    for text in texts:
        one, value = _split(text)
        if not value:
            raise InputError(f"{option} {text}: no value is given")
        if one in own:
            known = f" for {one.arch}" if one else ""
            raise InputError(f"{option} is given twice{known}: {own[one]} and {value}")
        own[one] = value
    return own.get(architecture, own.get(None))


def unnamed(texts: Sequence[str]) -> list[str]:
    """Those of ``texts`` that name no architecture."""
    return [text for text in texts if _split(text)[0] is None]


def _split(text: str) -> tuple[Architecture | None, str]:
    before, equals, after = text.partition("=")
    one = named(before) if equals else None
    return (one, after) if one else (None, text)
