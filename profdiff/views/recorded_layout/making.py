"""The layout of a recording, from what it accessed."""

from collections.abc import Sequence

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.base.units import LINE
from profdiff.evidence.findings import Findings
from profdiff.profile.data.type_layout import (
    AccessedField,
    AccessedType,
    FieldPlace,
    accessed,
    accessed_types,
)
from profdiff.profile.data.variable_layout import (
    AccessedVariable,
    PlacedVariable,
    accessed_variables,
)
from profdiff.views.layout import Span, moved
from profdiff.views.record import by_label
from profdiff.views.recorded_layout import records


def recorded_layout(findings: Findings) -> records.RecordedLayout:
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
    return records.RecordedLayout(
        schema=records.SCHEMA,
        profdiff=__version__,
        line_size=LINE,
        labels=labels,
        setting=comparison.setting.title,
        ops=comparison.ops,
        no_data={label: why for label, why in zip(labels, data.missing, strict=True) if why},
        types=[_type(labels, one) for one in types],
        variables=[_variable(labels, one) for one in variables],
    )


def _type(labels: Sequence[str], found: AccessedType) -> records.TypeRow:
    return records.TypeRow(
        name=found.name,
        sizes=by_label(labels, (None if one is None else one.size for one in found.layouts)),
        lines=by_label(labels, (found.lines(kernel) for kernel in range(len(labels)))),
        elsewhere=by_label(labels, found.elsewhere),
        fields=[_field(labels, found, field) for field in found.fields],
    )


def _field(labels: Sequence[str], of: AccessedType, one: AccessedField) -> records.FieldRow:
    base, *others = spans = [_span(place) for place in one.places]
    known, *also = [layout is not None for layout in of.layouts]
    return records.FieldRow(
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


def _variable(labels: Sequence[str], one: AccessedVariable) -> records.VariableRow:
    base, *others = one.places
    came, went = dict[str, list[str]](), dict[str, list[str]]()
    for label, place in zip(labels[1:], others, strict=True):
        if base and place:
            before, now = _beside(base), _beside(place)
            came[label] = [name for name in now if name not in before]
            went[label] = [name for name in before if name not in now]
    return records.VariableRow(
        name=one.name,
        counts=by_label(labels, one.counts),
        places=by_label(labels, map(_place, one.places)),
        came=came,
        went=went,
    )


def _beside(place: PlacedVariable) -> list[str]:
    return list(dict.fromkeys(one.name for one in place.neighbours))


def _place(place: PlacedVariable | None) -> records.VariablePlace | None:
    if place is None:
        return None
    return records.VariablePlace(
        section=place.section,
        at=place.at,
        size=place.size,
        neighbours=[
            records.Neighbour(name=one.name, size=one.size, accessed=one.accessed)
            for one in place.neighbours
        ],
    )
