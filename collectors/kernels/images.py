"""Kernel images that are not ELF files: build ids in one that holds the kernel as it lies in memory
(the kernel's own note, and the notes of its vDSOs), and arm64 images that unpack themselves under
EFI (CONFIG_EFI_ZBOOT). QEMU 7.2 cannot boot these, but what is packed in them is an ordinary image.
"""

import hashlib
import re
import struct
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError

# drivers/firmware/efi/libstub/zboot-header.S: offset and size of what is packed, and how it is.
_HEADER = struct.Struct("<4x4sII8x32s")
_MAX_BYTES = 1 << 30


def bootable(image: Path) -> Path:
    """``image``, or what is packed in it, unpacked into the cache. Raises InputError."""
    try:
        head = bounded.head(image, _HEADER.size)
        if len(head) < _HEADER.size or head[4:8] != b"zimg":
            return image
        data = bounded.read(image, _MAX_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {image}: {error.strerror}") from error
    _, start, size, told = _HEADER.unpack(head)
    how = told.partition(b"\0")[0].decode("ascii", "replace")
    what = f"{image} is an EFI image that unpacks itself (CONFIG_EFI_ZBOOT)"
    if how != "gzip":
        raise InputError(f"{what}, packed with {how!r}: give Image or Image.gz")
    target = cache_folder("images") / f"Image-{hashlib.sha256(data).hexdigest()[:16]}"
    if not target.exists():
        try:
            write_atomic(target, bounded.gunzip(data[start : start + size], _MAX_BYTES))
        except ValueError as error:
            raise InputError(f"{what}: {error}: give Image or Image.gz") from error
    return target


# elf(5): sizes of name and description, NT_GNU_BUILD_ID, "GNU", a SHA-1.
_NOTE = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)


def build_ids(image: Path) -> list[str]:
    """In hexadecimal, in the image's order: the kernel's own is the last, behind its read-only data
    (include/asm-generic/vmlinux.lds.h, RO_DATA). Empty for one without. Raises InputError."""
    try:
        data = bounded.read(image, _MAX_BYTES)
        if data[:2] == b"\x1f\x8b":
            data = bounded.gunzip(data, _MAX_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {image}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"cannot unpack {image}: {error}") from error
    return [match[1].hex() for match in _NOTE.finditer(data)]
