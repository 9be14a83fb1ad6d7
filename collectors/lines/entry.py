"""The lines collector: how many distinct lines of memory are accessed in the window, by region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.base.errors import InputError
from profdiff.base.metric import Kind
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.collector import Collector, Options

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.qemu import Qemu
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.kernels.files import KernelFiles

LINES = Kind("distinct lines", "each once in the window", "has", repeatable=True, of_parts=True)
PREFIX = "lines-"
# What the plugin is told of a kernel: addresses of these variables, 0 for one that it has not.
_VARIABLES = (
    "vmemmap_base",
    "page_offset_base",
    "vmalloc_base",
    "pcpu_base_addr",
    "pcpu_unit_size",
    "pcpu_nr_units",
    "kmem_cache",
    "idt_table",
)
_FILE = "lines.txt"


class Lines(Collector):
    """Guests only: what is not emulated shows no accesses."""

    name = "lines"
    kind = LINES
    help = "how many distinct cache lines are accessed, by region of memory"
    how = "distinct lines of 64 bytes that any instruction accessed in the window"
    failures = ("window",)

    def refusal(self, architecture: Architecture | None) -> str | None:
        if architecture is None:
            return "--collector lines boots kernels in guests; it cannot record a machine"
        if architecture.name != X86_64.name:
            return f"--collector lines does not know the regions of {architecture.told}"
        return None

    def refuse(self, kernels: Sequence[KernelFiles], options: Options, qemu: Qemu | None) -> None:
        for kernel in kernels:
            _variables(kernel)

    def emulator(self, architecture: Architecture, program: Path | None) -> Qemu:
        from profdiff.collectors.guest.plugin import with_plugin

        return with_plugin(architecture, program, "lines=0:0:0:0:0:0:0:0")

    def qemu_arguments(
        self,
        qemu: Qemu,
        options: Options,
        folder: Path,
        repetition: int = 1,
        kernel: KernelFiles | None = None,
    ) -> list[str]:
        from profdiff.collectors.guest.plugin import arguments

        told = told_variables(_variables(kernel) if kernel else {})
        return arguments(qemu, folder / _FILE, f"lines={told}")

    def judge(self, left: Left) -> Result:
        """Raises OSError and MissingError when the disk is full."""
        from profdiff.collectors.guest.plugin import recorded
        from profdiff.collectors.lines.counts import OUTSIDE, LineCounts
        from profdiff.collectors.records import Measured

        result = super().judge(left)
        if left.failure:
            return result
        counts, result = recorded(result, left, "lines", _FILE, LineCounts.load)
        result = replace(result, files={**left.files, self.name: _FILE})
        if result.failure:
            return result
        measured = [
            Measured(PREFIX + region, "lines", "lower", False, [float(lines)])
            for region, lines in counts.lines.items()
            if region != OUTSIDE
        ]
        return replace(result, measured=measured)


def _variables(kernel: KernelFiles) -> Mapping[str, int]:
    """The addresses of those that a kernel has. Raises InputError."""
    if kernel.debug_elf is None:
        raise InputError(
            f"--collector lines: {kernel.label} has no debug ELF: name IMAGE,vmlinux=ELF"
        )
    return variable_addresses(kernel.debug_elf)


def told_variables(known: Mapping[str, int]) -> str:
    """What the plugin is told of the addresses of a kernel's variables."""
    return ":".join(f"{known.get(name, 0):x}" for name in _VARIABLES)


@cache  # each run asks
def variable_addresses(debug_elf: Path) -> Mapping[str, int]:
    """The addresses of the variables that the plugin needs and a kernel has. Raises InputError."""
    from profdiff.symbolization._native import NativeError, elf_data

    try:
        variables, _ = elf_data(str(debug_elf))
    except NativeError as error:
        raise InputError(str(error)) from error
    return {name: address for name, address, _ in variables if name in _VARIABLES}
