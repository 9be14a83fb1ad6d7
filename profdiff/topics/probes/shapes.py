"""What is shown of probes: a histogram for each, of values, or of powers of two where there are
many."""

from collections.abc import Mapping

from profdiff.base import units
from profdiff.collectors.exact.probes import Values
from profdiff.evidence.findings import Findings
from profdiff.shapes.table import Section, Table, by_figure, of_row, tabulate
from profdiff.topics.probes.measure import Probed, probes

_MAX_ROWS = 16


# A name, the calls of each kernel, and the lowest and highest value, None for what is no value.
_Bucket = tuple[str, Mapping[str, int], int | None, int | None]


def section(findings: Findings) -> Section:
    """The probes of the session, at the setting; no tables where it has none. Raises SessionError,
    InputError."""
    session, results = findings.session, findings.results
    known = (
        [] if session is None else probes(session, results.runs, findings.setting, results.labels)
    )
    tables = [table(number, probed, findings.setting.ops) for number, probed in enumerate(known)]
    return Section(name="probes", title="Probes", tables=tables)


def table(number: int, probed: Probed, ops: int | None) -> Table:
    """The histogram of one probe."""
    probe = probed.probe
    values = {label: found for label, found in probed.values.items() if found.places}
    title = f"{probe.function} {probe.variable}"
    return tabulate(
        [
            of_row(probe.variable, "name", lambda row: row[0]),
            of_row("low", "detail", lambda row: row[2]),
            of_row("high", "detail", lambda row: row[3]),
            *by_figure(list(values), "calls", lambda row, kernel: row[1][kernel], "delta"),
        ],
        name=f"probes-{number}",
        title=f"{title}, calls" if values else title,
        kernels=list(values),
        ops=ops,
        rows=_buckets(values),
        sums=[("all calls", {k: v.calls for k, v in values.items()}, None, None)],
        by_kernel=False,
        bars="page",
        notes=_notes(probed, values),
    )


def _notes(probed: Probed, values: Mapping[str, Values]) -> list[str]:
    absent = [label for label in probed.values if label not in values]
    notes = [f"{probed.probe.words} cannot be read on {label}" for label in absent]
    notes += [
        f"{label}: the function begins at {units.counted(found.places, 'place')}"
        for label, found in values.items()
        if found.places > 1
    ]
    if probed.probe.returns and any(found.unread for found in values.values()):
        notes.append("not known: calls of inlined copies, and calls that have not returned")
    return [f"{'; '.join(notes)}."] if notes else []


def _buckets(values: Mapping[str, Values]) -> list[_Bucket]:
    every = sorted({value for found in values.values() for value in found.counts})
    spans = [(value, value) for value in every]
    if len(every) > _MAX_ROWS:
        spans = sorted({_power(value) for value in every})
    buckets: list[_Bucket] = []
    for low, high in spans:
        calls = {
            label: sum(n for value, n in found.counts.items() if low <= value <= high)
            for label, found in values.items()
        }
        buckets.append((f"{low:,}" if low == high else f"{low:,} to {high:,}", calls, low, high))
    others = {label: found.others for label, found in values.items()}
    unread = {label: found.unread for label, found in values.items()}
    rest: list[_Bucket] = [("others", others, None, None), ("not known", unread, None, None)]
    return buckets + [bucket for bucket in rest if any(bucket[1].values())]


def _power(value: int) -> tuple[int, int]:
    """The values that have as many binary digits, and the same sign."""
    if value == 0:
        return 0, 0
    low = 1 << (abs(value).bit_length() - 1)
    return (low, 2 * low - 1) if value > 0 else (1 - 2 * low, -low)
