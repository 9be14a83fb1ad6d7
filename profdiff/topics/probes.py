"""What probes read: the values of a function's variable in each call, on each kernel, as a
histogram for each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.collectors.exact.probes import Values, read
from profdiff.collectors.probe.entry import ProbedVariable
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Run
from profdiff.session.points import Cells, Setting
from profdiff.session.session import Session
from profdiff.shapes.table import Section, Table, by_figure, of_row, tabulate


class Probed(NamedTuple):
    """``values`` by kernel, of those whose runs have them."""

    probe: ProbedVariable
    values: Mapping[str, Values]


def probes(session: Session, runs: Cells, setting: Setting, labels: Sequence[str]) -> list[Probed]:
    """Those of each kernel's first finished run at a setting; of two lengths, the longer one less
    the shorter. Raises SessionError, InputError."""
    asked = session.manifest.options.get("probe")
    wanted = [ProbedVariable.parse(str(text)) for text in asked] if isinstance(asked, list) else []
    found: dict[str, list[Values]] = {}
    for label in labels if wanted else ():
        for collector in session.manifest.collectors:
            told = [_first(runs.get((label, collector, point), ())) for point in setting.points]
            files = [run.files["probes"] for run in told if run and "probes" in run.files]
            if files and len(files) == len(told):
                every = [read(session.path(file), len(wanted)) for file in files]
                found[label] = every[-1] if len(every) == 1 else _less(every[-1], every[0])
    return [
        Probed(probe, {label: values[number] for label, values in found.items()})
        for number, probe in enumerate(wanted)
        if found
    ]


def _first(runs: Sequence[Run]) -> Run | None:
    return next((run for run in runs if run.failure is None and not run.state), None)


def _less(long: Sequence[Values], short: Sequence[Values]) -> list[Values]:
    def difference(more: Values, less: Values) -> Values:
        every = sorted({*more.counts, *less.counts})
        counts = {one: more.counts.get(one, 0) - less.counts.get(one, 0) for one in every}
        return Values(
            more.places,
            more.calls - less.calls,
            more.unread - less.unread,
            {value: count for value, count in counts.items() if count},
            more.others - less.others,
        )

    return [difference(*pair) for pair in zip(long, short, strict=True)]


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
