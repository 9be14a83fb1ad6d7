"""Small made-up annotations, whose sums are those of their rows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.views.annotation.records import (
    SCHEMA,
    Access,
    Annotation,
    Line,
    Place,
    Relation,
    Row,
    Split,
)

# Of each kernel with the row: address, text, count, and where it has them: source line, taken,
# target.
Code = tuple[int, str, int]


class On(NamedTuple):
    """An instruction on one kernel."""

    address: int
    text: str
    count: int
    line: int = 0
    taken: int | None = None
    target: int | None = None
    samples: int | None = None
    accesses: Sequence[Access] = ()


def row(relation: Relation, on: Mapping[str, On], *, place: int = 0, file: str = "mm/x.c") -> Row:
    """A row of the kernels that ``on`` names."""
    first = next(iter(on.values()))
    sampled = first.samples is not None
    return Row(
        place=place,
        relation=relation,
        address={label: f"{one.address:#x}" for label, one in on.items()},
        text={label: one.text for label, one in on.items()},
        count={label: one.count for label, one in on.items()},
        samples={label: one.samples or 0 for label, one in on.items()} if sampled else None,
        taken={label: one.taken for label, one in on.items() if one.taken is not None} or None,
        target={label: f"{one.target:#x}" for label, one in on.items() if one.target is not None},
        classes=[],
        accesses={label: list(one.accesses) for label, one in on.items() if one.accesses},
        file=file,
        line=first.line,
        files={},
        lines={label: one.line for label, one in on.items()},
    )


def annotation(
    labels: Sequence[str],
    rows: Sequence[Row],
    *,
    chains: Sequence[Sequence[str]] = (("f",),),
    texts: Mapping[int, str] | None = None,
    ops: int | None = None,
    calls: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Annotation:
    """The annotation of function ``f``. ``texts``: source lines, by the first kernel's number."""
    base, *others = labels
    sampled = bool(rows) and rows[0].samples is not None
    return Annotation(
        schema=SCHEMA,
        function="f",
        side="kernel",
        labels=list(labels),
        metric="cycles" if sampled else "instructions",
        unit="cycles" if sampled else "instructions",
        exact=not sampled,
        ops=ops,
        self=_sum(labels, rows),
        samples={label: sum((one.samples or {}).get(label, 0) for one in rows) for label in labels}
        if sampled
        else None,
        calls=dict(calls) if calls else None,
        size={label: 4 * sum(label in one.address for one in rows) for label in labels},
        split={
            label: Split(
                same=_delta([one for one in rows if one.relation == "same"], base, label),
                other=_delta([one for one in rows if one.relation != "same"], base, label),
            )
            for label in others
        },
        places=[
            Place(
                chain=list(chain),
                chains={label: list(chain) for label in labels},
                self=_sum(labels, [one for one in rows if one.place == number]),
            )
            for number, chain in enumerate(chains)
        ],
        rows=list(rows),
        lines=_lines(labels, rows, texts or {}),
        notes=list(notes),
    )


def _sum(labels: Sequence[str], rows: Sequence[Row]) -> dict[str, int]:
    return {label: sum(one.count.get(label, 0) for one in rows) for label in labels}


def _delta(rows: Sequence[Row], base: str, label: str) -> int:
    counts = _sum([base, label], rows)
    return counts[label] - counts[base]


def _lines(labels: Sequence[str], rows: Sequence[Row], texts: Mapping[int, str]) -> list[Line]:
    members: dict[tuple[str, tuple[tuple[str, int], ...]], list[Row]] = {}
    for one in rows:
        members.setdefault((one.file, tuple(one.lines.items())), []).append(one)
    made = []
    for (file, lines), own in members.items():
        numbers = dict(lines)
        sampled = own[0].samples is not None
        made.append(
            Line(
                file=file,
                line=own[0].line,
                lines=numbers,
                text=texts.get(own[0].line),
                text_of=list(numbers) if own[0].line in texts else [],
                count=_sum(list(numbers), own),
                samples={
                    label: sum((one.samples or {}).get(label, 0) for one in own)
                    for label in numbers
                }
                if sampled
                else None,
                places=sorted({one.place for one in own}),
            )
        )
    return made
