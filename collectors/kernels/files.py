"""The files of one kernel, found; or the machine on which it runs already."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.address import Address


@dataclass(frozen=True)
class KernelFiles:
    """What a spec led to: an ``image`` to boot, or a ``machine`` that runs it. ``modules`` is a
    folder that holds ``.ko`` files, at any depth; ``debug_elf`` may be compressed whole (``.zst``,
    ``.xz``)."""

    label: str
    spec: str
    image: Path | None = None
    debug_elf: Path | None = None
    config: Path | None = None
    modules: Path | None = None
    machine: Address | None = None

    def module_files(self) -> dict[str, Path]:
        """Module files by the module's name."""
        found: dict[str, Path] = {}
        for path in sorted(self.modules.rglob("*.ko*")) if self.modules else []:
            # The kernel writes '-' as '_' in a module's name (scripts/Makefile.lib).
            found.setdefault(path.name.split(".ko")[0].replace("-", "_"), path)
        return found


def image_architecture(image: Path) -> str:
    """``x86_64`` or ``aarch64``: an arm64 Image, plain or gzip, has a magic number of its own
    (Documentation/arch/arm64/booting.rst). Anything else is taken for an x86 image.

    Raises InputError for an image that QEMU cannot boot.
    """
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
    return "aarch64" if head[56:60] == b"ARMd" else "x86_64"
