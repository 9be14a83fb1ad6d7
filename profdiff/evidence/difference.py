"""A difference of a kernel to the base, and how sure it is."""

import msgspec

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
