"""What a run says of itself, and what its kernel was built from, in the words of the session's
manifest (``docs/session.md``)."""

import re
from typing import Annotated, Literal

import msgspec

from profdiff.base.metric import Better

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z")]
Text = Annotated[str, msgspec.Meta(max_length=65536)]
# The hash of a commit, or of a tree, of SHA-1 or SHA-256.
Commit = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})\Z")]
Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
# The longest command line of x86-64 has 2,047 characters, of which all kernels' are a part.
MAX_APPEND = 1024
Value = bool | int | float | Text | list[Text] | None


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all parts of the manifest."""


class Guest(Part, frozen=True):
    """The machine that every guest had. ``memory`` in MiB; ``settle`` in guest seconds; ``timeout``
    in seconds of wall time for a whole run, on machines too; ``cpu``: QEMU's ``-cpu`` that was
    asked for, None for the architecture's default. ``restored``: no run of an emulated guest
    booted; each restored the machine as it was before the workload came. ``not_restored``: why they
    booted although that was asked for."""

    memory: Annotated[int, msgspec.Meta(ge=16, le=2**24)]
    append: str
    settle: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    timeout: Annotated[float, msgspec.Meta(gt=0, le=1e7)]
    cpu: Text | None = None
    restored: bool = False
    not_restored: Text | None = None


class Variant(Part, frozen=True):
    """What one kernel is given otherwise than the others: ``append``, boot arguments behind those
    of all; ``memory`` in MiB, the number of vCPUs (``cpus``) and QEMU's ``-cpu`` (``cpu``) in place
    of theirs, None for theirs. ``program``: what it runs where sides are programs, as a word:
    ``program=./a``, ``sysroot=./root``, ``NAME=VALUE``; "" for what all run."""

    append: Annotated[str, msgspec.Meta(max_length=MAX_APPEND)] = ""
    memory: Annotated[int, msgspec.Meta(ge=16, le=2**24)] | None = None
    cpus: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    cpu: Text | None = None
    program: Text = ""

    def guest(self, usual: Guest) -> Guest:
        """The guest of a kernel with it, where others have the ``usual`` one."""
        append = " ".join(filter(None, [usual.append, self.append]))
        return msgspec.structs.replace(
            usual, append=append, memory=self.memory or usual.memory, cpu=self.cpu or usual.cpu
        )

    def also(self, other: "Variant") -> "Variant":
        """This one with what ``other`` gives: arguments behind its own, the rest in place of it."""
        return Variant(
            append=" ".join(filter(None, [self.append, other.append])),
            memory=other.memory or self.memory,
            cpus=other.cpus or self.cpus,
            cpu=other.cpu or self.cpu,
            program=other.program or self.program,
        )

    @property
    def words(self) -> list[str]:
        """What it gives: each argument, ``memory=2048M``, ``cpus=2``, ``cpu=MODEL``, a program."""
        return [
            *arguments(self.append),
            *([f"memory={self.memory}M"] if self.memory else []),
            *([f"cpus={self.cpus}"] if self.cpus else []),
            *([f"cpu={self.cpu}"] if self.cpu else []),
            *([self.program] if self.program else []),
        ]


NO_VARIANT = Variant()


def arguments(line: str) -> list[str]:
    """The arguments of a kernel's command line, whose double quotes may hold blanks
    (Documentation/admin-guide/kernel-parameters.rst)."""
    return re.findall(r'(?:"[^"]*"?|[^\s"])+', line)


class Failure(Part, frozen=True, kw_only=False):
    """Why a run has no result. ``kind`` is one of FAILURES, or one of its collector's own;
    ``message`` is one line; ``console`` holds the last lines of the console where they help."""

    kind: Name
    message: str
    console: list[str] = []

    @property
    def lacks(self) -> str:
        """What the kernel lacks, as the workload named it; "" for another failure."""
        return self.message.removeprefix(NOT_THERE) if self.kind == ABSENT else ""


ABSENT = "absent"
"""The failure of a run whose kernel lacks what the workload calls."""
DAMAGED = "damaged"
"""The failure of a run that had a result, and of which a file is not as it was written."""
NOT_THERE = "not there: "
"""How a workload's last line on stderr begins that names it."""
FAILURES = (
    "boot",
    "panic",
    "timeout",
    "workload",
    ABSENT,
    "qemu",
    "protocol",
    "connection",
    "metric",
    DAMAGED,
)
"""How any collector's run may fail."""


