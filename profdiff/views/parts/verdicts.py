"""Under which compilers a function's difference between two kernels is there: under all, or is it
one compiler's code? Each compiler's difference is known from its own part; what is compared are
directions, and sizes as parts of each one's own run."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.function_verdicts import function_verdicts
from profdiff.evidence.statistics import Rule, Verdict
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions import marks
from profdiff.views.record import Record

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
