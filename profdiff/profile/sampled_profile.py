"""Profiles from samples: of a perf.data file with its chains, or of stacks that came as text."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.metric import EventName, Metric, event_metric
from profdiff.collectors.perf.samples import counts, metric_of
from profdiff.collectors.recorded import Recorded
from profdiff.profile.addresses import Addresses
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.function_identity import Function, fold, unresolved
from profdiff.profile.kernel_profile import Profile, Rate
from profdiff.profile.stack_table import StackTable
from profdiff.symbolization._native import PerfData, PerfText, reasons, write_folded
from profdiff.symbolization.chains import Chains

# Each costs a column over all stacks.
_MOST_EVENTS = 64


def perf_profile(
    run: Recorded, data: PerfData, chains: Chains, again: Callable[[], Recorded]
) -> Profile:
    """The profile of one run, whose samples are ``data``. ``again`` reads the run once more, for
    who asks for its addresses: it would be in memory until then. Raises InputError for a file with
    implausibly many events."""
    functions = ChainFunctions.of(chains, run.places.in_kernel)
    stacks = data.expand(functions.offsets, functions.frames, functions.inlined)
    metrics, counts, samples = _columns(
        _of_data(data),
        len(stacks.parent),
        stacks.entry_stack,
        data.entry_event,
        data,
    )
    return Profile(
        functions=functions.functions,
        lines=functions.lines,
        symbols=functions.symbols(chains),
        stacks=StackTable(stacks.parent, stacks.function, stacks.depth),
        inlined=stacks.inlined,
        metrics=metrics,
        counts=counts,
        samples=samples,
        calls=None,
        inlines_visible=chains.inlines_visible,
        identical=False,
        remarks=[*remarks(data), *chains.remarks],
        rates=_rates(data),
        taken=data.statistics["samples"],
        lost=_lost(data),
        machine=_machine(data),
        addresses=[
            Addresses(
                run.places,
                chains,
                run.executed,
                run.metrics,
                lambda: again().count[:, None],
                sampled=lambda: _sampled(again()),
            )
        ],
    )


def _sampled(run: Recorded) -> NDArray[np.int64]:
    """int64[N, 1, M]: how many samples were taken at each place itself."""
    if run.sampled is None:
        raise ValueError("a run without samples has no number of them")
    return run.sampled()[:, None]


def text_profile(text: PerfText) -> Profile:
    """The profile of stacks whose functions came as names."""
    functions, numbers, symbols = _text_functions(text)
    found = text.stacks
    table = StackTable(found.parent, numbers[found.function], found.depth)
    # Names that differ only by a compiler's suffix have become one.
    stacks, place = table.renumbered(np.arange(len(functions)))
    entry_stack = place[found.entry_stack]
    metrics, counts, samples = _columns(
        _of_text(text),
        len(stacks),
        entry_stack,
        text.entry_event,
        text,
    )
    inlined = np.zeros(len(stacks), np.bool_)
    inlined[place[found.inlined]] = True
    said = [f"came as {text.format}, so inlined functions are visible only where it names them"]
    if text.frameless:
        said.append(f"{text.frameless:,} samples have no function in the text: they are unresolved")
    if text.lost:
        said.append(f"{text.lost:,} samples were lost, as the text says")
    if text.unknown_lines:
        said.append(
            f"{text.unknown_lines:,} lines were not understood; the first begins "
            f"{text.unknown_line}"
        )
    if not text.sides_known:
        said.append("the stacks do not mark the kernel's functions (_[k]): all count as user space")
    return Profile(
        functions=functions,
        lines=np.zeros(len(functions), np.int64),
        symbols=symbols,
        stacks=stacks,
        inlined=inlined,
        metrics=metrics,
        counts=counts,
        samples=samples,
        calls=None,
        inlines_visible=True,
        identical=False,
        remarks=said,
    )


def folded(run: Recorded, data: PerfData, chains: Chains, metric: str) -> bytes:
    """The stacks of a perf.data file in FlameGraph's format, thread names first, weighted by the
    metric of that name."""
    functions = ChainFunctions.of(chains, run.places.in_kernel)
    # In this format functions of one name are one, whatever they belong to.
    numbers: dict[str, int] = {}
    named = [numbers.setdefault(f.name, len(numbers)) for f in functions.functions]
    frames = np.array(named, np.uint32)[functions.frames]
    stacks = data.expand(functions.offsets, frames, functions.inlined, len(numbers))
    counts = np.zeros(len(stacks.parent), np.int64)
    known, column = _metrics(_of_data(data), data.entry_event)
    mine = column[data.entry_event] == _number(known, metric)
    np.add.at(counts, stacks.entry_stack[mine], data.entry_weight[mine].astype(np.int64))
    names = [*numbers, *data.threads]
    return write_folded(stacks.parent, stacks.function, names, counts)


def by_thread(data: PerfData) -> dict[str, int]:
    """The weight of each thread name's samples, of the first metric that was sampled."""
    _, column = _metrics(_of_data(data), data.entry_event)
    mine = column[data.entry_event] == 0
    threads = data.threads
    weights = np.zeros(len(threads), np.int64)
    np.add.at(weights, data.entry_thread[mine], data.entry_weight[mine].astype(np.int64))
    return dict(zip(threads, weights.tolist(), strict=True))