class Window(Part, frozen=True):
    """What was measured: the workload's own marks, the whole command, or the kernel's boot."""

    kind: Literal["marks", "command", "boot"]
    count: Count


class Instructions(Part, frozen=True):
    """Instructions counted inside the window, by the half of the address space they ran in. A
    repeated string instruction (``rep movsb``) counts once; ``each_iteration``: the sum of both
    with its iterations counted. ``beside``: those that ran beside the workload (interrupts, threads
    of the kernel), which the others leave out; None if ``kernel`` has them (no call tree).
    ``interrupts``: how many came, None if that is not known."""

    kernel: Count
    user: Count
    each_iteration: Count
    beside: Count | None = None
    interrupts: Count | None = None


class Clock(Part, frozen=True):
    """The guest's clock over the window, in nanoseconds: how far it ``advanced``, one for each
    instruction of any vCPU and the rest while no vCPU had anything to do, which is ``idle``.
    ``vcpus``: for how long each vCPU idled, also while others executed; empty where that is not
    known (no call tree)."""

    advanced: Count
    idle: Count
    vcpus: list[Count] = []


class Qemu(Part, frozen=True):
    """The emulator: its version line, every argument as it was passed, and what follows from them.
    ``virtual_clock``: the guest's clock counts its instructions, one each nanosecond.
    ``reads_registers``: the plugin read which vCPU executed, and at which address. ``without``:
    the processor's features that the guest did not have because this QEMU emulates them wrongly."""

    version: str
    arguments: list[str]
    plugin_api: int | None = None
    accelerator: Literal["tcg", "kvm"] | None = None
    architecture: str | None = None
    virtual_clock: bool = False
    reads_registers: bool = False
    without: list[Text] = []


class Node(Part, frozen=True):
    """The node of a cluster that made a run: its host; ``lost``: those that were lost with it
    before."""

    host: Text
    lost: list[Text] = []


class Sampling(Part, frozen=True):
    """How a run was sampled. ``version`` and ``command`` of the program that did; ``events`` that
    it really sampled; every ``period`` events, or with a ``frequency`` in samples a second.
    ``fallback``: why it sampled something else than was asked for, or null. ``virtual_time``: its
    cycles are QEMU's, which are nanoseconds."""

    version: str
    command: list[str]
    events: list[str]
    period: Annotated[int, msgspec.Meta(ge=1, le=2**62)] | None = None
    frequency: Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None = None
    fallback: str | None = None
    virtual_time: bool = False


class Measured(Part, frozen=True, kw_only=False):
    """One metric of a run: its values, one for each execution of the workload in that boot.
    ``is_total``: they are of the whole window, so that operations divide them; what a workload says
    of itself is not. ``counted_part``: of the time, in how much it was counted, or of how much the
    values are; below 1 totals are scaled. ``scheduled``: which vCPU runs when decides much of
    it."""

    name: Text
    unit: Text
    better: Better
    is_total: bool
    values: Annotated[list[Number], msgspec.Meta(min_length=1, max_length=10_000)]
    counted_part: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    scheduled: bool = False


class BuiltFrom(Part, frozen=True):
    """``repository``: the folder, absolute and without links. ``commit``: of the revision, or
    of a work tree its HEAD; ``described``: what ``git describe`` calls it. ``built``: the commit
    that was really built, which is ``commit`` or was made of it with the changes; ``tree``: its
    tree. ``dirty``: of a work tree with changes that nobody committed. ``patches``: file names and
    subjects; ``reverted``: commits. ``config``: where the config is from; ``settings``: options of
    it that were to be otherwise, ``CONFIG_X=y``. ``compiler``: the first line that it says of its
    version. ``lost``: options that are not as the config asked for them: the source does not have
    them so. ``options``: of the SPEC, how code is made: ``cc=clang-19``, ``lto=thin``."""

    repository: Text
    commit: Commit
    described: Text
    subject: Text
    tree: Commit
    built: Commit
    dirty: bool = False
    patches: list[Text] = msgspec.field(default_factory=list)
    reverted: list[Commit] = msgspec.field(default_factory=list)
    config: Text = ""
    compiler: Text = ""
    arch: Text = ""
    lost: list[Text] = msgspec.field(default_factory=list)
    settings: list[Text] = msgspec.field(default_factory=list)
    options: list[Text] = msgspec.field(default_factory=list)
