"""The session's manifest: what ``manifest.json`` holds. ``docs/session.md`` documents each field.

Reading is strict: a session may come from a stranger. Sizes, types, labels and paths are checked
here, so that whoever holds a ``Manifest`` may use its paths relative to the session folder.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from profdiff.collectors.records import ABSENT, NO_VARIANT, Name, Part, Text, Value
from profdiff.collectors.records import BuiltFrom as BuiltFrom
from profdiff.collectors.records import Clock as Clock
from profdiff.collectors.records import Failure as Failure
from profdiff.collectors.records import Guest as Guest
from profdiff.collectors.records import Instructions as Instructions
from profdiff.collectors.records import Measured as Measured
from profdiff.collectors.records import Node as Node
from profdiff.collectors.records import Qemu as Qemu
from profdiff.collectors.records import Sampling as Sampling
from profdiff.collectors.records import Variant as Variant
from profdiff.collectors.records import Window as Window
from profdiff.session.bisection import Bisection

SCHEMA = "profdiff.session/3"


replace = msgspec.structs.replace


def timestamp(seconds: float | None = None) -> str:
    """The time as the manifest writes it: UTC, ISO 8601, whole seconds. ``seconds`` since 1970, by
    default now."""
    time = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


Label = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}\Z")]
# Relative, below the session folder: no empty, '.' or '..' component, no backslash or control
# character. Session.path() refuses symbolic links on top.
SafePath = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(?!\.{1,2}(/|\Z))[^/\\\x00-\x1f]+(/(?!\.{1,2}(/|\Z))[^/\\\x00-\x1f]+)*\Z",
        max_length=1024,
    ),
]
# The name of one that is registered, which opening a session checks.
Collector = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,31}\Z")]
Hex = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){1,64}\Z")]
# The first 128 bits of a BLAKE3.
Blake3 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]


class WorkloadFile(Part, frozen=True):
    """A file that travelled into the guest. ``path`` is its copy in the session, if it is code."""

    guest_path: str
    sha256: Hex
    executable: bool
    path: SafePath | None = None


MOST_COPIES = 1024
"""As many vCPUs as glibc's cpu_set_t can name."""


_MOST_TOLD = 5


class Replayed(Part, frozen=True):
    """How much of a trace's ``calls`` a workload replays; ``left_out``: how many not, by what."""

    calls: Annotated[int, msgspec.Meta(ge=1)]
    replayed: Annotated[int, msgspec.Meta(ge=0)]
    left_out: Annotated[dict[Text, int], msgspec.Meta(max_length=1000)]

    @property
    def told(self) -> str:
        """How much that is, in a sentence without its end."""
        most = sorted(self.left_out.items(), key=lambda one: -one[1])
        named = [f"{number:,} {what}" for what, number in most[:_MOST_TOLD]]
        rest = sum(number for _, number in most[_MOST_TOLD:])
        named += [f"{rest:,} others"] if rest else []
        left = f"; left out: {', '.join(named)}" if named else ""
        return f"replays {self.replayed:,} of {self.calls:,} calls of the trace{left}"


class Workload(Part, frozen=True):
    """What ran in every cell: ``argv`` as the user gave it, ``guest_argv`` as the guest ran it,
    both with ``{NAME}`` where a point has a parameter. ``imported``: what ran is known from the
    recording alone, or not at all; ``program``: the thread's name with most of its samples.
    ``source``: a copy of what was compiled. ``copies`` of it ran at a time, each on its own vCPU;
    in ``argv``, ``{copy}`` is the number of each. ``replay``: of a trace (``record --replay``).
    ``op``: what one operation is, a singular noun; "" if nobody said."""

    argv: list[str]
    guest_argv: list[str]
    kind: Literal["program", "script", "source", "imported"]
    files: list[WorkloadFile]
    source: SafePath | None = None
    program: str = ""
    copies: Annotated[int, msgspec.Meta(ge=1, le=MOST_COPIES)] = 1
    replay: Replayed | None = None
    op: Annotated[str, msgspec.Meta(max_length=64)] = ""


class Point(Part, frozen=True):
    """Under what a kernel is measured: values of the sweep's parameters, vCPUs (null where no guest
    is used), and how many operations the workload then does. A cell is a kernel at a point.
    ``shorter``: the row of the same point with fewer operations, which is subtracted, so that the
    workload's start-up cancels out."""

    parameters: dict[Name, Text] = msgspec.field(default_factory=dict)
    cpus: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    ops: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] | None = None
    shorter: Annotated[int, msgspec.Meta(ge=0, lt=10**5)] | None = None


MOST_STATES = 1000
"""Beside the plain one."""


class Order(Part, frozen=True):
    """How the order of runs is drawn, and what of a boot is: with ``vary`` each repetition has its
    own random numbers, address layout and time of settling. ``states``: how many varied states each
    cell is to be seen in, beside the plain one; they are drawn from ``seed`` and their number."""

    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0
    vary: bool = False
    states: Annotated[int, msgspec.Meta(ge=0, le=MOST_STATES)] = 0