def totals(data: PerfData) -> list[tuple[Metric, int]]:
    """What the samples of each metric stand for. Raises InputError for a file with implausibly many
    events."""
    metrics, column = _metrics(_of_data(data), data.entry_event)
    sums = np.zeros(len(metrics), np.int64)
    np.add.at(sums, column[data.entry_event], data.entry_weight.astype(np.int64))
    return list(zip(metrics, sums.tolist(), strict=True))


def folded_profile(profile: Profile, metric: str) -> bytes:
    """The stacks of a profile in FlameGraph's format, of its first run and the metric of that name.
    That format has no counts below zero."""
    names = [function.name for function in profile.functions]
    counts = np.maximum(profile.counts[:, 0, _number(profile.metrics, metric)], 0)
    return write_folded(profile.stacks.parent, profile.stacks.function, names, counts)


def metrics_of(run: Recorded) -> Sequence[Metric]:
    """What a run measured, in the order of its profile."""
    if run.samples:
        return _metrics(_of_data(run.samples), run.samples.entry_event)[0]
    if run.text:
        return _metrics(_of_text(run.text), run.text.entry_event)[0]
    return run.metrics


def _of_data(data: PerfData) -> list[Metric]:
    return list(map(metric_of, data.events))


def _of_text(text: PerfText) -> list[Metric]:
    return list(map(event_metric, text.events or ["samples"]))


def _number(known: Sequence[Metric], name: str) -> int:
    return [one.name for one in known].index(name)


def _columns(
    events: Sequence[Metric],
    stacks: int,
    entry_stack: NDArray[np.int64],
    entry_event: NDArray[np.uint32],
    source: PerfData | PerfText,
) -> tuple[tuple[Metric, ...], NDArray[np.int64], NDArray[np.int64]]:
    """The metrics that were sampled, and counts and samples, int64[S, 1, M]."""
    metrics, column = _metrics(events, entry_event)
    there = entry_stack >= 0
    place = entry_stack[there] * len(metrics) + column[entry_event[there]]
    counts, samples = np.zeros((2, stacks * len(metrics)), np.int64)
    np.add.at(counts, place, source.entry_weight[there].astype(np.int64))
    np.add.at(samples, place, source.entry_samples[there].astype(np.int64))
    shape = (stacks, 1, len(metrics))
    return metrics, counts.reshape(shape), samples.reshape(shape)


def _metrics(
    events: Sequence[Metric], entry_event: NDArray[np.uint32]
) -> tuple[tuple[Metric, ...], NDArray[np.int64]]:
    """The metrics that were sampled, and which one each event is of."""
    used = np.flatnonzero(np.bincount(entry_event)).tolist()
    # perf adds a dummy event of its own, which counts nothing.
    wanted = used or [n for n, one in enumerate(events) if EventName.of(one.name).name != "dummy"]
    if len(wanted) > _MOST_EVENTS:
        raise InputError(f"{len(wanted)} events have samples: at most {_MOST_EVENTS} are compared")
    metrics = tuple(dict.fromkeys(events[event] for event in wanted))
    column = np.zeros(max(len(events), 1), np.int64)
    for event in wanted:
        column[event] = metrics.index(events[event])
    return metrics, column


