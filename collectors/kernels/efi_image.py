"""arm64 images that unpack themselves under EFI (CONFIG_EFI_ZBOOT): QEMU 7.2 cannot boot them, but
what is packed in them is an ordinary image."""

import hashlib
import struct
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError

# drivers/firmware/efi/libstub/zboot-header.S: offset and size of what is packed, and how it is.
_HEADER = struct.Struct("<4x4sII8x32s")
_LARGEST = 1 << 30


def bootable(image: Path) -> Path:
    """``image``, or what is packed in it, unpacked into the cache. Raises InputError."""
    try:
        head = bounded.head(image, _HEADER.size)
        if len(head) < _HEADER.size or head[4:8] != b"zimg":
            return image
        data = bounded.read(image, _LARGEST)
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
            write_atomic(target, bounded.gunzip(data[start : start + size], _LARGEST))
        except ValueError as error:
            raise InputError(f"{what}: {error}: give Image or Image.gz") from error
    return target
