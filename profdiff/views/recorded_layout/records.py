"""What ``report --layout --json`` writes. ``docs/types.md`` explains it.

Values are by label, the base's first; None where a kernel has no such thing, or nothing is known of
it. Counts are of the run that stands for the kernel.
"""

from typing import Any, Final, Literal

from profdiff.views.layout import Moved, Span
from profdiff.views.record import Counts, Record, schema_of

SCHEMA: Final = "profdiff.recorded-layout/1"


class FieldRow(Record, frozen=True):
    """A field that some kernel accessed: how often, and where it lies. ``changes``: on each kernel
    but the base, against it; none where either did not access the type."""

    name: str
    counts: Counts
    places: dict[str, Span | None]
    changes: dict[str, Moved]


class TypeRow(Record, frozen=True):
    """A type that some kernel accessed. ``sizes`` in bytes, None where a kernel did not access it;
    ``lines``: how many lines the accessed fields lie in, if objects are aligned to one;
    ``elsewhere``: how often something was accessed of which the field is not known."""

    name: str
    sizes: dict[str, int | None]
    lines: dict[str, int | None]
    elsewhere: Counts
    fields: list[FieldRow]

    @property
    def compared(self) -> bool:
        """Whether every kernel accessed it."""
        return None not in self.sizes.values()

    @property
    def changed(self) -> bool:
        """Whether kernels that accessed it have another size, or a field in other lines."""
        known = {size for size in self.sizes.values() if size is not None}
        moved = any(change not in ("none", "offset") for change in self.changes)
        return len(known) > 1 or moved

    @property
    def changes(self) -> set[Moved]:
        """What became of its fields."""
        return {change for field in self.fields for change in field.changes.values()}


class Neighbour(Record, frozen=True):
    """What shares a line with a variable. ``size`` in bytes, 0 where it is not known."""

    name: str
    size: int
    accessed: bool


class VariablePlace(Record, frozen=True):
    """A variable on one kernel. ``at``: how many bytes behind the start of a line it begins."""

    section: str
    at: int
    size: int
    neighbours: list[Neighbour]


class VariableRow(Record, frozen=True):
    """A variable that some kernel accessed. ``came`` and ``went``: on each kernel but the base that
    is known, the names of neighbours that it has there only, or on the base only."""

    name: str
    counts: Counts
    places: dict[str, VariablePlace | None]
    came: dict[str, list[str]]
    went: dict[str, list[str]]

    @property
    def changed(self) -> bool:
        """Whether it has another size or section, or shares its lines with others."""
        known = {(one.section, one.size) for one in self.places.values() if one}
        return len(known) > 1 or any([*self.came.values(), *self.went.values()])


class RecordedLayout(Record, frozen=True):
    """``setting``: the point of the sweep, "" for the only one; ``ops``: what counts are of, None
    if unknown. ``no_data``: why accesses are not known of some kernels. Types and variables stand
    with those first that were accessed most."""

    schema: Literal["profdiff.recorded-layout/1"]
    profdiff: str
    line_size: int
    labels: list[str]
    setting: str
    ops: int | None
    no_data: dict[str, str]
    types: list[TypeRow]
    variables: list[VariableRow]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/recorded-layout.schema.json`` is a copy."""
    return schema_of(RecordedLayout, "profdiff report --layout")
