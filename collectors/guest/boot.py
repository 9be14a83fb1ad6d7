"""A guest that is to be booted: its kernel, its machine, and how its boot differs from another.

Whether a guest's memory can be enough, and whether this machine has as much: what is known to
fail is refused before a guest runs.

Varied states: what a workload finds otherwise than in the plain one, though it should not matter
to it. ``state.c`` makes them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import image_head, of_head
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.workload.files import GuestFile

# What each of the first states is drawn from, so that few are unlike each other: of mappings, a
# node of the kernel's tree of them has 10 or 16; of open files, a table grows behind the 64th,
# which is the 44th of ours.
_MAPPINGS = ((0, 8), (8, 16), (16, 24), (24, 32))
_FILES = ((0, 16), (16, 44), (44, 76), (76, 108))


@dataclass(frozen=True)
class VariedState:
    """How many of what there are beside those of the plain state. ``mappings`` of the workload's
    process, ``apart`` of them in other parts of its addresses; open ``files``; bytes of
    ``environment``; ``processes`` that ended before, ``held`` objects of the kernel and ``freed``
    ones; ``pages`` of memory that are free again."""

    mappings: int
    apart: int
    files: int
    environment: int
    processes: int
    held: int
    freed: int
    pages: int

    @staticmethod
    def drawn(seed: int, number: int) -> "VariedState":
        """State ``number``, from 1, of a recording's ``seed``: the same for all that it records."""
        parts = Random(f"{seed}")  # noqa: S311
        mappings, files = (
            parts.sample(one, len(one))[(number - 1) % len(one)] for one in (_MAPPINGS, _FILES)
        )
        random = Random(f"{seed}:state {number}")  # noqa: S311
        return VariedState(
            mappings=random.randrange(*mappings),
            apart=random.randrange(4),
            files=random.randrange(*files),
            environment=random.randrange(4096),
            processes=random.randrange(128),
            held=random.randrange(40),
            freed=random.randrange(60),
            pages=random.randrange(512),
        )

    def content(self) -> bytes:
        """The file that tells the agent."""
        return "".join(f"{name} {value}\n" for name, value in asdict(self).items()).encode()


# Reproducible: no address space randomisation, and a panic ends the guest at once. All else is what
# the kernel does by itself.
BASE_APPEND = "nokaslr norandmaps panic=-1"


@dataclass(frozen=True)
class Variation:
    """``seed`` of the guest's random numbers; ``settle``: guest seconds between boot and workload,
    None for those of the recording. ``state``: a varied one, None for the plain one."""

    seed: int = 1
    settle: float | None = None
    state: VariedState | None = None

    @staticmethod
    def drawn(seed: int, label: str, repetition: int, settle: float) -> "Variation":
        """The one of a kernel's repetition: boots are independent, as tests of them assume; what
        the base and its twin shared would be no noise."""
        return Variation._drawn(f"{seed}:{label}:{repetition}", settle)

    @staticmethod
    def of_state(seed: int, number: int, settle: float) -> "Variation":
        """The one of varied state ``number``: the same for all kernels, which are compared in
        it."""
        varied = Variation._drawn(f"{seed}:varied state {number}", settle)
        return replace(varied, state=VariedState.drawn(seed, number))

    @staticmethod
    def _drawn(seed: str, settle: float) -> "Variation":
        random = Random(seed)  # noqa: S311
        # Less than a jiffy (10 ms at CONFIG_HZ=100) and more: ticks fall elsewhere.
        return Variation(random.randrange(1, 2**31), round(settle + random.uniform(0, 0.1), 6))

    def files(self) -> dict[str, bytes]:
        """What lies beside the agent because of it, by name."""
        return {"varied-state": self.state.content()} if self.state else {}

    def words(self, arguments: str) -> str:
        """Kernel arguments with what this boot is given; a varied one has user space randomised."""
        if self.settle is None:
            return arguments
        kept = [word for word in arguments.split() if word != "norandmaps"]
        return " ".join([*kept, f"profdiff.settle={self.settle}"])


NO_VARIATION = Variation()


@dataclass(frozen=True)
class Boot:
    """``append``: kernel arguments behind profdiff's own; ``memory`` in MiB."""

    image: Path
    initramfs: Path
    append: str
    memory: int
    cpus: int
    variation: Variation = NO_VARIATION

    def command_line(self, console: str) -> str:
        """The kernel's."""
        own = self.variation.words(f"console={console} {BASE_APPEND}")
        return f"{own} {self.append}".strip()


_MIB = 1 << 20


def refuse(memory: int, kernels: Sequence[KernelFiles], files: Iterable[GuestFile]) -> None:
    """Raise InputError if guests of ``memory`` MiB, or what a kernel is given, cannot boot
    ``kernels`` with ``files``, or this machine cannot give as much."""
    usual = f"--memory {memory}M"
    named = {
        kernel.label: f"{kernel.label}: memory={own}M"
        for kernel in kernels
        if (own := kernel.variant.memory)
    }
    sizes = [(kernel.variant.memory or memory, kernel.label) for kernel in kernels]
    most = of_this_machine()
    for size, label in sizes or [(memory, "")]:
        if most is not None and size * _MIB > most:
            raise InputError(
                f"{named.get(label, usual)}: this machine has {most // _MIB:,} MiB of memory and "
                "swap: give guests less"
            )
    # The root file system is in memory, and what it was unpacked from at first too.
    unpacked = sum(file.source.stat().st_size for file in files)
    for kernel, (size, label) in zip(kernels, sizes, strict=True):
        least = unpacked + (of_image(kernel.image) if kernel.image else 0)
        if least > size * _MIB:
            raise InputError(
                f"{named.get(label, usual)}: {label} and the files of the workload take at least "
                f"{-(-least // _MIB):,} MiB while it boots: raise "
                f"{'memory=' if label in named else '--memory'}"
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
