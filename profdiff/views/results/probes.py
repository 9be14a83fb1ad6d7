"""What probes read, as histograms: values, or powers of two where there are many."""

from collections.abc import Mapping

from profdiff.base import units
from profdiff.collectors.exact.probes import Values
from profdiff.collectors.probe.named import Probe
from profdiff.evidence.findings import Findings
from profdiff.evidence.probes import Probed, probes
from profdiff.views.record import Counts, Record

_MOST_ROWS = 16


class Bucket(Record, frozen=True):
    """``low`` and ``high`` value, both of them in it; in how many calls of each kernel."""

    low: int
    high: int
    calls: Counts


class ProbedVariable(Record, frozen=True):
    """A variable where its function begins. By kernel, of those that have the function and the
    variable: ``places`` where it begins (inlined copies, too), ``calls``, the calls of which the
    value is ``unread``, and calls with ``others`` of too many different values. ``absent``: kernels
    that have no such function, or no such variable of it. ``histogram``: by value. ``notes``: what
    a table does not say. The ``variable`` of what a function returns is ``return``."""

    function: str
    variable: str
    places: Counts
    calls: Counts
    unread: Counts
    others: Counts
    absent: list[str]
    histogram: list[Bucket]
    notes: list[str]


def probed(findings: Findings) -> list[ProbedVariable]:
    """Those of the session, at the setting. Raises SessionError, InputError."""
    if findings.session is None:
        return []
    told = findings.results
    found = probes(findings.session, told.runs, findings.setting, told.labels)
    return [_shown(one) for one in found]


def _shown(one: Probed) -> ProbedVariable:
    having = {label: values for label, values in one.values.items() if values.places}
    absent = [label for label in one.values if label not in having]
    every = sorted({value for values in having.values() for value in values.counts})
    spans = [(value, value) for value in every]
    if len(every) > _MOST_ROWS:
        spans = sorted({_power(value) for value in every})
    return ProbedVariable(
        function=one.probe.function,
        variable=one.probe.variable,
        places={label: values.places for label, values in having.items()},
        calls={label: values.calls for label, values in having.items()},
        unread={label: values.unread for label, values in having.items()},
        others={label: values.others for label, values in having.items()},
        absent=absent,
        histogram=[
            Bucket(
                low=low,
                high=high,
                calls={
                    label: sum(n for value, n in values.counts.items() if low <= value <= high)
                    for label, values in having.items()
                },
            )
            for low, high in spans
        ],
        notes=[
            *(f"{one.probe.words} cannot be read on {label}" for label in absent),
            *_begins(having),
            *_not_known(one.probe, having),
        ],
    )


def _begins(having: Mapping[str, Values]) -> list[str]:
    return [
        f"{label}: the function begins at {units.counted(values.places, 'place')}"
        for label, values in having.items()
        if values.places > 1
    ]


def _not_known(probe: Probe, having: Mapping[str, Values]) -> list[str]:
    if not probe.returns or not any(values.unread for values in having.values()):
        return []
    return ["not known: calls of inlined copies, and calls that have not returned"]


def _power(value: int) -> tuple[int, int]:
    """The values that have as many binary digits, and the same sign."""
    if value == 0:
        return 0, 0
    low = 1 << (abs(value).bit_length() - 1)
    return (low, 2 * low - 1) if value > 0 else (1 - 2 * low, -low)
