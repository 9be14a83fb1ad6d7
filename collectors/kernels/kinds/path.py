"""What kinds have in common that name a file or folder: ``PLACE`` or ``PLACE,vmlinux=ELF``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from profdiff.base.outputs import place_of
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
        text = _DEBUG_ELF.join(absolute_path(one) for one in parts[::2] if one)
        return replace(self, text=text)
