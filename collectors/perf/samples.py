"""What perf sampled, as plain arrays.

What a perf.data file says that perf was to run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base.metric import Metric, event_metric
from profdiff.collectors.recorded import Recorded
from profdiff.collectors.records import Measured, Sampling
from profdiff.symbolization._native import Event, PerfData, PerfText
from profdiff.symbolization.places import Places

_NOWHERE = Places(np.empty(0, np.uint64), np.empty(0, np.uint32), [])

# PERF_TYPE_TRACEPOINT, and PERF_TYPE_SOFTWARE with PERF_COUNT_SW_DUMMY (perf_event_open(2)).
_TRACEPOINT = 2
_DUMMY = (1, 9)
# PERF_RECORD_STAT_CONFIG, PERF_RECORD_STAT and PERF_RECORD_STAT_ROUND of perf.
_STAT_RECORDS = {75, 76, 77}
# PERF_RECORD_AUXTRACE.
_TRACE_RECORD = 71


def counts(event: Event) -> bool:
    """Whether an event is none that perf adds for its own records and that counts nothing."""
    return (event.kind, event.config) != _DUMMY


def metric_of(event: Event) -> Metric:
    """The metric that an event of a perf.data file samples."""
    return event_metric(event.name, tracepoint=event.kind == _TRACEPOINT)


def empty(data: PerfData) -> str:
    """What a recording without any sample is, and what to do; "" for others."""
    if data.statistics["samples"]:
        return ""
    kinds = data.statistics["unknown_records"].keys()
    if _TRACE_RECORD in kinds:
        return (
            "holds what a processor traced (Intel PT, Arm SPE) and no sample: perf inject --itrace "
            "-o FILE makes samples of it"
        )
    if data.statistics["unterminated"]:
        return "ends before its first sample: copy it again, or record it again"
    if kinds & _STAT_RECORDS:
        return (
            "holds what perf stat record counted, and no sample: profdiff record --collector stat "
            "counts events of kernels, perf record samples them"
        )
    return "has no sample: let the workload run longer, or sample more often (perf record -F or -c)"


def sampling(data: PerfData, *, fallback: str | None = None, emulated: bool = False) -> Sampling:
    """How a recording was made; ``emulated``: in a guest whose cycles are nanoseconds."""
    events = [event for event in data.events if counts(event)]
    names = [event.name for event in events]
    rates = {(event.rate, event.is_frequency) for event in events}
    number, is_frequency = rates.pop() if len(rates) == 1 else (0, False)
    return Sampling(
        version=data.machine["perf_version"],
        command=data.machine["command"],
        events=names,
        period=number if number and not is_frequency else None,
        frequency=number if number and is_frequency else None,
        fallback=fallback,
        virtual_time=emulated
        and any(metric_of(event).name.startswith("cycles") for event in events),
    )


def totals(data: PerfData) -> list[Measured]:
    """What the samples of each metric stand for."""
    weights = np.bincount(
        data.entry_event, weights=data.entry_weight.astype(np.float64), minlength=len(data.events)
    )
    sums: dict[Metric, float] = {}
    for event, total in zip(data.events, weights.tolist(), strict=False):
        if counts(event):
            metric = metric_of(event)
            sums[metric] = sums.get(metric, 0.0) + total
    return [Measured(one.name, one.unit, one.better, True, [sum_]) for one, sum_ in sums.items()]


def read(files: Mapping[str, Path]) -> Recorded | None:
    """The samples of ``perf-data``, or of ``stacks`` (text); None where there is neither. A metric
    is all events that sample it. Raises NativeError."""
    if "perf-data" in files:
        return of_data(PerfData.open(str(files["perf-data"])))
    if "stacks" in files:
        return of_text(PerfText.open(str(files["stacks"])))
    return None


def of_data(data: PerfData) -> Recorded:
    """The samples of a perf.data file; an event's weights are put where its samples were taken."""
    of_event = [metric_of(event) for event in data.events]
    metrics = tuple(dict.fromkeys(of_event))

    def summed(column: NDArray[np.uint64]) -> NDArray[np.int64]:
        number = np.array([metrics.index(one) for one in of_event], np.intp)
        size = len(data.place_address)
        # Each place as a function of its own: what a stack ends in is where the sample was taken.
        each = np.arange(size + 1, dtype=np.uint32)
        stacks = data.expand(each, each[:-1], np.zeros(size, np.bool_))
        taken = stacks.entry_stack >= 0
        where = stacks.function[stacks.entry_stack[taken]], number[data.entry_event[taken]]
        count = np.zeros((size, len(metrics)), np.int64)
        np.add.at(count, where, column[taken].astype(np.int64))
        return count

    unseen = np.broadcast_to(np.zeros(16, np.uint8), (len(data.place_address), 16))
    return Recorded(
        metrics,
        Places.of_samples(data),
        unseen,
        lambda: summed(data.entry_weight),
        samples=data,
        sampled=lambda: summed(data.entry_samples),
    )


def of_text(text: PerfText) -> Recorded:
    """Stacks whose functions came as names: they have no places."""
    metrics = tuple(dict.fromkeys(map(event_metric, text.events)))
    unseen = np.empty((0, 16), np.uint8)
    return Recorded(
        metrics, _NOWHERE, unseen, lambda: np.empty((0, len(metrics)), np.int64), text=text
    )


# Options of perf-record(1) whose value may be a word of its own. Those that are not known have
# their value in the same word, or none.
_SHORT = frozenset("epratCcoFmDuGkjI") - frozenset("aI")
_LONG = frozenset(
    (
        *("event", "filter", "pid", "tid", "realtime", "cpu", "count", "output", "freq"),
        *("mmap-pages", "delay", "uid", "cgroup", "clockid", "branch-filter", "call-graph"),
        *("max-size", "mmap-flush", "switch-max-files", "vmlinux", "proc-map-timeout"),
        *("control", "affinity", "synth", "comp"),
    )
)


def workload_of(command: Sequence[str]) -> list[str]:
    """The command that ``perf record`` ran, of its own command line; nothing where it ran none, or
    this is another program's command line."""
    words = list(command)
    if "record" not in words[1:]:
        return []
    rest = words[words.index("record", 1) + 1 :]
    while rest:
        word = rest.pop(0)
        if word == "--":
            return rest
        if not word.startswith("-") or word == "-":
            return [word, *rest]
        if word.startswith("--"):
            takes = word[2:] in _LONG
        else:
            # If one word has several letters, the first that has a value takes what follows.
            at = next((n for n, one in enumerate(word[1:], 1) if one in _SHORT), 0)
            takes = at == len(word) - 1 and at > 0
        if takes and rest:
            rest.pop(0)
    return []
