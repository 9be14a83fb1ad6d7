"""Debian packages that a user has: ``IMAGE.deb,DEBUG.deb``."""

from dataclasses import dataclass
from pathlib import Path

from profdiff.base.outputs import place_of
from profdiff.collectors.kernels.deb_package import check_packages, unpack_kernel
from profdiff.collectors.kernels.files import KernelFiles, unpacked
from profdiff.collectors.kernels.kinds.spec import Spec, absolute_path


@dataclass(frozen=True)
class Packages(Spec):
    """They are unpacked into the cache, once."""

    @classmethod
    def parse(cls, text: str) -> "Packages | None":
        return cls(text) if all(one.endswith(".deb") for one in text.split(",")) else None

    @property
    def files(self) -> list[Path]:
        """The packages."""
        return [place_of(one) for one in self.text.split(",")]

    @property
    def name(self) -> str:
        return Path(self.text.split(",")[0]).name.removesuffix(".deb").split("_")[0]

    def absolute(self) -> Spec:
        return Packages(",".join(map(absolute_path, self.text.split(","))))

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        return unpacked(label, self.text, unpack_kernel(self.files))

    def check(self, label: str) -> None:
        check_packages(self.files)

    def is_here(self) -> bool:
        return False

    def state(self) -> str:
        gone = [str(package) for package in self.files if not package.is_file()]
        return f"no such file: {', '.join(gone)}" if gone else ""
