"""What profdiff must know of an architecture."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# How much of a kernel image is read to know it.
HEAD = 0x264


@dataclass(frozen=True)
class Vectors:
    """Tables of vectors, by the names of their symbols. In each ``group`` bytes of a table,
    those at ``interrupts`` begin what interrupts execute."""

    names: str
    group: int
    interrupts: tuple[int, ...]


@dataclass(frozen=True)
class Firmware:
    """A QEMU with these ``arguments`` that starts ``rom`` ends with the status ``right`` where all
    is right."""

    rom: bytes
    arguments: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class Flaw:
    """What some QEMUs emulate wrongly, ``told`` for sentences, the processor's ``feature`` without
    which no guest meets it, and the firmware that tells."""

    feature: str
    told: str
    firmware: Firmware


@dataclass(frozen=True)
class Architecture:
    """``name`` is the kernel's and QEMU's (``uname -m``); ``arch`` is what people type and tables
    show; ``make`` is its ``ARCH=`` of Linux; ``told`` is for sentences; ``elf``, ``debian`` and
    ``triplet`` are what ELF, dpkg and compilers say; ``ldconfig`` is what ldconfig(8) prints behind
    a library of it, and ``loader_flags`` how ld.so's cache marks one; ``qemu_package`` is the
    Debian package with its emulator, ``suite`` the release of Debian whose programs run in guests,
    and ``flavour`` of Debian's kernels the one that is meant where nobody names one.

    A guest has QEMU's ``machine`` (``large_machine`` with more than 8 vCPUs), the processor ``cpu``
    if nobody asks for another, and ``features`` (no random numbers) beside any; ``flaw``: of some
    QEMUs; ``loop``: what shows whether KVM is fast, None where nothing does. Its console is at
    ``console``, and profdiff's channel at ``channel``, which ``channel_device`` makes.
    ``firmware``: the files of QEMU's that it loads into the machine.
    ``asleep``: a pattern that what QEMU says of a vCPU's registers matches once if it sleeps; or
    that finds where it is, and the instruction that one which sleeps is behind. ``loses_timers``:
    whether QEMU restores a machine without its timers, so that only what counts exactly restores
    one. ``one_vcpu``: whether guests with several get nowhere.

    ``images``: names of kernel images, also below a build tree. ``magic``: at which offset of an
    image what stands; None: anything. ``image_is_elf``: packed, so that KernelImage reads it.
    ``image_memory``: of an image's header, the memory in bytes that the kernel needs before it
    looks for any; 0 if it does not say.
    ``config``: of a kernel that is built, what a guest needs beside what all need; ``needed``:
    which options no config may lack, and what for.
    ``marks``: the instructions that profdiff.h emits, as bytes of a program. ``calls``: operations
    of calls.

    In a kernel's symbols, as patterns: ``interrupts`` begin at these, or in ``vectors``; new tasks
    at ``beginnings``. ``roots``: functions that lead to all others, so that they tell nothing.
    On a console: ``oops`` is how the line of an error begins that only this architecture prints,
    ``fault`` what stands before the function where it was.
    """

    name: str
    arch: str
    make: str
    told: str
    elf: str
    debian: str
    triplet: str
    ldconfig: str
    loader_flags: int
    qemu_package: str
    suite: str
    flavour: str
    machine: str
    large_machine: str
    cpu: str
    features: tuple[str, ...]
    flaw: Flaw | None
    loop: Firmware | None
    console: str
    channel: str
    channel_device: tuple[str, ...]
    firmware: tuple[str, ...]
    asleep: tuple[str, str]
    loses_timers: bool
    one_vcpu: bool
    images: tuple[str, ...]
    magic: tuple[int, bytes] | None
    image_is_elf: bool
    image_memory: Callable[[bytes], int]
    config: str
    needed: Mapping[str, str] = field(hash=False)
    marks: tuple[bytes, ...]
    calls: tuple[str, ...]
    interrupts: str
    vectors: Vectors | None
    beginnings: str
    roots: tuple[str, ...]
    oops: str
    fault: str

    @property
    def emulator(self) -> str:
        """QEMU's program."""
        return f"qemu-system-{self.name}"

    @property
    def is_host(self) -> bool:
        """Whether this machine's programs run there."""
        return self.name == os.uname().machine

    def machine_of(self, cpus: int) -> str:
        """QEMU's machine for guests of so many vCPUs."""
        return self.machine if cpus <= 8 else self.large_machine

    def named_by(self, name: str) -> bool:
        """Whether anybody calls it ``name``."""
        return name in (self.name, self.arch, self.told, self.elf, self.debian)

    @property
    def compiler(self) -> str:
        """The C compiler that makes programs for it."""
        return "cc" if self.is_host else f"{self.triplet}-gcc"

    @property
    def cxx_compiler(self) -> str:
        """The C++ compiler that makes programs for it."""
        return "c++" if self.is_host else f"{self.triplet}-g++"

    @property
    def packages(self) -> dict[str, str]:
        """Debian's packages of its emulator and its compilers, by program."""
        triplet = self.triplet.replace("_", "-")
        return {
            self.emulator: self.qemu_package,
            f"{self.triplet}-gcc": f"gcc-{triplet} libc6-dev-{self.debian}-cross",
            f"{self.triplet}-g++": f"g++-{triplet}",
        }
