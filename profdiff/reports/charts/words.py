"""What charts say of metrics, kernels and runs. Strangers' words are bounded here, each by itself:
no title and no note is cut."""

import re
from collections.abc import Iterable, Sequence

from profdiff.base import guest_clock, units
from profdiff.base.names import shortened
from profdiff.evidence.results import Result, Results
from profdiff.session.manifest import Kernel
from profdiff.views.results.result import source

_MOST_LISTED = 10
_LABEL = 24  # columns
_UNIT = 48
# More points than these are a heap, and a large file.
MOST_BOOTS = 5_000
MANY_BOOTS = "too many boots to draw each"


def labels(kernels: Iterable[str]) -> list[str]:
    """Kernels' labels, short enough for a chart; different ones stay different."""
    given = list(kernels)
    cut = shortened(map(units.printable, given), _LABEL)
    return [cut[units.printable(label)] for label in given]


def short(text: str, columns: int = 24) -> str:
    """A stranger's words, short enough for a chart."""
    return units.shorten(text, columns)


def file_part(metric: str) -> str:
    """A metric's name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", metric).strip("-.")[:100] or "metric"


def listed(told: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    return units.few(told, _MOST_LISTED, last=", and ")


def origin(kernels: Sequence[Kernel], command: str) -> list[str]:
    """Notes: the kernels' releases, and the workload."""
    named = zip(labels(one.label for one in kernels), kernels, strict=True)
    told = [f"{label}: {short(one.release or 'release unknown', 32)}" for label, one in named]
    if len(told) > 1:
        told[0] += " (the base)"
    return [listed(told), f"workload: {short(command, 300)}"]


def left_out(*counted: tuple[int, str]) -> list[str]:
    """A note for each of (how many, of what) that is not shown, where there are any."""
    return [f"{count:,} more {what} are not shown" for count, what in counted if count > 0]


def title(result: Result, what: str) -> str:
    """The metric, and ``what`` is shown of it."""
    name, unit = result.metric.name, result.metric.unit
    told = short(name, 30)
    if unit not in ("", name):
        told += f", {_unit(result)}"
    elif result.per_op:
        told += " per op"
    return f"{told}, {what}"


def axis(result: Result) -> str:
    """What stands along the values."""
    return _unit(result)


def _unit(result: Result) -> str:
    unit = short(result.metric.unit or result.metric.name, _UNIT)
    return guest_clock.per_op(unit) if result.per_op else unit


def notes(evidence: Results, results: Sequence[Result], command: str) -> list[str]:
    """Kernels, workload, where the values of one metric come from, and failed runs."""
    failed = [
        f"{label} {count:,}"
        for place, label in enumerate(labels(evidence.labels))
        if (count := sum(result.cells[place].failed for result in results))
    ]
    return [
        *origin(evidence.kernels, command),
        f"{source(results[0])}; {results[0].metric.better} is better",
        *([f"failed runs: {listed(failed)}"] if failed else []),
    ]


def one_boot(result: Result) -> str:
    """What can be said of how boots scatter where each cell has one."""
    if result.deterministic:
        return "one boot of each cell, with exact counts"
    return "one boot of each cell: the spread between boots is not known"
