"""Kernels in Debian packages: of the archive, ``debian:SUITE`` or ``debian:VERSION``, or those that
a user has, ``IMAGE.deb,DEBUG.deb``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.outputs import place_of
from profdiff.base.terminal import tell
from profdiff.collectors.architecture import ARCHITECTURES, Architecture
from profdiff.collectors.kernels.deb_package import check_packages, unpack_kernel
from profdiff.collectors.kernels.debian import SUITES, fetch, parse
from profdiff.collectors.kernels.files import KernelFiles, unpacked
from profdiff.collectors.kernels.kinds.spec import Spec, absolute_path


@dataclass(frozen=True)
class Debian(Spec):
    """It is looked up in the archive each time, so a suite may have a newer kernel tomorrow."""

    prefix: ClassVar[str] = "debian:"

    @classmethod
    def parse(cls, text: str) -> "Debian | None":
        return cls(text) if text.startswith(cls.prefix) else None

    @property
    def name(self) -> str:
        return self.text.removeprefix(self.prefix).split(",")[0]

    def for_each(self, architectures: Sequence[Architecture]) -> list[Spec]:
        flavour = self.text.partition("/")[2].split("-")
        if "," in self.text or any(
            architecture.debian in flavour for architecture in ARCHITECTURES
        ):
            return [self]
        return [Debian(f"{self.text},arch={architecture.arch}") for architecture in architectures]

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        return unpacked(label, self.text, fetch(self.text))

    def check(self, label: str) -> None:
        suite, _, _ = parse(self.text)
        if suite[0].isdigit() or suite in SUITES:
            return
        meant = did_you_mean(suite, SUITES)
        # A suite of a known release (trixie-updates) may exist.
        if meant and suite.partition("-")[0] not in SUITES:
            raise InputError(f"{self}: there is no such suite: {meant}")
        meant = meant or f"known are {', '.join(SUITES)}"
        tell(f"{suite} is looked up when it is recorded: {meant}")

    def is_here(self) -> bool:
        return False

    def state(self) -> str:
        return ""

    @classmethod
    def completions(cls) -> Iterable[str]:
        return [f"{cls.prefix}{suite}" for suite in SUITES]


@dataclass(frozen=True)
class Packages(Spec):
    """They are unpacked into the cache, once."""

    @classmethod
    def parse(cls, text: str) -> "Packages | None":
        return cls(text) if all(word.endswith(".deb") for word in text.split(",")) else None

    @property
    def files(self) -> list[Path]:
        """The packages."""
        return [place_of(word) for word in self.text.split(",")]

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
