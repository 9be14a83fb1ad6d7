"""Two lengths of a workload: what their difference leaves out, and what speaks against it."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated

from msgspec import Meta

from profdiff.evidence import lengths as evidence
from profdiff.views.record import Record

Number = Annotated[int, Meta(ge=0)]

# A fixed part below nothing by more than this share says that ops do not cost the same.
_CURVED = 0.01


class Fixed(Record, frozen=True):
    """What of a kernel's whole command does not grow with operations, in units of the metric, and
    its ``share`` of the whole, 0 to 1. Below 0 if a longer run costs more for each operation."""

    label: str
    collector: str
    metric: str
    count: int
    share: float


class Growth(Record, frozen=True):
    """The memory of the workload, in KiB, where the longer run uses more."""

    label: str
    short_kib: Number
    long_kib: Number


class Length(Record, frozen=True):
    """A parameter's value in the shorter run and in the longer one."""

    parameter: str
    short: str
    long: str


class Lengths(Record, frozen=True):
    """``short_ops`` and ``long_ops``: operations in both runs; results are of the difference."""

    parameters: list[Length]
    short_ops: Number
    long_ops: Number
    fixed: list[Fixed]
    growth: list[Growth]

    @property
    def facts(self) -> list[str]:
        """What is left out, a line for each metric."""
        found = []
        for _, members in groupby(self.fixed, key=lambda one: (one.collector, one.metric)):
            some = list(members)
            whole = " of the whole command"
            told = [
                f"{one.label} {one.count:,} ({100 * one.share:.1f}%{whole if not row else ''})"
                for row, one in enumerate(some)
            ]
            found.append(
                f"left out: {some[0].metric} that do not grow with ops (start-up, set-up, exit): "
                f"{', '.join(told)}"
            )
        return found

    @property
    def cautions(self) -> list[str]:
        """Why the difference may not be the cost of operations."""
        return list(self._cautions())

    def _cautions(self) -> Iterator[str]:
        names = " and ".join(one.parameter for one in self.parameters)
        advice = "if it is not the number of operations, record with --difference none"
        if self.growth:
            told = ", ".join(
                f"{one.label} {one.short_kib:,} to {one.long_kib:,} KiB" for one in self.growth
            )
            yield (
                f"{names} changes more than the number of ops: the memory of the workload grows "
                f"with it ({told}); {advice}"
            )
        curved = list(dict.fromkeys(one.label for one in self.fixed if one.share < -_CURVED))
        if curved:
            yield (
                f"ops do not all cost the same ({', '.join(curved)}): later ones cost more, so "
                "counts per op are those of the longer run's second part"
            )


def lengths(found: evidence.Lengths | None) -> Lengths | None:
    """None where nothing is subtracted."""
    if found is None:
        return None
    return Lengths(
        parameters=[
            Length(parameter=name, short=short, long=long)
            for name, (short, long) in found.parameters.items()
        ],
        short_ops=found.ops[0],
        long_ops=found.ops[1],
        fixed=[
            Fixed(
                label=one.label,
                collector=one.collector,
                metric=one.metric.title,
                count=round(one.count),
                share=one.share,
            )
            for one in found.fixed
        ],
        growth=[
            Growth(label=one.label, short_kib=one.short_kib, long_kib=one.long_kib)
            for one in found.growth
        ],
    )
