"""Which data lies in the cache lines that change hands between vCPUs, ``profdiff.sharing/1``: what
``report --sharing --json`` writes. ``docs/sharing.md`` explains it.
"""

from typing import Any, Final, Literal

from profdiff.base import units
from profdiff.profile.data import naming
from profdiff.profile.sharing.locks import Mode
from profdiff.profile.sharing.names import Kind
from profdiff.profile.sharing.table import Cause
from profdiff.views.record import Counts, Record, schema_of

SCHEMA: Final = "profdiff.sharing/1"

Verdict = Literal["exact", "depends on the schedule"]
_WORDS = {"stack": "stack of a task", "user-memory": "user memory"}


class Difference(Record, frozen=True):
    """To the base, per op. ``delta``: None where it is *unsure*. ``low`` and ``high``: where the
    true difference lies, ends included, as far as names decide it; the schedule is not in it."""

    delta: float | None
    low: float
    high: float


class Change(Record, frozen=True):
    """A kernel's differences to the base. ``causes``: what makes them more than one number, or
    unsure: *schedule*, lines are recycled; *runs*, the runs of a kernel differ; *unnamed*, lines
    without a name in the same functions may be of the same data."""

    transfers: Difference
    misses: Difference
    verdict: Literal["exact", "unsure"]
    causes: list[Cause]


class Data(Record, frozen=True):
    """What data is called. ``type``: the struct or union of a field, or what a pointer leads to; of
    *user-memory* the program of a variable, or the mapping; ``symbol``: the variable; ``field``:
    the path in it; ``alternatives``: other names for the place, of unions. ``function``: of unnamed
    data, the function that misses it most."""

    kind: Kind
    type: str
    symbol: str
    field: str
    alternatives: list[str]
    function: str

    @property
    def title(self) -> str:
        """As a C programmer writes it; one printable line."""
        if self.kind == "unnamed":
            return f"? in {self.function}" if self.function else "?"
        if self.kind == "user-memory" and self.symbol:
            return units.printable(f"{self.symbol} ({self.type})")
        if self.kind in _WORDS:
            mapping = f" ({units.printable(self.type)})" if self.type else ""
            return f"{_WORDS[self.kind]}{mapping}"
        kind = "variable" if self.kind == "per-cpu" else self.kind
        return naming.title(kind, self.type, self.symbol, [self.field], self.alternatives)


class FieldUse(Record, frozen=True):
    """``size`` bytes of a line from ``offset`` on. ``name``: "" where it is not known. ``loads``
    and ``stores``: by vCPU."""

    offset: int
    size: int
    name: str
    loads: list[int]
    stores: list[int]


class Line(Record, frozen=True):
    """A line of ``size`` bytes, with who accesses which of them."""

    transfers: int
    size: int
    fields: list[FieldUse]


class Sums(Record, frozen=True):
    """What a row has on one kernel, in the window. ``transfers``: how often its lines change hands
    if the vCPUs take turns after each operation; ``false`` of them on lines where no vCPU accesses
    what another one writes; whether ``untold`` ones are false is not known; ``recycled`` ones are
    on lines that change hands less than once in four operations, as ``recycled_misses`` are of
    ``misses``. ``read_fetches``, ``write_fetches`` and ``upgrades``: what a coherence protocol did;
    ``misses``: their sum, and ``fewest_misses`` and ``most_misses`` its range if the vCPUs take
    other turns. ``bystander_reads``: how often a vCPU waits to load bytes that nobody writes, on
    lines that others write. ``locked``: executed locked instructions on the lines. ``line``: the
    one with most transfers."""

    transfers: int
    false: int
    untold: int
    recycled: int
    misses: int
    fewest_misses: int
    most_misses: int
    recycled_misses: int
    read_fetches: int
    write_fetches: int
    upgrades: int
    lines: int
    bystander_reads: int
    locked: int
    verdict: Verdict
    line: Line | None


class FunctionPart(Record, frozen=True):
    """The misses of a function's own code. ``within``: of one from a header, the functions that it
    is inlined into, the largest part first."""

    name: str
    object: str
    file: str
    within: list[str]
    misses: Counts

    @property
    def title(self) -> str:
        """The function, in front of it where it is inlined."""
        return f"{self.within[0]} ({self.name})" if self.within else self.name


class Bystander(Record, frozen=True):
    """How often a vCPU waits to load bytes that nobody writes, on lines that others write; of each
    vCPU no oftener than a line changes hands to it. ``unsure``: the kernels whose difference to the
    base is not certain, as data without a name may be the same, or a field was renamed."""

    data: Data
    reads: Counts
    unsure: list[str]


class Row(Record, frozen=True):
    """The lines of one type or variable, or of data without a name. ``data``: what makes them
    change hands most; ``fields``: all that does, ``data`` first. ``kernels``: by label.
    ``changes``: of each kernel but the base. ``functions`` and ``bystanders``: the largest
    first."""

    data: Data
    fields: list[str]
    kernels: dict[str, Sums]
    changes: dict[str, Change]
    functions: list[FunctionPart]
    bystanders: list[Bystander]


class HeldSums(Record, frozen=True):
    """How often a lock is taken and released in the window, and the kernel's ``instructions`` that
    the vCPU executes from the one to the other, without interrupts."""

    times: int
    instructions: int


class HeldLock(Record, frozen=True):
    """A lock on a persistent line, as one ``function`` takes it ("": not known). ``mode``:
    *exclusive* of writers, *shared* of readers. ``kernels``: by label. ``unsure``: the kernels
    whose difference to the base is not certain: there it may lie on a line that does not change
    hands, or a lock without a name may be the same one."""

    data: Data
    function: str
    mode: Mode
    kernels: dict[str, HeldSums]
    unsure: list[str]


class Total(Record, frozen=True):
    """The sums of all rows; of these, ``unnamed`` and ``user`` transfers: of data without a name,
    and of programs' memory."""

    kernels: dict[str, Sums]
    changes: dict[str, Change]
    unnamed: Counts
    user: Counts


class KernelSide(Record, frozen=True):
    """A kernel that is compared. ``ops``: complete operations of all vCPUs, ``by_vcpu`` of each;
    ``ops_by``: what ends one, a system call or the program's own mark. ``instructions``: the
    kernel's that they executed. ``runs``: how many recorded it; the one with the median of
    transfers stands for all. ``missing``: why data has no names."""

    label: str
    release: str | None
    ops: int
    by_vcpu: list[int]
    ops_by: Literal["calls", "marks"]
    instructions: int
    runs: int
    missing: str


class SharingDocument(Record, frozen=True):
    """All lines that change hands in the window, and the locks that are ``held`` on them, by their
    largest share of the kernel's instructions. ``at``: the point of the sweep. ``persistent``: a
    line with at least so many transfers per op does not depend on the schedule. Transfers are not
    time. ``not_covered``: what no number here holds."""

    schema: Literal["profdiff.sharing/1"]
    profdiff: str
    kernels: list[KernelSide]
    at: str
    unit: Literal["transfers"]
    line_size: int
    persistent: float
    rows: list[Row]
    held: list[HeldLock]
    total: Total
    not_covered: list[Literal["time", "waiting-for-locks", "page-walks", "devices"]]

    @property
    def labels(self) -> list[str]:
        """The base's first."""
        return [one.label for one in self.kernels]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/sharing.schema.json`` is a copy."""
    return schema_of(SharingDocument, "profdiff report --sharing")