class Kernel(Part, frozen=True):
    """A kernel of the session. ``symbols`` is the file of resolved chains that ``record`` wrote
    for the exact collector, ``code`` that of its functions' code, ``accesses`` that of the data
    which these access. ``inlines``: by object (``vmlinux``, a module, a file) of which functions
    executed, whether the inlined ones are known, None where that was not written. ``image_sha256``
    is there if an image was booted. ``twin_of``: it is the kernel of that label once more, measured
    to see what differs where nothing does (A/A). ``source``: what profdiff built it from. ``hole``:
    why there is no such kernel, "" for one that there is; a hole has no image and no runs.
    ``variant``: what its guest was given otherwise than those of others; ``files``: those of its
    program alone, where sides are programs. ``local``: it is the one
    that ran on the recording machine, whose files are its processes'."""

    label: Label
    spec: str
    image_sha256: Hex | None = None
    release: str | None = None
    version: str | None = None
    compiler: str | None = None
    build_id: Hex | None = None
    debug_elf: str | None = None
    config: SafePath | None = None
    symbols: SafePath | None = None
    code: SafePath | None = None
    accesses: SafePath | None = None
    inlines: dict[Text, bool] | None = None
    twin_of: Label | None = None
    source: BuiltFrom | None = None
    hole: Text = ""
    variant: Variant = NO_VARIANT
    files: list[WorkloadFile] = msgspec.field(default_factory=list)
    local: bool = False


class Run(Part, frozen=True, kw_only=True):
    """The workload on one kernel in one boot, executed ``boot_runs`` times. ``point`` is a row of
    the manifest's points. ``state``: the varied state that it ran in, 0 for the plain one.
    ``boot``: the machine's boot, in which other runs were too; a guest's run has one of its own.
    ``program``: of a recording that exists, the thread's name with most samples; "" where it does
    not tell. ``files`` maps what a file is (``counts``, ``perf-data``, ``stdout``,
    ``dmesg`` …) to its path in the session. ``remarks``: what a reader of its values must know."""

    id: Label
    kernel: Label
    collector: Collector
    point: Annotated[int, msgspec.Meta(ge=0, lt=10**5)] = 0
    repetition: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    state: Annotated[int, msgspec.Meta(ge=0, le=MOST_STATES)] = 0
    started: str
    boot: Text | None = None
    wall_seconds: Annotated[float, msgspec.Meta(ge=0)]
    files: dict[str, SafePath]
    qemu: Qemu | None = None
    node: Node | None = None
    sampling: Sampling | None = None
    failure: Failure | None = None
    exit_status: int | None = None
    window: Window | None = None
    program: Text = ""
    instructions: Instructions | None = None
    clock: Clock | None = None
    measured: list[Measured] = msgspec.field(default_factory=list)
    remarks: list[Text] = msgspec.field(default_factory=list)

    @property
    def folder(self) -> str:
        """The folder of the session that has its output and logs; "" if it left none."""
        return next(iter(self.files.values()), "").rpartition("/")[0]

    @property
    def not_there(self) -> bool:
        """Whether its kernel lacks what the workload calls: no result, and no trouble."""
        return self.failure is not None and self.failure.kind == ABSENT

    @property
    def failed(self) -> bool:
        """Whether it has no result though its kernel has what the workload calls."""
        return self.failure is not None and not self.not_there


class Checksum(Part, frozen=True, array_like=True, kw_only=False):
    """A file as it was written: its length in bytes, and the first 128 bits of its BLAKE3."""

    length: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    blake3: Blake3


class Manifest(Part, frozen=True, kw_only=True):
    """The whole of ``manifest.json``. The first kernel is the base. ``options``: those of its
    collectors, by the option's name. ``bisection``: what the kernels are the evidence of.
    ``functions``: the file of what each function executed itself at every setting, which ``record``
    wrote for the exact collector; ``events``: that of how often events of the workload happened.
    ``shard``: of a session that was recorded alone, which part of the plan's runs it has, ``I/N``;
    "" for all of them, and in a suite, which says it itself. ``checksums``: of the session's files,
    by path; ``checksum``: of the file of this, while it says null here."""

    schema: str
    profdiff: str
    created: str
    command: list[str]
    collectors: list[Collector]
    repeat: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    verify: bool
    twin_repeat: Annotated[int, msgspec.Meta(ge=0, le=10**6)] = 0
    options: dict[Name, Value] = msgspec.field(default_factory=dict)
    order: Order = Order()
    points: Annotated[list[Point], msgspec.Meta(min_length=1, max_length=10**5)]
    workload: Workload
    guest: Guest | None = None
    kernels: Annotated[list[Kernel], msgspec.Meta(min_length=1, max_length=10_000)]
    runs: Annotated[list[Run], msgspec.Meta(max_length=1_000_000)]
    bisection: Bisection | None = None
    functions: SafePath | None = None
    events: SafePath | None = None
    shard: Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,7}/[0-9]{1,7})?\Z")] = ""
    checksums: dict[SafePath, Checksum] = msgspec.field(default_factory=dict)
    # The last field: its file ends with it.
    checksum: Blake3 | None = None

    @property
    def compared(self) -> list[Kernel]:
        """The kernels that there are, but the base's twin."""
        return [kernel for kernel in self.kernels if not (kernel.twin_of or kernel.hole)]

    def files_of(self, label: str) -> list[WorkloadFile]:
        """The files that travelled into a kernel's guest."""
        own = (kernel.files for kernel in self.kernels if kernel.label == label)
        return [*next(own, []), *self.workload.files]

    @property
    def holes(self) -> list[Kernel]:
        """Those that could not be built."""
        return [kernel for kernel in self.kernels if kernel.hole]

    @property
    def boot_runs(self) -> int:
        """How often a run executes the workload in its boot."""
        told = self.options.get("boot_runs")
        return told if isinstance(told, int) else 1
