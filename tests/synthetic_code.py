"""Made-up code of functions, for the page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.reports.page import code
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

START = 0xFFFF_FFFF_8123_4560
BYTES = 4


def instruction(
    address: int,
    counts: Mapping[str, int],
    text: str | Mapping[str, str] = "mov %rax,(%rbx)",
    *,
    line: int | Mapping[str, int] = 1,
    file: str = "mm/x.c",
    place: int = 0,
    relation: Relation | None = None,
    taken: Mapping[str, int] | None = None,
    target: int | None = None,
    samples: Mapping[str, int] | None = None,
    other: int = 0x1000,
    classes: Iterable[str] = (),
    accesses: Mapping[str, Sequence[Access]] | None = None,
) -> Row:
    """A row of the kernels in ``counts``; ``other``: by how much later the code of each further
    kernel lies. ``target``: of the first kernel."""
    labels = list(counts)
    texts = text if isinstance(text, Mapping) else dict.fromkeys(labels, text)
    lines = line if isinstance(line, Mapping) else dict.fromkeys(labels, line)
    shift = {label: n * other for n, label in enumerate(labels)}
    if relation is None:
        relation = "same" if len(set(texts.values())) == 1 else "changed"
    return Row(
        place=place,
        relation=relation,
        address={label: f"{address + shift[label]:#x}" for label in labels},
        text=dict(texts),
        count=dict(counts),
        samples=None if samples is None else dict(samples),
        taken=None if taken is None else dict(taken),
        target={} if target is None else {one: f"{target + shift[one]:#x}" for one in labels},
        classes=list(classes),
        accesses={label: list(own) for label, own in (accesses or {}).items()},
        file=file,
        line=lines[labels[0]],
        files={},
        lines=dict(lines),
    )


def annotation(
    rows: Sequence[Row],
    labels: Sequence[str] = ("base", "new"),
    *,
    chains: Sequence[Sequence[str]] = (("work",),),
    sources: Mapping[int, str] | None = None,
    notes: Sequence[str] = (),
) -> Annotation:
    """The code of a function with these rows, and the sums of them; ``sources``: texts of lines."""
    total = {label: sum(row.count.get(label, 0) for row in rows) for label in labels}
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        one = lines.setdefault(
            (row.file, row.line), {"lines": {}, "count": dict.fromkeys(labels, 0), "places": []}
        )
        one["lines"].update(row.lines)
        for label, count in row.count.items():
            one["count"][label] += count
        if row.place not in one["places"]:
            one["places"].append(row.place)
    first = labels[0]
    same = {
        label: sum(
            row.count[label] - row.count[first]
            for row in rows
            if row.relation == "same" and {label, first} <= set(row.count)
        )
        for label in labels[1:]
    }
    return Annotation(
        schema=SCHEMA,
        function=chains[0][-1],
        side="kernel",
        labels=list(labels),
        metric="instructions",
        unit="instructions",
        exact=all(row.samples is None for row in rows),
        ops=None,
        self=total,
        samples=None,
        calls=None,
        size={label: sum(BYTES for row in rows if label in row.text) for label in labels},
        split={
            label: Split(same=of, other=total[label] - total[first] - of)
            for label, of in same.items()
        },
        places=[
            Place(
                chain=list(chain),
                chains={label: list(chain) for label in labels},
                self={
                    label: sum(row.count.get(label, 0) for row in rows if row.place == n)
                    for label in labels
                },
            )
            for n, chain in enumerate(chains)
        ],
        rows=list(rows),
        lines=[
            Line(
                file=file,
                line=line,
                text=(sources or {}).get(line),
                text_of=list(labels) if line in (sources or {}) else [],
                samples=None,
                **one,
            )
            for (file, line), one in lines.items()
        ],
        notes=list(notes),
    )


def large(executed: int, labels: Sequence[str] = ("base", "new")) -> Annotation:
    """A function of so many executed instructions: loops, other code, inlined lines."""
    rows = []
    for n in range(executed):
        address = START + BYTES * n
        counts = {label: 1000 + n + (37 * k if n % 5 == 0 else 0) for k, label in enumerate(labels)}
        line = 10 + n // 3
        if n % 11 == 4:
            rows.append(
                instruction(
                    address,
                    counts,
                    f"jne work+{BYTES * max(0, n - 9):#x}",
                    line=line,
                    taken={label: count // 3 for label, count in counts.items()},
                    target=START + BYTES * max(0, n - 9),
                )
            )
        elif n % 13 == 6:
            rows.append(instruction(address, {labels[-1]: 5}, f"call f{n}", relation="only"))
        else:
            texts = {one: f"add ${n + k * (n % 17 == 0)},%rax" for k, one in enumerate(labels)}
            rows.append(instruction(address, counts, texts, line=line))
    return annotation(rows, labels, sources={10 + n: f"x[{n}] = y;" for n in range(executed)})


@contextmanager
def shown(codes: Mapping[str, Annotation] | str) -> Iterator[None]:
    """Reports show the code of these functions, by name, or cannot show any, as a text says."""

    class Fixed:
        def __init__(self, comparison: Comparison, session: object = None) -> None:
            self.functions = comparison.functions

        def annotation(self, function: int) -> Annotation:
            if isinstance(codes, str):
                raise InputError(codes)
            found = codes.get(self.functions[function].name)
            return found if found is not None else annotation([])

    with patch.object(code, "Annotations", Fixed):
        yield
