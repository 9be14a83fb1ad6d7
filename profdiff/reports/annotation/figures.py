"""The columns of numbers beside code and lines: counts, samples and deltas, per op or whole."""

from collections.abc import Mapping
from functools import cached_property

import msgspec

from profdiff.base import units
from profdiff.forms.columns import Column
from profdiff.forms.numbers import Numbers
from profdiff.views.annotation.records import Annotation
from profdiff.views.record import Counts

_NOTHING: Mapping[str, int] = {}


class Figures(msgspec.Struct, frozen=True, dict=True):
    """Counts of exact recordings; of samples, shares of the function's own with their number. A
    cell is empty where a kernel has no such code, and ``0`` where it executed nothing of it."""

    annotation: Annotation
    numbers: Numbers

    @property
    def labels(self) -> list[str]:
        """The kernels' labels; deltas are relative to the first."""
        return self.annotation.labels

    @cached_property
    def columns(self) -> list[Column]:
        """For ``cells``."""
        base, *others = self.labels
        several = len(others) > 1
        made = [Column(base)]
        if not others and self.annotation.exact:
            made.append(Column("share", spare=1))
        for part, label in enumerate(others):
            own = part if several else None
            made += [Column(label, part=own), Column("delta", part=own, spare=int(several))]
        return [*made, Column("samples")] if self.annotation.samples is not None else made

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return f"{self.annotation.metric}{self.per_op}"

    @property
    def per_op(self) -> str:
        """What stands behind a count."""
        return " per op" if self.numbers.ops else ""

    def cells(
        self, counts: Counts, samples: Counts | None, whole: Counts | None = None
    ) -> list[str]:
        """The cells of a line. ``whole``: what deltas refer to, None for no delta."""
        base, *others = self.labels
        made = [self.count(base, counts)]
        if not others and self.annotation.exact:
            known = base in counts and counts[base]
            made.append(units.share(counts[base], self.annotation.self[base]) if known else "")
        for label in others:
            made += [self.count(label, counts), self.delta(label, whole)]
        if self.annotation.samples is not None:
            made.append(self.samples(samples or {}))
        return made

    def nothing(self) -> list[str]:
        """The cells of a line without numbers."""
        return [""] * len(self.columns)

    def count(self, label: str, counts: Counts) -> str:
        """What a kernel executed of something."""
        if label not in counts:
            return ""
        value = counts[label]
        if not value:
            return "0"
        if self.annotation.exact:
            return self.numbers.count(value)
        return units.share(value, self.annotation.self[label])

    def delta(self, label: str, counts: Counts | None) -> str:
        """How much more that is than on the base; code that a kernel lacks was not executed.
        Nothing where nothing changed: of most lines that is so."""
        delta = (counts or {}).get(label, 0) - (counts or {}).get(self.labels[0], 0)
        return self.numbers.delta(delta) if delta else ""

    def samples(self, samples: Counts) -> str:
        """From how many samples the figures of a line are known."""
        return "/".join(str(samples.get(label, "-")) for label in self.labels) if samples else ""

    def taken(self, counts: Counts, taken: Counts | None, *, absolute: bool) -> str:
        """How often a conditional branch jumped: ``97.5%``, by kernel where they differ."""
        if taken is None:
            return ""
        told = [
            _part(taken[label], counts[label], absolute=absolute) if label in taken else ""
            for label in self.labels
            if label in counts
        ]
        if not any(told):
            return ""
        said = told[:1] if len(set(told)) == 1 else [one or "-" for one in told]
        return " / ".join(said)


def _part(taken: int, count: int, *, absolute: bool) -> str:
    # Where two lengths are subtracted, the longer run can have jumped less.
    if count <= 0 or not 0 <= taken <= count:
        return ""
    return f"{taken:,} of {count:,}" if absolute else units.percent(taken / count)
