"""A folder with an image and a vmlinux, a kernel's build tree too."""

from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.kernels.efi_image import bootable
from profdiff.collectors.kernels.files import KernelFiles, subfolder
from profdiff.collectors.kernels.git_spec import git_meant
from profdiff.collectors.kernels.kinds.path import PathSpec

_IMAGES = tuple(dict.fromkeys(name for one in ARCHITECTURES for name in one.images))
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
