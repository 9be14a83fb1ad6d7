"""A profile: what the runs of one kernel executed, as columns over distinct stacks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.base.metric import INSTRUCTIONS, Metric
from profdiff.collectors import registry
from profdiff.profile.addresses import Addresses
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.function_identity import Function
from profdiff.profile.stack_table import StackTable
from profdiff.symbolization.chains import Chains

_Of = TypeVar("_Of")


def common(measured: Iterable[tuple[str, Sequence[Metric]]]) -> list[Metric]:
    """The metrics of the first recording, each with its kernel's label, that all others have.
    Raises SessionError without any."""
    by_label: dict[str, list[Metric]] = {}
    for label, own in measured:
        by_label[label] = [one for one in by_label.get(label, own) if one in own]
    first, *others = by_label.values()
    if found := [one for one in first if all(one in other for other in others)]:
        return found
    told = "; ".join(
        f"{label}: {', '.join(metric.name for metric in own) or 'nothing'}"
        for label, own in by_label.items()
    )
    raise SessionError(
        f"the kernels have no metric in common ({told}): record them with the same --event"
    )


def chosen(known: Mapping[str, _Of], wanted: str | None) -> _Of:
    """What ``[COLLECTOR:]NAME`` names of ``known``, whose keys are ``COLLECTOR:NAME``, or the
    first. Raises InputError."""
    if not known:
        able = " or ".join(name for name, one in registry.recording().items() if one.profiles)
        raise InputError(
            f"no run of this session has a profile, which says what functions cost: record with "
            f"--collector {able}"
        )
    if wanted is None:
        return next(iter(known.values()))
    for name, one in known.items():
        if wanted in (name, name.partition(":")[2]):
            return one
    raise InputError(f"--metric {wanted}: the session has {', '.join(known)}")


class Rate(NamedTuple):
    """How often perf sampled: ``number`` times a second, or once in ``number`` events."""

    number: int
    a_second: bool


class Profile(msgspec.Struct, frozen=True):
    """F functions, S stacks, R runs of one kernel, M metrics.

    ``counts``: int64[S, R, M], how much of each metric each run spent with exactly that stack;
    ``samples``: int64[S, R, M], from how many samples that is known, None for exact counts;
    ``sample_weight``: float64[R, M], how much each of them stands for where counts are differences,
    of which a quotient does not tell it.
    ``calls``: int64[S, R], how often each run entered the stack's innermost function there; None
    where that was not counted. ``idle``: int64[S, R, 2], for how long vCPUs idled, in nanoseconds
    of the guest's clock, and how often they began to, after the last task of a program that gave
    way did so with exactly that stack; None where that was not recorded.
    ``lines``: int64[F], where each function is declared; 0: unknown.
    ``inlined``: bool[S], whether the innermost function was inlined at some address.
    ``symbols``: for a function, the ELF symbols that were folded into its name.
    ``inlines_visible``: false with no debug ELF. ``identical``: all runs have the same count at
    every address. ``remarks``: what a reader must know of the recordings, one line each.
    ``rates``: how often the recordings say that they were sampled.
    ``taken`` and ``lost``: how many samples the recordings hold, and how many they say were lost;
    ``machine``: what they say of the machine, values by name. ``addresses``: what it is summed
    from, where that has addresses: of all runs, or of each run by itself; where sampled runs are
    subtracted, also of those that are.
    """

    functions: list[Function]
    lines: NDArray[np.int64]
    symbols: dict[int, list[str]]
    stacks: StackTable
    inlined: NDArray[np.bool_]
    metrics: tuple[Metric, ...]
    counts: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    calls: NDArray[np.int64] | None
    inlines_visible: bool
    identical: bool
    remarks: list[str] = msgspec.field(default_factory=list)
    rates: frozenset[Rate] = frozenset()
    taken: int = 0
    lost: int = 0
    machine: Mapping[str, str] = msgspec.field(default_factory=dict)
    addresses: Sequence[Addresses] = ()
    sample_weight: NDArray[np.float64] | None = None
    idle: NDArray[np.int64] | None = None

    @staticmethod
    def from_chains(
        chains: Chains, counts: NDArray[np.int64], metrics: tuple[Metric, ...] = (INSTRUCTIONS,)
    ) -> "Profile":
        """Sum ``counts``, int64[N, R, M], over the distinct chains of N addresses."""
        in_kernel = (chains.address >> np.uint64(63)).astype(np.bool_)
        resolved = ChainFunctions.of(chains, in_kernel)
        offsets = resolved.offsets.astype(np.int64)
        stacks, leaf = StackTable.intern(offsets, resolved.frames.astype(np.int64))
        summed = np.zeros((len(stacks), *counts.shape[1:]), np.int64)
        np.add.at(summed, leaf, counts)
        inlined = np.zeros(len(stacks), np.bool_)
        np.logical_or.at(inlined, leaf, resolved.inlined[offsets[1:] - 1])
        return Profile(
            functions=resolved.functions,
            lines=resolved.lines,
            symbols=resolved.symbols(chains),
            stacks=stacks,
            inlined=inlined,
            metrics=metrics,
            counts=summed,
            samples=None,
            calls=None,
            inlines_visible=chains.inlines_visible,
            identical=bool((counts == counts[:, :1]).all()),
        )

    @property
    def totals(self) -> NDArray[np.int64]:
        """int64[R, M]: all of each run, unresolved addresses too."""
        totals: NDArray[np.int64] = self.counts.sum(axis=0)
        return totals

    def subtracted(self, runs: int) -> "Profile":
        """The first half of 2·``runs`` runs minus the second, one by one: what two lengths of a
        workload differ by. A count is negative where the longer one had less; stacks that cancel
        out are gone. Samples are those of both runs."""

        def less(columns: NDArray[np.int64]) -> NDArray[np.int64]:
            difference: NDArray[np.int64] = columns[:, :runs] - columns[:, runs:]
            return difference

        counts, calls = less(self.counts), None if self.calls is None else less(self.calls)
        idle = None if self.idle is None else less(self.idle)
        samples = weight = None
        if self.samples is not None:
            samples = self.samples[:, :runs] + self.samples[:, runs:]
            both = self.totals[:runs] + self.totals[runs:]
            weight = both / np.maximum(samples.sum(axis=0), 1)
        left = replace(
            self,
            counts=counts,
            samples=samples,
            sample_weight=weight,
            calls=calls,
            idle=idle,
            identical=bool((counts == counts[:, :1]).all()),
            # Runs of samples have places of their own each: nothing can be subtracted yet.
            addresses=[self.addresses[0].subtracted(runs)]
            if len(self.addresses) == 1
            else self.addresses,
        )
        wanted: NDArray[np.bool_] = np.any(counts, axis=(1, 2))
        if calls is not None:
            wanted |= np.any(calls, axis=1)
        if idle is not None:
            wanted |= np.any(idle, axis=(1, 2))
        return left._only(wanted)

    def _only(self, wanted: NDArray[np.bool_]) -> "Profile":
        """The same with those stacks, bool[S], and the functions in them."""
        stacks, rows = self.stacks.kept(wanted)
        used, where = np.unique(stacks.function, return_inverse=True)
        numbers = {number: row for row, number in enumerate(used.tolist())}
        return replace(
            self,
            functions=[self.functions[number] for number in numbers],
            lines=self.lines[used],
            symbols={numbers[n]: texts for n, texts in self.symbols.items() if n in numbers},
            stacks=replace(stacks, function=where.astype(np.int64)),
            inlined=self.inlined[rows],
            counts=self.counts[rows],
            samples=None if self.samples is None else self.samples[rows],
            calls=None if self.calls is None else self.calls[rows],
            idle=None if self.idle is None else self.idle[rows],
        )

    @staticmethod
    def merged(runs: Sequence["Profile"]) -> "Profile":
        """The profiles of several runs of one kernel as one, each run a column.

        The metrics are those that all of them have.
        """
        if len(runs) == 1:
            return runs[0]
        metrics = tuple(m for m in runs[0].metrics if all(m in run.metrics for run in runs))
        numbers: dict[Function, int] = {}
        lines: dict[int, int] = {}
        symbols: dict[int, list[str]] = {}
        stacks = StackTable(*(np.empty(0, np.int64) for _ in range(3)))
        places: list[NDArray[np.int64]] = []
        for run in runs:
            own = np.array([numbers.setdefault(f, len(numbers)) for f in run.functions], np.int64)
            lines |= dict(zip(own.tolist(), run.lines.tolist(), strict=True))
            for function, texts in run.symbols.items():
                known = symbols.setdefault(int(own[function]), [])
                known += [text for text in texts if text not in known]
            table, where = run.stacks.renumbered(own)
            stacks, old, new = stacks.merged_with(table)
            places = [old[place] for place in places] + [new[where]]
        shape = (len(stacks), sum(run.counts.shape[1] for run in runs), len(metrics))
        counts, samples = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        calls = np.zeros(shape[:2], np.int64)
        idle = np.zeros((*shape[:2], 2), np.int64)
        inlined = np.zeros(len(stacks), np.bool_)
        column = 0
        for run, place in zip(runs, places, strict=True):
            wanted = [run.metrics.index(metric) for metric in metrics]
            columns = slice(column, column + run.counts.shape[1])
            np.add.at(counts[:, columns], place, run.counts[:, :, wanted])
            if run.samples is not None:
                np.add.at(samples[:, columns], place, run.samples[:, :, wanted])
            if run.calls is not None:
                np.add.at(calls[:, columns], place, run.calls)
            if run.idle is not None:
                np.add.at(idle[:, columns], place, run.idle)
            inlined[place[run.inlined]] = True
            column = columns.stop
        return replace(
            runs[0],
            functions=list(numbers),
            lines=np.array([lines[number] for number in range(len(numbers))], np.int64),
            symbols=symbols,
            stacks=stacks,
            inlined=inlined,
            metrics=metrics,
            counts=counts,
            samples=None if runs[0].samples is None else samples,
            calls=None if any(run.calls is None for run in runs) else calls,
            idle=None if any(run.idle is None for run in runs) else idle,
            inlines_visible=all(run.inlines_visible for run in runs),
            identical=False,
            remarks=_merged_remarks(runs),
            rates=frozenset().union(*(run.rates for run in runs)),
            taken=sum(run.taken for run in runs),
            lost=sum(run.lost for run in runs),
            addresses=[address for run in runs for address in run.addresses],
        )


def _merged_remarks(runs: Sequence[Profile]) -> list[str]:
    """What holds for all runs once, then the rest of each."""
    common = [said for said in runs[0].remarks if all(said in run.remarks for run in runs)]
    return common + [
        f"run {number}: {remark}"
        for number, run in enumerate(runs, 1)
        for remark in run.remarks
        if remark not in common
    ]
