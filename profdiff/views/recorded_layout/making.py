"""The layout of a recording, from what it executed and accessed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff import __version__
from profdiff.base.cache_line import LINE, least
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.code.placement import (
    CodePlacement,
    PlacedCode,
    PlacedFunction,
    PlacedLoop,
)
from profdiff.profile.comparison import Comparison
from profdiff.profile.data_layout.accessed import accessed
from profdiff.profile.data_layout.type_fields import FieldPlace
from profdiff.profile.data_layout.types import AccessedField, AccessedType, accessed_types
from profdiff.profile.data_layout.variables import (
    AccessedVariable,
    PlacedVariable,
    accessed_variables,
)
from profdiff.views.layout import Span, moved
from profdiff.views.profile.functions import functions
from profdiff.views.record import by_label
from profdiff.views.recorded_layout import records


def recorded_layout(findings: Findings) -> records.RecordedLayout:
    """At a setting, everything. Raises InputError where nothing tells which instructions ran."""
    comparison = next((one for one in findings.comparisons if class_names(one)), None)
    if comparison is None:
        raise InputError(
            "--layout needs exact counts, which tell what each instruction did: record with "
            "--collector exact, or compare types without a recording: profdiff layout"
        )
    labels = comparison.labels
    data = accessed(comparison, findings.session)
    types = accessed_types(data.kernels) if data.known else []
    variables = accessed_variables(data.kernels) if data.known else []
    code = CodePlacement(comparison, findings.session)
    return records.RecordedLayout(
        schema=records.SCHEMA,
        profdiff=__version__,
        line_size=LINE,
        labels=labels,
        setting=comparison.setting.title,
        ops=comparison.ops,
        no_data=_told(labels, data.missing),
        types=[_type(labels, one) for one in types],
        variables=[_variable(labels, one) for one in variables],
        no_code=_told(labels, code.missing),
        loops=code.knows_loops,
        functions=_functions(comparison, code),
    )


def _told(labels: Sequence[str], why: Sequence[str]) -> dict[str, str]:
    return {label: one for label, one in zip(labels, why, strict=True) if one}


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


def _functions(comparison: Comparison, code: CodePlacement) -> list[records.FunctionRow]:
    labels, rows = comparison.labels, _hottest(code.counts)
    named = functions(comparison, rows)
    return [
        _function(labels, one.title, code.placed(row))
        for row, one in zip(rows.tolist(), named, strict=True)
    ]


def _hottest(executed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The functions, int64[F, K], that executed: those with the largest counts and those with the
    largest deltas in turn."""
    rows = np.flatnonzero(executed.any(axis=1))
    most = executed[rows].max(axis=1, initial=0)
    delta = np.abs(executed[rows] - executed[rows][:, :1]).max(axis=1, initial=0)
    by_count, by_delta = np.lexsort((-delta, -most)), np.lexsort((-most, -delta))
    ranks = np.empty((2, len(rows)), np.int64)
    ranks[0, by_count] = ranks[1, by_delta] = np.arange(len(rows))
    return rows[np.lexsort((ranks[0], ranks.min(axis=0)))]


def _function(labels: Sequence[str], title: str, one: PlacedFunction) -> records.FunctionRow:
    return records.FunctionRow(
        name=title,
        places=by_label(labels, map(_code, one.codes)),
        loops=[records.LoopRow(places=by_label(labels, map(_loop, loop))) for loop in one.loops],
    )


def _code(place: PlacedCode | None) -> records.CodePlace | None:
    if place is None:
        return None
    return records.CodePlace(
        count=place.count,
        size=place.size,
        at=None if place.start is None else place.start % LINE,
        executed=place.executed,
        lines=place.lines,
        least=least(place.executed),
    )


def _loop(place: PlacedLoop | None) -> records.LoopPlace | None:
    if place is None:
        return None
    return records.LoopPlace(
        turns=place.turns,
        at=place.head % LINE,
        offset=place.offset,
        executed=place.executed,
        lines=place.lines,
        least=least(place.executed),
        function=place.function,
        file=place.file,
        line=place.line,
    )
