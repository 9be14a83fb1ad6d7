"""What a page has of lines that change hands, as records."""

from profdiff.profile.sharing.locks import Mode
from profdiff.views.record import Counts, Record


class EmbeddedSharing(Record, frozen=True):
    """What the page has of lines that change hands, which lies in an element of its own.
    ``sentence``: what the section says first; ``rows``: so many are held."""

    sentence: str
    rows: int


class SharingKernel(Record, frozen=True):
    """``ops``: complete operations of all vCPUs, ``by_vcpu`` of each; ``instructions``: the
    kernel's that they executed."""

    label: str
    ops: int
    by_vcpu: list[int]
    instructions: int


class LineField(Record, frozen=True):
    """``size`` bytes of a line from ``offset`` on; ``loads`` and ``stores`` by vCPU. ``name``: ""
    where it is not known."""

    offset: int
    size: int
    name: str
    loads: list[int]
    stores: list[int]


class DrawnLine(Record, frozen=True):
    """The largest line of a row on a kernel. ``of``: "" if it is that of the row, else the data
    that the kernel has instead; ``more``: how many fields are left out."""

    of: str
    size: int
    fields: list[LineField]
    more: int


class SharedSums(Record, frozen=True):
    """A row's sums on one kernel. ``kind``: whether sharing is true or false, "" where that is not
    known; ``line``: None where no line alone is known."""

    transfers: int
    misses: int
    read_fetches: int
    write_fetches: int
    upgrades: int
    lines: int
    locked: int
    kind: str
    line: DrawnLine | None


class SharedDelta(Record, frozen=True):
    """The difference to the base, per op: None where it is unsure; it lies between ``low`` and
    ``high``."""

    delta: float | None
    low: float
    high: float


class SharedChange(Record, frozen=True):
    """A kernel's differences to the base, and what makes them unsure."""

    transfers: SharedDelta
    misses: SharedDelta
    causes: list[str]


class SharedFunction(Record, frozen=True):
    """``within``: the function that it is inlined into, "" if it is not from a header."""

    name: str
    within: str
    misses: Counts


class SharedReads(Record, frozen=True):
    """Loads of bytes that nobody writes, on the row's lines."""

    name: str
    reads: Counts


class SharedRow(Record, frozen=True):
    """Data of one name. ``more``: how many functions are left out."""

    name: str
    verdict: str
    kind: str
    kernels: dict[str, SharedSums]
    changes: dict[str, SharedChange]
    functions: list[SharedFunction]
    more: int
    bystanders: list[SharedReads]


class HeldLock(Record, frozen=True):
    """The kernel's instructions while a function holds a lock. ``unsure``: the kernels whose
    difference to the base is not certain."""

    name: str
    function: str
    mode: Mode
    instructions: Counts
    unsure: list[str]


class PageSharing(Record, frozen=True):
    """The lines that change hands, in an element of its own. ``per_op``: whether all kernels have
    complete operations; ``rows``: what changed for certain first; ``rest``: how many rows the page
    has not. ``transfers``, ``misses`` and ``changes``: of all rows. ``locks``: those that are held
    for long, and ``bound``: what follows of that, "" if nothing. ``notes``: what words and signs
    mean."""

    kernels: list[SharingKernel]
    per_op: bool
    rows: list[SharedRow]
    rest: int
    transfers: Counts
    misses: Counts
    changes: dict[str, SharedChange]
    locks: list[HeldLock]
    bound: str
    notes: list[str]
