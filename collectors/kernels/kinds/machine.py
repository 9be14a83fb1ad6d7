"""A machine that runs its kernel already: ``running`` or ``ssh://[user@]host[:port]``."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from profdiff.base.errors import InputError
from profdiff.base.outputs import place_of
from profdiff.collectors.kernels.address import LOCAL, Address, parse_address
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.spec import Spec, absolute_path


@dataclass(frozen=True)
class Machine(Spec):
    """Its debug ELF may be given: ``running,vmlinux=ELF``."""

    address: Address
    debug_elf: str
    prefix: ClassVar[str] = "ssh:"

    @classmethod
    def parse(cls, text: str) -> "Machine | None":
        place, _, debug_elf = text.partition(",vmlinux=")
        address = parse_address(place)
        return cls(text, address, debug_elf) if address else None

    @property
    def name(self) -> str:
        return self.address.host or LOCAL

    def absolute(self) -> Spec:
        if not self.debug_elf:
            return self
        place, separator, _ = self.text.partition(",vmlinux=")
        debug_elf = absolute_path(self.debug_elf)
        return Machine(f"{place}{separator}{debug_elf}", self.address, debug_elf)

    def locate(self, label: str, *, quiet: bool = False) -> KernelFiles:
        debug_elf = place_of(self.debug_elf) if self.debug_elf else None
        if debug_elf and not debug_elf.is_file():
            raise InputError(f"{self}: {debug_elf} is not a file")
        return KernelFiles(label, self.text, debug_elf=debug_elf, machine=self.address)

    @classmethod
    def completions(cls) -> Iterable[str]:
        return (LOCAL,)
