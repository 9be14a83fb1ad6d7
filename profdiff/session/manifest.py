"""The session's manifest: what ``manifest.json`` holds. ``docs/session.md`` documents each field.

Reading is strict: a session may come from a stranger. Sizes, types, labels and paths are checked
here, so that whoever holds a ``Manifest`` may use its paths relative to the session folder.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

SCHEMA = "profdiff.session/1"


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
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Collector = Literal["exact", "perf", "timed", "import"]
Better = Literal["lower", "higher"]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z")]
Text = Annotated[str, msgspec.Meta(max_length=65536)]
Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Hex = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){1,64}\Z")]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all parts of the manifest."""


class WorkloadFile(Part, frozen=True):
    """A file that travelled into the guest. ``path`` is its copy in the session, if it is code."""

    guest_path: str
    sha256: Hex
    executable: bool
    path: SafePath | None = None


class Workload(Part, frozen=True):
    """What ran in every cell: ``argv`` as the user gave it, ``guest_argv`` as the guest ran it,
    both with ``{NAME}`` where a point has a parameter. ``imported``: what ran is known from the
    recording alone, or not at all. ``source``: a copy of what was compiled."""

    argv: list[str]
    guest_argv: list[str]
    kind: Literal["program", "script", "source", "imported"]
    files: list[WorkloadFile]
    source: SafePath | None = None


class Point(Part, frozen=True):
    """Under what a kernel is measured: values of the sweep's parameters, vCPUs (null where no guest
    is used), and how many operations the workload then does. A cell is a kernel at a point."""

    parameters: dict[Name, Text] = {}
    cpus: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    ops: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] | None = None


class Difference(Part, frozen=True):
    """Results are the difference of two lengths of the workload, so that its start-up cancels:
    ``parameter`` is ``short`` in one point and ``long`` in the next."""

    parameter: Name
    short: Count
    long: Count


class Order(Part, frozen=True):
    """How the order of runs is drawn, and what of a boot is: with ``vary`` each repetition has its
    own random numbers, address layout and time of settling."""

    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0
    vary: bool = False


class Measured(Part, frozen=True):
    """One metric of a run: its values, one for each execution of the workload in that boot.
    ``is_total``: they are of the whole window, so that operations divide them; what a workload says
    of itself is not."""

    name: Text
    unit: Text
    better: Better
    is_total: bool
    values: Annotated[list[Number], msgspec.Meta(min_length=1, max_length=10_000)]


class Guest(Part, frozen=True):
    """The machine that every run had. ``memory`` in MiB; ``settle`` in guest seconds; ``timeout``
    in seconds of wall time for a whole run."""

    memory: Annotated[int, msgspec.Meta(ge=16, le=2**24)]
    append: str
    settle: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    timeout: Annotated[float, msgspec.Meta(gt=0, le=1e7)]


class Kernel(Part, frozen=True):
    """A kernel of the session. ``symbols`` is the file of resolved chains that ``record`` wrote for
    the exact collector; ``image_sha256`` is there if an image was booted. ``twin_of``: it is the
    kernel of that label once more, measured to see what differs where nothing does (A/A)."""

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
    twin_of: Label | None = None


class Failure(Part, frozen=True):
    """Why a run has no result. ``message`` is one line; ``console`` its console's last lines."""

    kind: Literal[
        "boot",
        "panic",
        "timeout",
        "workload",
        "window",
        "qemu",
        "protocol",
        "perf",
        "connection",
        "metric",
    ]
    message: str
    console: list[str] = []


class Window(Part, frozen=True):
    """What was measured: the workload's own marks, or the whole command."""

    kind: Literal["marks", "command"]
    count: Count


class Instructions(Part, frozen=True):
    """Instructions counted inside the window, by the half of the address space they ran in."""

    kernel: Count
    user: Count


class Qemu(Part, frozen=True):
    """The emulator: its version line and every argument, as they were passed."""

    version: str
    arguments: list[str]
    plugin_api: int | None = None


class PerfOptions(Part, frozen=True):
    """How perf samples. ``events`` are one group; ``period``: events between samples; or
    ``frequency``: samples per second. ``arguments`` go to ``perf record`` as they are."""

    events: list[str]
    period: Annotated[int, msgspec.Meta(ge=1, le=2**62)] | None = None
    frequency: Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None = None
    call_graph: Literal["fp", "lbr", "dwarf"] = "fp"
    arguments: list[str] = []


class PerfRun(Part, frozen=True):
    """What perf was asked for in one run. ``fallback``: why it sampled something else than
    ``events`` of the options, or null. ``virtual_time``: QEMU's cycles, which are nanoseconds."""

    version: str
    command: list[str]
    events: list[str]
    fallback: str | None = None
    virtual_time: bool = False


class Run(Part, frozen=True, kw_only=True):
    """One execution of the workload on one kernel in one boot, or with ``timed`` several. ``point``
    is a row of the manifest's points. ``boot``: the machine's boot, in which other runs were too;
    a guest's run has one of its own. ``files`` maps what a file is (``counts``, ``perf-data``,
    ``stdout``, ``dmesg`` …) to its path in the session."""

    id: Label
    kernel: Label
    collector: Collector
    point: Annotated[int, msgspec.Meta(ge=0, lt=10**5)] = 0
    repetition: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    started: str
    boot: Text | None = None
    wall_seconds: Annotated[float, msgspec.Meta(ge=0)]
    files: dict[str, SafePath]
    qemu: Qemu | None = None
    perf: PerfRun | None = None
    failure: Failure | None = None
    exit_status: int | None = None
    window: Window | None = None
    instructions: Instructions | None = None
    measured: list[Measured] = []


class Manifest(Part, frozen=True, kw_only=True):
    """The whole of ``manifest.json``. The first kernel is the base."""

    schema: str
    profdiff: str
    created: str
    command: list[str]
    collectors: list[Collector]
    repeat: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    verify: bool
    call_tree: bool = True
    twin_repeat: Annotated[int, msgspec.Meta(ge=0, le=10**6)] = 0
    boot_runs: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    metrics: list[Text] = []
    order: Order = Order()
    difference: Difference | None = None
    points: Annotated[list[Point], msgspec.Meta(min_length=1, max_length=10**5)]
    workload: Workload
    guest: Guest | None = None
    perf: PerfOptions | None = None
    kernels: Annotated[list[Kernel], msgspec.Meta(min_length=1, max_length=10_000)]
    runs: Annotated[list[Run], msgspec.Meta(max_length=1_000_000)]
