"""What ``report --layout --json`` writes, made of what a recording accessed. ``docs/types.md``
explains it.

Values are by label, the base's first; None where a kernel has no such thing, or nothing is known of
it. Counts are of the run that stands for the kernel."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.base.units import LINE
from profdiff.evidence.findings import Findings
from profdiff.profile.data.type_layout import (
    AccessedField,
    AccessedType,
    AccessedVariable,
    FieldPlace,
    PlacedVariable,
    accessed,
    accessed_types,
    accessed_variables,
)
from profdiff.views.layout import Moved, Span, moved
from profdiff.views.record import Counts, Record, by_label, schema_of

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


def recorded_layout(findings: Findings) -> RecordedLayout:
    """At a setting, everything. Raises InputError where nothing tells which instructions ran."""
    comparison = findings.exact
    if comparison is None:
        raise InputError(
            "--layout needs exact counts, which tell what each instruction did: record with "
            "--collector exact, or compare types without a recording: profdiff layout"
        )
    labels = comparison.labels
    data = accessed(comparison, findings.session)
    types = accessed_types(data.kernels) if data.known else []
    variables = accessed_variables(data.kernels) if data.known else []
    return RecordedLayout(
        schema=SCHEMA,
        profdiff=__version__,
        line_size=LINE,
        labels=labels,
        setting=comparison.setting.title,
        ops=comparison.ops,
        no_data={label: why for label, why in zip(labels, data.missing, strict=True) if why},
        types=[_type(labels, one) for one in types],
        variables=[_variable(labels, variable) for variable in variables],
    )


def _type(labels: Sequence[str], found: AccessedType) -> TypeRow:
    return TypeRow(
        name=found.name,
        sizes=by_label(
            labels, (None if layout is None else layout.size for layout in found.layouts)
        ),
        lines=by_label(labels, (found.lines(kernel) for kernel in range(len(labels)))),
        elsewhere=by_label(labels, found.elsewhere),
        fields=[_field(labels, found, field) for field in found.fields],
    )


def _field(labels: Sequence[str], of: AccessedType, one: AccessedField) -> FieldRow:
    base, *others = spans = [_span(place) for place in one.places]
    known, *also = [layout is not None for layout in of.layouts]
    return FieldRow(
        name=one.name,
        counts=by_label(labels, one.counts),
        places=by_label(labels, spans),
        changes={
            label: moved(base, span)
            for label, span, there in zip(labels[1:], others, also, strict=True)
            if known and there and (base or span)
        },
    )


def _span(place: FieldPlace | None) -> Span | None:
    if place is None:
        return None
    return Span(
        line=place.lines[0],
        last_line=place.lines[-1],
        bit_offset=place.bit_offset,
        bit_size=place.bit_size,
    )


def _variable(labels: Sequence[str], one: AccessedVariable) -> VariableRow:
    base, *others = one.places
    came, went = dict[str, list[str]](), dict[str, list[str]]()
    for label, place in zip(labels[1:], others, strict=True):
        if base and place:
            before, now = _beside(base), _beside(place)
            came[label] = [name for name in now if name not in before]
            went[label] = [name for name in before if name not in now]
    return VariableRow(
        name=one.name,
        counts=by_label(labels, one.counts),
        places=by_label(labels, map(_place, one.places)),
        came=came,
        went=went,
    )


def _beside(place: PlacedVariable) -> list[str]:
    return list(dict.fromkeys(neighbour.name for neighbour in place.neighbours))


def _place(place: PlacedVariable | None) -> VariablePlace | None:
    if place is None:
        return None
    return VariablePlace(
        section=place.section,
        at=place.at,
        size=place.size,
        neighbours=[
            Neighbour(name=neighbour.name, size=neighbour.size, accessed=neighbour.accessed)
            for neighbour in place.neighbours
        ],
    )
