"""What probes read: the values of a function's variable in each call, on each kernel."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.collectors.exact.probes import Values, read
from profdiff.collectors.probe.named import Probe
from profdiff.session.manifest import Run
from profdiff.session.points import Cells, Setting
from profdiff.session.session import Session


class Probed(NamedTuple):
    """``values`` by kernel, of those whose runs have them."""

    probe: Probe
    values: Mapping[str, Values]


def probes(session: Session, runs: Cells, setting: Setting, labels: Sequence[str]) -> list[Probed]:
    """Those of each kernel's first finished run at a setting; of two lengths, the longer one less
    the shorter. Raises SessionError, InputError."""
    asked = session.manifest.options.get("probe")
    wanted = [Probe.parse(str(text)) for text in asked] if isinstance(asked, list) else []
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
