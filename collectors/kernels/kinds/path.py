"""Kinds that name files: a folder with an image and a vmlinux (a kernel's build tree, too), and an
image: ``PLACE`` or ``PLACE,vmlinux=ELF``."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from profdiff.base.errors import InputError
from profdiff.base.outputs import place_of
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.kernels.files import KernelFiles, subfolder
from profdiff.collectors.kernels.git_spec import git_meant
from profdiff.collectors.kernels.images import bootable
from profdiff.collectors.kernels.kinds.spec import Spec, absolute_path
from profdiff.collectors.kernels.label import name_of

_DEBUG_ELF = ",vmlinux="


@dataclass(frozen=True)
class PathSpec(Spec):
    """Which kind it is shows at the place."""

    @property
    def place(self) -> Path:
        """The folder, or the image."""
        # A folder's name may hold = and comma.
        return place_of(self.text.partition(_DEBUG_ELF)[0])

    @property
    def debug_elf(self) -> Path | None:
        """What is named as its vmlinux."""
        named = self.text.partition(_DEBUG_ELF)[2]
        return place_of(named) if named else None

    @property
    def name(self) -> str:
        return name_of(self.text.split(",")[0])

    def absolute(self) -> Self:
        parts = self.text.partition(_DEBUG_ELF)
        text = _DEBUG_ELF.join(absolute_path(part) for part in parts[::2] if part)
        return replace(self, text=text)


_IMAGES = tuple(
    dict.fromkeys(name for architecture in ARCHITECTURES for name in architecture.images)
)
_DEBUG_ELFS = ("vmlinux", "vmlinux.zst", "vmlinux.xz")
_CONFIGS = ("config", ".config")


@dataclass(frozen=True)
class Folder(PathSpec):
    """Its files have the names that the kernel's build gives them."""

    @classmethod
    def parse(cls, text: str) -> "Folder | None":
        found = cls(text)
        return found if found.place.is_dir() and not found.debug_elf else None

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        folder = self.place
        image = _first(folder, _IMAGES)
        if image is None:
            building = f", or git:{self} builds it" if git_meant(self.text) else ""
            raise InputError(
                f"{folder} holds no kernel image ({', '.join(_IMAGES)}): build it (make), or name "
                f"the image file{building}"
            )
        tree = image.parent.name == "boot"
        return KernelFiles(
            label,
            self.text,
            bootable(image),
            debug_elf=_first(folder, _DEBUG_ELFS),
            config=_first(folder, _CONFIGS),
            modules=folder if tree else subfolder(folder, "lib/modules"),
        )


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


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
