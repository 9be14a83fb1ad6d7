"""The shared lines as CSV: a row for each name of data, unrounded."""

from collections.abc import Iterator

from profdiff.forms.csv import Line, text, written
from profdiff.views.sharing.records import Row, SharingDocument, Sums

_NAMES = ("data", "kind", "type", "symbol", "field", "alternatives", "fields")
_SUMS = (
    *("transfers", "false", "untold", "recycled", "misses", "fewest_misses", "most_misses"),
    *(
        "recycled_misses",
        "read_fetches",
        "write_fetches",
        "upgrades",
        "lines",
        "bystander_reads",
        "locked",
        "verdict",
    ),
)
_CHANGES = (
    *("transfers delta", "transfers low", "transfers high"),
    *("misses delta", "misses low", "misses high", "verdict", "causes"),
)


def render(document: SharingDocument) -> str:
    """All rows; counts of the window, differences per op. A delta is blank where it is unsure."""
    labels = document.labels
    header = [*_NAMES]
    header += [f"{name} {label}" for label in labels for name in ("ops", *_SUMS)]
    header += [f"change {name} {label}" for label in labels[1:] for name in _CHANGES]
    header += ["function", "within", "bystanders"]
    return written(header, _rows(document))


def _rows(document: SharingDocument) -> Iterator[Line]:
    for row in document.rows:
        data = row.data
        first = row.functions[0] if row.functions else None
        yield [
            text(data.title),
            data.kind,
            *map(text, (data.type, data.symbol, data.field)),
            text("|".join(data.alternatives)),
            text("|".join(row.fields)),
            *(
                value
                for kernel in document.kernels
                for value in (kernel.ops, *_sums(row.kernels[kernel.label]))
            ),
            *_changes(row),
            text(first.name) if first else "",
            text("|".join(first.within)) if first else "",
            text("|".join(one.data.title for one in row.bystanders)),
        ]


def _sums(one: Sums) -> Iterator[object]:
    for name in _SUMS:
        yield getattr(one, name)


def _changes(row: Row) -> Iterator[object]:
    for one in row.changes.values():
        for difference in (one.transfers, one.misses):
            yield "" if difference.delta is None else difference.delta
            yield from (difference.low, difference.high)
        yield from (one.verdict, "|".join(one.causes))
