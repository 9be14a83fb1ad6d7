"""A kernel's image, with its vmlinux or without: ``IMAGE,vmlinux=ELF``."""

import re
from dataclasses import dataclass

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.efi_image import bootable
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.path import PathSpec


@dataclass(frozen=True)
class Image(PathSpec):
    """Its config may lie beside it, as in ``/boot``."""

    @classmethod
    def parse(cls, text: str) -> "Image | None":
        found = cls(text)
        return found if found.place.is_file() else None

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        image, debug_elf = self.place, self.debug_elf
        if debug_elf and not debug_elf.is_file():
            raise InputError(f"{self}: {debug_elf} is not a file")
        release = re.sub(r"^(vmlinuz|bzImage|Image)-?", "", image.name)
        config = image.with_name(f"config-{release}")
        return KernelFiles(
            label,
            self.text,
            bootable(image),
            debug_elf,
            config=config if release and config.is_file() else None,
        )
