"""Functions of several architectures, or compilers, side by side: how each changed, of each part by
itself, and under which compilers it did.

Functions are the same as between kernels: by name and object, namesakes by their file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from profdiff.evidence.parts.findings import PartsFindings
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function, match, title
from profdiff.session.held import COMPILER
from profdiff.topics.functions.measure import Unresolved, select, unresolved
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts.verdicts import FunctionVerdict, KernelExtents, extents, verdicts
from profdiff.views.record import Counts, Record, Side, counts, side

Number = Annotated[int, Meta(ge=0)]


class PartFunction(Record, frozen=True):
    """A function of one part: its counts without and with what it calls or inlines."""

    self: Counts
    total: Counts


class JointFunction(Record, frozen=True):
    """``parts``: by name; null where no kernel of it executed the function, which is not the same
    as a count of 0. ``namesakes``: whether another function has its name and object. ``verdicts``:
    by kernel, under which compilers it changed; empty of architectures, and of fewer than two
    compilers."""

    name: str
    object: str
    file: str
    side: Side
    namesakes: bool
    parts: dict[str, PartFunction | None]
    verdicts: dict[str, FunctionVerdict]

    @property
    def title(self) -> str:
        """Name, object and file where they are needed; one printable line."""
        return title(self.name, self.object, self.file, namesakes=self.namesakes)

    @property
    def self_by_part(self) -> dict[str, Counts | None]:
        """Its counts without what it calls or inlines, by part."""
        return {name: one.self if one else None for name, one in self.parts.items()}


class PartRest(Record, frozen=True):
    """What a part has beside the rows: ``hidden`` functions and their counts, and what is
    ``unresolved``. ``totals``: with the rows. ``ops``: in the window, null if unknown."""

    ops: int | None
    hidden_functions: Number
    hidden: Counts
    unresolved: list[Unresolved]
    totals: Counts


class JointFunctions(Record, frozen=True):
    """The functions of one metric at one setting. ``rows`` are in the order of their places in the
    parts' own reports, the best place first. ``rest``: by part, those with such a profile.
    ``extents``: of each kernel but the base, of all functions; empty where functions have no
    verdicts."""

    metric: str
    unit: str
    collector: str
    exact: bool
    rows: list[JointFunction]
    rest: dict[str, PartRest]
    extents: list[KernelExtents]

    def unresolved(self) -> dict[tuple[str, Side], dict[str, Counts]]:
        """What could not be given a function, by reason and side, of the parts that have it."""
        found: dict[tuple[str, Side], dict[str, Counts]] = {}
        for name, rest in self.rest.items():
            for one in rest.unresolved:
                found.setdefault((one.reason, one.side), {})[name] = one.self
        return found


@dataclass(frozen=True)
class _Part:
    """``own[f]``: the row of joint function f in the comparison, -1 where it has none;
    ``place[f]``: in the order of the part's own report, or the number of functions."""

    comparison: Comparison
    own: NDArray[np.int64]
    place: NDArray[np.int64]


def comparisons(findings: PartsFindings) -> dict[str, Comparison]:
    """For each part, the one of the metric whose functions are shown: the first of the first part
    that has a profile."""
    found: dict[str, Comparison] = {}
    for name, part in findings.parts.items():
        for one in part.comparisons:
            first = next(iter(found.values()), one)
            if _metric(one) == _metric(first):
                found.setdefault(name, one)
    return found


def _metric(comparison: Comparison) -> tuple[str, str]:
    return comparison.runs[0].collector, comparison.metric.name


def parts_functions(findings: PartsFindings, selection: Selection) -> JointFunctions | None:
    """None where no part has a profile. Each part chooses and sorts by
    ``selection`` as in its own report; a row that one of them shows is shown of all."""
    of = comparisons(findings)
    if not of:
        return None
    matched = match([one.functions for one in of.values()])
    parts = {
        name: _part(one, numbers, len(matched.functions), selection)
        for (name, one), numbers in zip(of.items(), matched.numbers, strict=True)
    }
    place = np.min([part.place for part in parts.values()], axis=0)
    # If places are equal, the first part's comes first.
    first = np.argmin([part.place for part in parts.values()], axis=0)
    order = np.lexsort((first, place))
    if selection.sort == "name":
        order = np.array(
            sorted(range(len(order)), key=lambda row: matched.functions[row]), np.int64
        )
    shown = [row for row in order.tolist() if place[row] < len(matched.functions)]
    shown = shown[: selection.top]
    example = next(iter(of.values()))
    told: dict[str, list[FunctionVerdict]] = {}
    own = {name: part.own for name, part in parts.items()}
    if findings.kind is COMPILER:
        known = {label: verdicts(of, own, label) for label in findings.results.labels[1:]}
        told = {label: every for label, every in known.items() if every}
    return JointFunctions(
        metric=example.metric.name,
        unit=example.metric.unit,
        collector=example.runs[0].collector,
        exact=example.metric.exact,
        rows=[
            _row(
                matched.functions[row],
                matched.namesakes[row],
                row,
                parts,
                list(findings.names),
                {label: every[row] for label, every in told.items()},
            )
            for row in shown
        ],
        rest={name: _rest(part, shown, selection.side) for name, part in parts.items()},
        extents=[extents(of, own, label, every, findings.names) for label, every in told.items()],
    )


def _part(comparison: Comparison, numbers: list[int], count: int, selection: Selection) -> _Part:
    own = np.full(count, -1, np.int64)
    own[numbers] = np.arange(len(numbers))
    place = np.full(count, count, np.int64)
    rows = select(comparison, selection._replace(top=None)).shown
    place[np.asarray(numbers, np.int64)[rows]] = np.arange(len(rows))
    return _Part(comparison, own, place)


def _row(
    function: Function,
    namesakes: bool,
    row: int,
    parts: Mapping[str, _Part],
    names: Sequence[str],
    told: dict[str, FunctionVerdict],
) -> JointFunction:
    by_part: dict[str, PartFunction | None] = dict.fromkeys(names)
    for name, part in parts.items():
        at = int(part.own[row])
        if at >= 0:
            one = part.comparison
            by_part[name] = PartFunction(
                self=counts(one.labels, one.self_[at]), total=counts(one.labels, one.total[at])
            )
    return JointFunction(
        name=function.name,
        object=function.object,
        file=function.file,
        side=side(function.in_kernel),
        namesakes=namesakes,
        parts=by_part,
        verdicts=told,
    )


def _rest(part: _Part, shown: Sequence[int], wanted: Side | None) -> PartRest:
    one = part.comparison
    rows = one.rows(wanted)
    own = part.own[list(shown)]
    hidden = np.setdiff1d(rows, own)
    return PartRest(
        ops=one.ops,
        hidden_functions=len(hidden),
        hidden=counts(one.labels, one.self_[hidden].sum(axis=0)),
        unresolved=unresolved(one, wanted),
        totals=counts(one.labels, one.totals(wanted)),
    )
