"""Functions of several architectures, or compilers, side by side: how each changed, of each part by
itself, and under which compilers it did.

Functions are the same as between kernels: by name and object, namesakes by their file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from profdiff.evidence.function_verdicts import function_verdicts
from profdiff.evidence.parts import PartsFindings
from profdiff.evidence.statistics import Rule, Verdict
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function, match, title
from profdiff.session.held import COMPILER
from profdiff.topics.functions import marks
from profdiff.topics.functions.measure import Unresolved, select, unresolved
from profdiff.topics.functions.selection import Selection
from profdiff.views.record import Counts, Record, Side, counts, side

# all, some, one: in one direction under as many parts; opposed: more under some, less under others;
# elsewhere: under all that have code of it, which can be part of other functions under the others;
# none: no difference; unsure: of some part it is not certain, and the others do not decide.
Extent = Literal["all", "some", "one", "elsewhere", "opposed", "none", "unsure"]
EXTENTS: tuple[Extent, ...] = ("all", "some", "one", "elsewhere", "opposed", "none", "unsure")
# A difference of less than this part of the largest one, both as parts of their run, is none: all
# compilers emit an instruction more or less somewhere.
SMALL = 0.1
_UNSURE, _ABSENT = 2, 3
_RULE = Rule()


class FunctionVerdict(Record, frozen=True):
    """``under``: the parts where the function's own count differs, in order; ``hardly``: those
    where it does by less than ``SMALL`` says."""

    extent: Extent
    under: list[str]
    hardly: list[str]

    @property
    def told(self) -> str:
        """In a table's cell."""
        match self.extent:
            case "one":
                return f"{'mostly' if self.hardly else 'only'} {self.under[0]}"
            case "some":
                return f"{'mostly ' if self.hardly else ''}{', '.join(self.under)}"
            case "elsewhere":
                return f"{', '.join(self.under)}, else no code"
        return self.extent


class KernelExtents(Record, frozen=True):
    """What functions' verdicts come to on one kernel. ``functions``: how many have each extent,
    none that has no difference anywhere; ``shares``: by part, the part of all its functions'
    differences, more and less alike, that those of each extent make up, which adds up to 1;
    ``unmeasured``: the parts without a profile of the kernel, of which verdicts say nothing."""

    kernel: str
    unmeasured: list[str]
    functions: dict[Extent, int]
    shares: dict[str, dict[Extent, float]]


def verdicts(
    parts: Mapping[str, Comparison], own: Mapping[str, NDArray[np.int64]], label: str
) -> list[FunctionVerdict]:
    """The verdicts on F joint functions, on the kernel ``label`` against the base. ``own``: by
    part, int64[F], the row of each in the part's comparison, -1 where no kernel of it executed the
    function. Parts without that kernel say nothing. Empty where fewer than two have it."""
    having = {name: one for name, one in parts.items() if label in one.labels[1:]}
    if len(having) < 2:
        return []
    signs, sizes = (np.stack(one) for one in zip(*_columns(having, own, label), strict=True))
    sure = np.where(signs == _UNSURE, 0.0, sizes)
    small = np.isin(signs, [-1, 1]) & (sizes < SMALL * sure.max(axis=0))
    signs = np.where(small, 0, signs)
    columns = zip(signs.T.tolist(), small.T.tolist(), strict=True)
    return [_verdict(list(having), *column) for column in columns]


def extents(
    parts: Mapping[str, Comparison],
    own: Mapping[str, NDArray[np.int64]],
    label: str,
    told: Sequence[FunctionVerdict],
    names: Sequence[str],
) -> KernelExtents:
    """The extents of what ``verdicts`` found. ``names``: all parts, with a profile or without."""
    of = {extent: np.array([one.extent == extent for one in told]) for extent in EXTENTS}
    shares: dict[str, dict[Extent, float]] = {}
    for name, one in parts.items():
        if label not in one.labels[1:]:
            continue
        size = np.append(np.abs(one.deltas()[:, one.labels.index(label)]), 0)[own[name]]
        whole = int(size.sum())
        shares[name] = {
            extent: int(size[rows].sum()) / whole if whole else 0.0
            for extent, rows in of.items()
            if rows.any()
        }
    counted = {extent: int(rows.sum()) for extent, rows in of.items() if extent != "none"}
    return KernelExtents(
        kernel=label,
        unmeasured=[name for name in names if name not in shares],
        functions={extent: number for extent, number in counted.items() if number},
        shares=shares,
    )


def _columns(
    having: Mapping[str, Comparison], own: Mapping[str, NDArray[np.int64]], label: str
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each part, int64[F]: the direction (-1, 0, 1; 2: uncertain; 3: no kernel executed code of
    it) and float64[F] the size as a part of the base's whole run."""
    found = []
    for name, one in having.items():
        kernel = one.labels.index(label)
        whole = float(one.totals()[0]) or 1.0
        # The last row stands for what the part does not have.
        sign = np.append(_directions(one, kernel), _ABSENT)
        size = np.append(np.abs(one.deltas()[:, kernel]) / whole, 0.0)
        found.append((sign[own[name]], size[own[name]]))
    return found


def _directions(comparison: Comparison, kernel: int) -> NDArray[np.int64]:
    """int64[F], as the boots say, or of samples where those are too few their number; of exact
    counts each difference is one."""
    sign = np.sign(comparison.deltas()[:, kernel]).astype(np.int64)
    tests = function_verdicts(comparison, kernel)
    if tests is not None and (comparison.samples is None or tests.smallest_p <= _RULE.alpha):
        sure = np.isin(tests.verdicts, [Verdict.EXACT, Verdict.CHANGED])
        flat = np.isin(tests.verdicts, [Verdict.UNCHANGED])
    elif comparison.samples is not None:
        known = marks.Deltas.of(comparison, np.arange(len(sign)))
        sure, flat = known.believed[:, kernel - 1], ~known.few[:, kernel - 1]
    else:
        return sign
    return np.where(sure, sign, np.where(flat | (sign == 0), 0, _UNSURE))


def _verdict(names: Sequence[str], signs: Sequence[int], small: Sequence[bool]) -> FunctionVerdict:
    under = [name for name, sign in zip(names, signs, strict=True) if sign in (-1, 1)]
    hardly = [name for name, one in zip(names, small, strict=True) if one]
    return FunctionVerdict(extent=_extent(len(under), signs), under=under, hardly=hardly)


def _extent(changed: int, signs: Sequence[int]) -> Extent:
    if {-1, 1} <= set(signs):
        return "opposed"
    if _UNSURE in signs:
        return "unsure"
    if not changed:
        return "none"
    if changed == len(signs):
        return "all"
    if changed + signs.count(_ABSENT) == len(signs):
        return "elsewhere"
    return "one" if changed == 1 else "some"


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
        for comparison in part.comparisons:
            first = next(iter(found.values()), comparison)
            if _metric(comparison) == _metric(first):
                found.setdefault(name, comparison)
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
