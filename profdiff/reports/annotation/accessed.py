"""What instructions access, behind them: ``; vm_area_struct.vm_flags``."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from profdiff.base import units
from profdiff.base.names import shortened
from profdiff.views.annotation.access import UNKNOWN, title
from profdiff.views.annotation.records import Row
from profdiff.views.record import Counts

_SIGN = "; "
# Between the names that kernels have, and what stands for a kernel without one.
_BETWEEN, _NONE = " / ", "-"
# Fewer columns of a name tell nothing.
_LEAST = 10
# Code and names share what room there is; code has the larger part.
_CODE_PART = 0.6
# So many things of a source line are named.
_NAMED = 3


def of_row(row: Row, labels: Iterable[str]) -> dict[str, str]:
    """What an instruction accesses, by kernel."""
    return {label: title(row.accesses[label]) for label in labels if label in row.accesses}


def of_rows(rows: Iterable[Row], labels: Collection[str]) -> dict[str, str]:
    """What is known of what several instructions access that were executed, as one text; what is
    accessed most is first."""
    counts: dict[str, int] = {}
    for row in rows:
        told = _joined(of_row(row, labels), labels)
        if told not in ("", UNKNOWN):
            counts[told] = counts.get(told, 0) + _most(row.count)
    order = sorted(filter(counts.get, counts), key=lambda one: (-counts[one], one))
    return dict.fromkeys(labels, units.few(order, _NAMED, ", ", " and ")) if order else {}


def behind(
    texts: Sequence[str], names: Sequence[Mapping[str, str]], labels: Sequence[str], room: int
) -> list[str]:
    """Each text with what it accesses on ``labels``, in a column where that can be; ``texts``: in
    their room."""
    told = [_joined(own, labels) for own in names]
    widest = max(
        (units.width(text) for text, one in zip(texts, told, strict=True) if one), default=0
    )
    column = min(widest, int(room * _CODE_PART))
    short = shortened([one for one in told if one], max(room - column - _extra(), _LEAST))
    made = []
    for text, one in zip(texts, told, strict=True):
        own = units.width(text)
        left = room - max(own, column) - _extra()
        if one and left >= min(_LEAST, units.width(one)):
            blanks = " " * (max(column - own, 0) + 2)
            text = f"{text}{blanks}{_SIGN}{units.shorten(short[one], left)}"
        made.append(text)
    return made


def _extra() -> int:
    return 2 + len(_SIGN)


def _joined(names: Mapping[str, str], labels: Iterable[str]) -> str:
    """The names that kernels have, one where they have the same."""
    told = [names[label] for label in labels if label in names]
    if len(set(told)) < 2:
        return told[0] if told else ""
    return _BETWEEN.join(one or _NONE for one in told)


def _most(counts: Counts) -> int:
    return max(map(abs, counts.values()), default=0)
