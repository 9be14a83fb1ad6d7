"""What a kernel's SPEC is, whatever its kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.outputs import place_of
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.label import name_of
from profdiff.symbolization.type_layout import is_symbol_file

NO_DEBUG_ELF = "no debug ELF: inlined functions are not visible"


@dataclass(frozen=True)
class Spec(ABC):
    """A kernel as a user names it. ``text``: what the user wrote, or what means the same; it stands
    in messages, and ``parse`` reads it again."""

    text: str
    #: What every text of this kind begins with; "" where only the files tell.
    prefix: ClassVar[str] = ""
    #: Whether a folder follows the prefix.
    of_folder: ClassVar[bool] = False
    #: Whether it is built from source: then it is located last, because that takes minutes.
    is_built: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.text

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self | None:
        """None where ``text`` is of another kind. Raises InputError where it is malformed."""

    @abstractmethod
    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        """The files, fetched, unpacked or built into the cache if need be. Raises InputError where
        the SPEC leads nowhere, MissingError where this machine lacks what that takes."""

    @property
    def name(self) -> str:
        """What a label is made of."""
        return name_of(self.text)

    def absolute(self) -> "Spec":
        """The same from any folder."""
        return self

    @classmethod
    def beside(cls, text: str, folder: Path) -> str:
        """``text``, written in a file in ``folder``, as it is seen from the current folder."""
        return text

    def for_each(self, architectures: Sequence[Architecture]) -> "list[Spec]":
        """The kernel for each architecture, or the SPEC alone where it names the kernel of one."""
        return [self]

    def prepare(self) -> None:  # noqa: B027
        """Find a mistake before anything is built. Raises what ``locate`` does."""

    def check(self, label: str) -> KernelFiles | None:
        """Find a mistake as far as it shows without a network, and without unpacking or building.
        Returns the files where nothing of that is needed. Raises what ``locate`` does."""
        return self.locate(label)

    def is_here(self) -> bool | None:
        """Whether ``locate`` takes no network, and unpacks and builds nothing; None where it takes
        one of them to tell."""
        return True

    def symbol_file(self, label: str) -> Path | None:
        """The SPEC itself where it is a file that may have symbols or types, else the kernel's
        debug ELF. Raises what ``locate`` does."""
        itself = place_of(self.text)
        return itself if is_symbol_file(itself) else self.locate(label).debug_elf

    def elf(self, label: str) -> Path:
        """The same. Raises InputError where there is none."""
        found = self.symbol_file(label)
        if found is None:
            raise InputError(f"{self} is not an ELF file and has no debug ELF: give its vmlinux")
        return found

    def state(self) -> str:
        """What is wrong with a registered SPEC, as far as it shows without a network, and without
        unpacking or building; "" for nothing."""
        try:
            files = self.locate("")
        except ProfdiffError as error:
            return str(error)
        return "" if files.debug_elf or files.machine else NO_DEBUG_ELF

    @classmethod
    def completions(cls) -> Iterable[str]:
        """Whole SPECs of this kind for a shell to complete."""
        return (cls.prefix,) if cls.prefix else ()


def absolute_path(path: str) -> str:
    """``path`` from any folder."""
    return str(place_of(path).absolute())
