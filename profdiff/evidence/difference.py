"""A difference of a kernel to the base, and how sure it is."""

from collections.abc import Sequence

import msgspec

from profdiff.base.errors import InputError
from profdiff.evidence.statistics.rule import Verdict


class Difference(msgspec.Struct, frozen=True):
    """``delta``: of the runs that stand for both kernels, in the unit of the counts. ``low`` and
    ``high``: its ends over boots, over varied states, or over what names leave open. ``states``: in
    how many states it was seen, 1 for the plain one alone. ``causes``: why it is not one sure
    number, in words of its topic."""

    delta: float
    low: float
    high: float
    verdict: Verdict
    states: int = 1
    causes: tuple[str, ...] = ()


def summed(differences: Sequence[Difference]) -> Difference:
    """That of the sum of some rows, sure where each is."""
    unsure = [difference.verdict for difference in differences if not difference.verdict.is_sure]
    return Difference(
        sum(difference.delta for difference in differences),
        sum(difference.low for difference in differences),
        sum(difference.high for difference in differences),
        unsure[0] if unsure else Verdict.EXACT,
        causes=tuple(sorted({cause for difference in differences for cause in difference.causes})),
    )


class AbsentError(InputError):
    """No kernel has the row, or accesses the data, that is named."""
