"""Build ids in an image that is not an ELF file and holds the kernel as it lies in memory: the
kernel's own note, and the notes of its vDSOs."""

import re
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.errors import InputError

# elf(5): sizes of name and description, NT_GNU_BUILD_ID, "GNU", a SHA-1.
_NOTE = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)
_LARGEST = 1 << 30


def build_ids(image: Path) -> list[str]:
    """In hexadecimal, in the image's order: the kernel's own is the last, behind its read-only data
    (include/asm-generic/vmlinux.lds.h, RO_DATA). Empty for one without. Raises InputError."""
    try:
        data = bounded.read(image, _LARGEST)
        if data[:2] == b"\x1f\x8b":
            data = bounded.gunzip(data, _LARGEST)
    except OSError as error:
        raise InputError(f"cannot read {image}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"cannot unpack {image}: {error}") from error
    return [match[1].hex() for match in _NOTE.finditer(data)]
