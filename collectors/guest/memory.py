"""Whether a guest's memory can be enough, and whether this machine has as much: what is known to
fail is refused before a guest runs."""

from collections.abc import Iterable
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import image_head, of_head
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.workload.files import GuestFile

_MIB = 1 << 20


def refuse(memory: int, kernels: Iterable[KernelFiles], files: Iterable[GuestFile]) -> None:
    """Raise InputError if guests of ``memory`` MiB cannot boot ``kernels`` with ``files``, or this
    machine cannot give as much."""
    if (most := of_this_machine()) is not None and memory * _MIB > most:
        raise InputError(
            f"--memory {memory}M: this machine has {most // _MIB:,} MiB of memory and swap: give "
            "guests less"
        )
    # The root file system is in memory, and what it was unpacked from at first too.
    unpacked = sum(file.source.stat().st_size for file in files)
    for kernel in kernels:
        least = unpacked + (of_image(kernel.image) if kernel.image else 0)
        if least > memory * _MIB:
            raise InputError(
                f"--memory {memory}M: {kernel.label} and the files of the workload take at least "
                f"{-(-least // _MIB):,} MiB while it boots: raise --memory"
            )


def of_image(image: Path) -> int:
    """The least that a kernel can boot in: up to its unpacked end; 0 if the image does not say.
    Raises InputError."""
    head = image_head(image)
    return of_head(head).image_memory(head)


def of_this_machine() -> int | None:
    """Memory and swap in bytes: without overcommit_memory=1 the kernel gives a process no more
    (Documentation/mm/overcommit-accounting.rst). None where anything is given."""
    try:
        if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1":
            return None
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    known = {line.split()[0]: int(line.split()[1]) << 10 for line in lines if len(line.split()) > 1}
    return known.get("MemTotal:", 0) + known.get("SwapTotal:", 0) or None
