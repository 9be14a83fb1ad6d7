"""Which data each kernel loads and stores, and which functions do, ``profdiff.types/1``: what
``report --types --json`` writes. ``docs/types.md`` explains it.
"""

from typing import Any, Final, Literal

from profdiff.profile.data.keys import Group
from profdiff.profile.data.overlaps import Cause
from profdiff.views.record import Counts, Record, schema_of
from profdiff.views.types import naming

SCHEMA: Final = "profdiff.types/1"

Direction = Literal["load", "store"]
Kind = Literal[
    "field",
    "variable",
    "pointed",
    "stack-variable",
    "spill",
    "canary",
    "push",
    "call",
    "unresolved",
]
Verdict = Literal["exact", "unsure"]


class Interval(Record, frozen=True):
    """Where the true difference lies, ends included."""

    low: int
    high: int


class Change(Record, frozen=True):
    """A kernel's difference to the base. ``delta``: None where it is *unsure*: then accesses that
    are not resolved, or may be of other data, could explain it. ``causes``: what makes the interval
    wider than one number."""

    delta: int | None
    interval: Interval
    verdict: Verdict
    causes: list[Cause]


class FunctionPart(Record, frozen=True):
    """What a function's own code does of a row. ``within``: of one from a header, the functions
    that it is inlined into, the largest part first."""

    name: str
    object: str
    file: str
    within: list[str]
    counts: Counts
    changes: dict[str, Change]

    @property
    def title(self) -> str:
        """The function, in front of it where it is inlined."""
        return f"{self.within[0]} ({self.name})" if self.within else self.name


class Row(Record, frozen=True):
    """Loads or stores of one thing. ``type``: the struct or union, or what a variable is (``|``
    between several); ``symbol``: the variable; ``field``: the path in it, and ``also``: its paths
    on other kernels; ``alternatives``: other names for the place, of unions. ``reason``: of what is
    unresolved. By label: ``line``: the line of 64 bytes in the type, if the object is aligned to
    one, and ``offset``, in bytes; None where it is not known, several, or not accessed.
    ``changes``: of each kernel but the base. ``functions``: those that changed most first."""

    access: Direction
    group: Group
    kind: Kind
    type: str
    symbol: str
    field: str
    also: list[str]
    alternatives: list[str]
    reason: str
    line: dict[str, int | None]
    offset: dict[str, int | None]
    counts: Counts
    changes: dict[str, Change]
    functions: list[FunctionPart]

    @property
    def title(self) -> str:
        """What is accessed, as a C programmer writes it."""
        if self.group != "data" and self.kind != "stack-variable":
            return naming.WORDS[self.reason or self.kind]
        return naming.title(
            self.kind, self.type, self.symbol, [self.field, *self.also], self.alternatives
        )


class Total(Record, frozen=True):
    """The sum of all rows of a group, and of what is unresolved of each reason."""

    access: Direction
    group: Group
    reason: str
    counts: Counts


class KernelSide(Record, frozen=True):
    """A kernel that is compared."""

    label: str
    release: str | None


class TypesDocument(Record, frozen=True):
    """All accesses of the kernels' code in the window. ``fields``: all rows; ``types`` and
    ``lines``: those of data, summed by type and by line. Counts are of executed instructions.
    ``folded_folios``: fields that ``struct folio`` has of ``struct page`` are page's;
    ``opposite_folios``: page and folio changed in opposite directions. ``not_covered``: what is in
    no row."""

    schema: Literal["profdiff.types/1"]
    profdiff: str
    kernels: list[KernelSide]
    ops: int | None
    unit: Literal["accesses"]
    line_size: int
    one_boot: bool
    folded_folios: bool
    opposite_folios: bool
    fields: list[Row]
    types: list[Row]
    lines: list[Row]
    totals: list[Total]
    not_covered: list[Literal["user-space"]]

    @property
    def labels(self) -> list[str]:
        """The base's first."""
        return [one.label for one in self.kernels]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/types.schema.json`` is a copy."""
    return schema_of(TypesDocument, "profdiff report --types")