def _text_functions(
    text: PerfText,
) -> tuple[list[Function], NDArray[np.int64], dict[int, list[str]]]:
    seen: dict[Function, int] = {}
    numbers = np.zeros(len(text.function_name), np.int64)
    symbols: dict[int, set[str]] = {}
    columns = zip(
        text.function_name,
        text.function_object,
        text.function_in_kernel,
        text.function_unresolved,
        strict=True,
    )
    for row, (symbol, owner, kernel, unnamed) in enumerate(columns):
        suffix = fold(symbol)[1]
        function = Function.of(symbol, owner, "", kernel)
        if unnamed:
            # What profdiff itself wrote keeps its reason.
            told = symbol.removeprefix("[unresolved: ").removesuffix("]")
            function = unresolved(told if told in reasons() else "unnamed", kernel)
        numbers[row] = seen.setdefault(function, len(seen))
        if suffix and not unnamed:
            symbols.setdefault(int(numbers[row]), set()).add(symbol)
    return list(seen), numbers, {number: sorted(texts) for number, texts in symbols.items()}


def _lost(data: PerfData) -> int:
    told = data.statistics
    number: int = told["lost"] + told["lost_samples"]
    return number


def _machine(data: PerfData) -> dict[str, str]:
    """What the file's header says of the machine, under the names that environment.sh uses."""
    names = ("hostname", "architecture", "processor", "cpus", "perf_version")
    return {name: str(data.machine[name]) for name in names if data.machine[name]}


def _rates(data: PerfData) -> frozenset[Rate]:
    # Members of a group that its leader samples have no period of their own.
    events = [event for event in data.events if event.rate and counts(event)]
    return frozenset(Rate(event.rate, event.is_frequency) for event in events)


def remarks(data: PerfData) -> list[str]:
    """What a reader must know of a recording before believing it; one line each."""
    told = data.statistics
    samples = told["samples"]
    lost = _lost(data)
    lines = []
    if lost:
        lines.append(
            f"{lost:,} samples were lost ({units.percent(lost / (lost + samples), '.2f')}): the "
            "buffer was full"
        )
    if told["throttled"]:
        lines.append(
            f"sampling was throttled {told['throttled']:,} times: the kernel found it too "
            "expensive, so the busiest moments are under-represented"
        )
    for event, (enabled, running) in sorted(told["enabled_running"].items()):
        if running < 0.99 * enabled and event < len(data.events):
            lines.append(
                f"{data.events[event].name} was multiplexed: it counted "
                f"{units.percent(running / enabled)} of the time"
            )
    adapting = [rate.number for rate in _rates(data) if rate.a_second]
    if adapting:
        lines.append(
            f"sampled {max(adapting):,} times a second: the period adapts, a fixed one (--count) "
            "would not"
        )
    counted = {
        "unknown_event": "samples of events that the file does not describe were left out",
        "malformed": "records were incomplete and left out",
        "weightless": "samples have a period of 0 and count nothing",
        "user_stack_dumps": "samples carry a dump of the user stack, which is not unwound: callers "
        "in user space are missing",
        "corrupt_chains": "samples have call chains that are partly no addresses (code without "
        "frame pointers); the rest of them is kept",
        "deep_forks": "processes forked too often without exec to know their mappings",
    }
    lines += [f"{told[what]:,} {text}" for what, text in counted.items() if told[what]]
    if told["unknown_records"]:
        kinds = ", ".join(map(str, sorted(told["unknown_records"])))
        number = sum(told["unknown_records"].values())
        lines.append(f"{number:,} records of types that profdiff does not know ({kinds})")
    if told["unterminated"]:
        lines.append(
            "its end is missing: perf was killed before it finished the file, the file was cut, or "
            "messages were written into it (2>&1)"
        )
    return lines
