"""A comparison: the profiles of all kernels over one merged stack table, and a function table.

Everything that a report shows is computed here, once.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import SessionError
from profdiff.base.metric import INSTRUCTIONS, Metric
from profdiff.base.units import printable
from profdiff.profile.addresses import Addresses
from profdiff.profile.function_identity import Function, match
from profdiff.profile.kernel_profile import Profile, Rate, common
from profdiff.profile.runs import median_run
from profdiff.profile.stack_table import StackTable
from profdiff.session.facts import Facts
from profdiff.session.manifest import Kernel, Manifest, Run
from profdiff.session.points import Setting, settings

Side = Literal["kernel", "user"]
_NO_FACTS = Facts()


class Repetitions(msgspec.Struct, frozen=True):
    """Whether the runs of one kernel are equal, count for count. ``lowest`` and ``highest`` are
    their totals; ``differing`` the functions whose self counts differ, largest spread first;
    ``unresolved`` the (reason, in_kernel, lowest, highest) whose counts differ."""

    runs: int
    identical: bool
    lowest: int
    highest: int
    differing: list[tuple[Function, int, int]]
    unresolved: list[tuple[str, bool, int, int]]


class Comparison(msgspec.Struct, frozen=True):
    """One metric of K kernels (those with a result; the first is the base), F functions, S stacks,
    R runs.

    A kernel's numbers are those of one of its runs, the one with the (lower) median total of the
    first metric, so that they add up. ``setting``: under what all of them ran. ``run_counts``:
    int64[S, R]; ``counts``: int64[S, K]; ``calls``: int64[S, K], how often the stack's innermost
    function was entered there, None where that was not counted; ``idle``: int64[S, K, 2], as
    ``Profile.idle``, None where some kernel's was not recorded. ``lines``: int64[F, K], where
    functions are declared, 0 if unknown. ``self_`` and ``total``: int64[F, K]. ``samples``:
    int64[F, K], from how many samples ``self_`` is known, ``run_samples``: int64[S, R], as many of
    ``run_counts``; None for exact counts. ``sample_weight``: float64[K], how much one stands for,
    only where counts are differences of two lengths. ``unresolved``: by (reason, in_kernel),
    int64[K]. ``inlined``: bool[S, K]. ``rates``: how often was sampled, empty where some recording
    does not say. ``remarks``: what a reader must know of the recordings.
    ``facts``: what else differs between the kernels. The functions of ``stacks`` are ``functions``,
    and from F on ``unnamed``, which stand for unresolved frames. ``addresses``: by kernel, what all
    of this is summed from (``picked_counts``); ``picked``: by kernel, which of its runs its numbers
    are of; ``numbers``: by kernel, which of the functions its own ones are.
    """

    manifest: Manifest
    setting: Setting
    metric: Metric
    kernels: list[Kernel]
    runs: list[Run]
    functions: list[Function]
    lines: NDArray[np.int64]
    unnamed: list[Function]
    namesakes: list[bool]
    symbols: list[dict[str, list[str]]]
    stacks: StackTable
    run_counts: NDArray[np.int64]
    counts: NDArray[np.int64]
    calls: NDArray[np.int64] | None
    inlined: NDArray[np.bool_]
    self_: NDArray[np.int64]
    total: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    unresolved: dict[tuple[str, bool], NDArray[np.int64]]
    repetitions: list[Repetitions]
    inlines_visible: list[bool]
    rates: frozenset[Rate]
    remarks: list[str]
    facts: Facts = _NO_FACTS
    addresses: Sequence[Sequence[Addresses]] = ()
    sample_weight: NDArray[np.float64] | None = None
    run_samples: NDArray[np.int64] | None = None
    picked: Sequence[int] = ()
    numbers: Sequence[Mapping[Function, int]] = ()
    idle: NDArray[np.int64] | None = None

    @staticmethod
    def build(
        manifest: Manifest,
        profiles: Mapping[str, Profile],
        runs: Mapping[str, Sequence[Run]],
        facts: Facts = _NO_FACTS,
        setting: Setting | None = None,
    ) -> "list[Comparison]":
        """Compare ``profiles`` by label, once for each metric that all of them have; the functions
        and stacks of the results are the same. Column r of a profile is ``runs[label][r]``.
        ``setting``: under what they ran, None for the first of the manifest.

        Raises SessionError when the base has no profile, or nothing was measured on all kernels.
        """
        kernels = [kernel for kernel in manifest.kernels if kernel.label in profiles]
        if not kernels or kernels[0].label != manifest.kernels[0].label:
            raise SessionError(_without_base(manifest))
        chosen = [profiles[kernel.label] for kernel in kernels]
        metrics = common((kernel.label, profiles[kernel.label].metrics) for kernel in kernels)
        matched = match([profile.functions for profile in chosen])
        count = sum(not function.reason for function in matched.functions)
        merged = _merge_stacks(chosen, matched.numbers)
        symbols: list[dict[str, list[str]]] = [{} for _ in range(count)]
        lines = np.zeros((len(matched.functions), len(kernels)), np.int64)
        for column, (profile, own) in enumerate(zip(chosen, matched.numbers, strict=True)):
            lines[own, column] = profile.lines
        for kernel, profile, own in zip(kernels, chosen, matched.numbers, strict=True):
            for function, texts in profile.symbols.items():
                symbols[own[function]][kernel.label] = texts
        picked = [median_run(one.totals[:, one.metrics.index(metrics[0])]) for one in chosen]
        numbers = [
            dict(zip(profile.functions, own, strict=True))
            for profile, own in zip(chosen, matched.numbers, strict=True)
        ]
        calls = _entered([profile.calls for profile in chosen], merged, picked)
        idle = _entered([profile.idle for profile in chosen], merged, picked)
        comparisons = []
        for metric in metrics:
            columns = [_column(profile.counts, metric, profile) for profile in chosen]
            columns = _placed(columns, merged)
            by_kernel = _pick(columns, picked)
            samples = run_samples = None
            if all(profile.samples is not None for profile in chosen):
                sampled = [_column(p.samples, metric, p) for p in chosen if p.samples is not None]
                sampled = _placed(sampled, merged)
                run_samples = np.concatenate(sampled, axis=1)
                samples = merged.stacks.self_by_function(
                    _pick(sampled, picked), len(matched.functions)
                )
            self_ = merged.stacks.self_by_function(by_kernel, len(matched.functions))
            total = merged.stacks.total_by_function(by_kernel, len(matched.functions))
            unnamed = matched.functions[count:]
            comparisons.append(
                Comparison(
                    manifest=manifest,
                    setting=setting or settings(manifest)[0],
                    metric=metric,
                    kernels=kernels,
                    runs=[run for kernel in kernels for run in runs[kernel.label]],
                    functions=matched.functions[:count],
                    lines=lines[:count],
                    unnamed=unnamed,
                    namesakes=matched.namesakes[:count],
                    symbols=symbols,
                    stacks=merged.stacks,
                    run_counts=np.concatenate(columns, axis=1),
                    counts=by_kernel,
                    calls=calls if metric == INSTRUCTIONS else None,
                    idle=idle if metric == INSTRUCTIONS else None,
                    inlined=merged.inlined,
                    self_=self_[:count],
                    total=total[:count],
                    samples=None if samples is None else samples[:count],
                    unresolved=dict(
                        sorted(
                            ((function.reason, function.in_kernel), self_[count + row])
                            for row, function in enumerate(unnamed)
                            if self_[count + row].any()
                        )
                    ),
                    repetitions=[
                        _repetitions(
                            profile,
                            merged.stacks.self_by_function(column, len(matched.functions)),
                            matched.functions,
                        )
                        for profile, column in zip(chosen, columns, strict=True)
                    ],
                    inlines_visible=[profile.inlines_visible for profile in chosen],
                    rates=frozenset().union(*(one.rates for one in chosen))
                    if all(one.rates for one in chosen)
                    else frozenset(),
                    remarks=_remarks([kernel.label for kernel in kernels], chosen),
                    facts=facts,
                    addresses=[profile.addresses for profile in chosen],
                    sample_weight=_sample_weight(chosen, metric, picked),
                    run_samples=run_samples,
                    picked=picked,
                    numbers=numbers,
                )
            )
        return comparisons

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return [kernel.label for kernel in self.kernels]

    @property
    def scattered(self) -> bool:
        """Whether the boots of some kernel differ."""
        return any(repetition.lowest != repetition.highest for repetition in self.repetitions)

    @property
    def ops(self) -> int | None:
        """How many operations the window held."""
        return self.setting.ops

    @property
    def full_name(self) -> str:
        """``COLLECTOR:NAME`` of its metric."""
        return f"{self.runs[0].collector}:{self.metric.name}"

    @property
    def failed(self) -> list[Run]:
        """The runs of this collector without a result."""
        collector, points = self.runs[0].collector, self.setting.points
        return [
            run
            for run in self.manifest.runs
            if run.failure and run.collector == collector and run.point in points
        ]

    @property
    def without_result(self) -> list[str]:
        """Labels of the kernels that have no finished run."""
        labels = self.labels
        return [kernel.label for kernel in self.manifest.compared if kernel.label not in labels]

    def rows(self, side: Side | None = None) -> NDArray[np.int64]:
        """The functions of the kernel, of user space, or all: their numbers."""
        if side is None:
            return np.arange(len(self.functions))
        return np.flatnonzero([f.in_kernel == (side == "kernel") for f in self.functions])

    def totals(self, side: Side | None = None) -> NDArray[np.int64]:
        """int64[K]: instructions in the window, unresolved ones too."""
        resolved: NDArray[np.int64] = self.self_[self.rows(side)].sum(axis=0)
        return resolved + self.unresolved_total(side)

    def unresolved_total(self, side: Side | None = None) -> NDArray[np.int64]:
        """int64[K]: instructions at addresses that could not be given a function."""
        result = np.zeros(len(self.kernels), np.int64)
        for (_, in_kernel), counts in self.unresolved.items():
            if side is None or in_kernel == (side == "kernel"):
                result += counts
        return result

    def deltas(self) -> NDArray[np.int64]:
        """int64[F, K]: self counts, other minus base; column 0 is zero."""
        return self.self_ - self.self_[:, :1]


def _without_base(manifest: Manifest) -> str:
    base = manifest.kernels[0].label
    failed = [run for run in manifest.runs if run.kernel == base and run.failure]
    why = ""
    if failed and failed[-1].failure:
        why = f"it failed last: {printable(failed[-1].failure.message)}"
        if folder := failed[-1].folder:
            why += f"; output and logs: {printable(folder)} of the session"
        why = f" ({why})"
    return f"the base, {base}, has no finished run{why}: nothing can be compared with it"


class _Merged(msgspec.Struct, frozen=True):
    """The stacks of all kernels; ``places[k]`` is where kernel k's stacks are among them."""

    stacks: StackTable
    places: list[NDArray[np.int64]]
    inlined: NDArray[np.bool_]


def _merge_stacks(profiles: list[Profile], numbers: list[list[int]]) -> _Merged:
    stacks = StackTable(*(np.empty(0, np.int64) for _ in range(3)))
    places: list[NDArray[np.int64]] = []
    for profile, mine in zip(profiles, numbers, strict=True):
        own, renumbered = profile.stacks.renumbered(np.asarray(mine, np.int64))
        stacks, old, new = stacks.merged_with(own)
        places = [old[place] for place in places] + [new[renumbered]]
    inlined = np.zeros((len(stacks), len(profiles)), np.bool_)
    for kernel, (profile, place) in enumerate(zip(profiles, places, strict=True)):
        inlined[place[profile.inlined], kernel] = True
    return _Merged(stacks, places, inlined)


def _column(counts: NDArray[np.int64], metric: Metric, profile: Profile) -> NDArray[np.int64]:
    """int64[S, R] of a profile's int64[S, R, M]."""
    return counts[:, :, profile.metrics.index(metric)]


def _placed(columns: list[NDArray[np.int64]], merged: _Merged) -> list[NDArray[np.int64]]:
    """Columns of each kernel's own stacks as columns of all stacks."""
    placed = []
    for column, place in zip(columns, merged.places, strict=True):
        whole = np.zeros((len(merged.stacks), *column.shape[1:]), np.int64)
        np.add.at(whole, place, column)
        placed.append(whole)
    return placed


def _pick(columns: list[NDArray[np.int64]], runs: list[int]) -> NDArray[np.int64]:
    picked = [column[:, [run]] for column, run in zip(columns, runs, strict=True)]
    return np.concatenate(picked, axis=1)


def _entered(
    columns: list[NDArray[np.int64] | None], merged: _Merged, runs: list[int]
) -> NDArray[np.int64] | None:
    """The columns of the runs that stand for their kernels; None where some kernel has none."""
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    return _pick(_placed(known, merged), runs)


def _sample_weight(
    profiles: list[Profile], metric: Metric, runs: list[int]
) -> NDArray[np.float64] | None:
    """float64[K]: of the picked runs; None if it follows from counts and samples."""
    found = [
        profile.sample_weight[run, profile.metrics.index(metric)]
        for profile, run in zip(profiles, runs, strict=True)
        if profile.sample_weight is not None
    ]
    return np.array(found) if len(found) == len(profiles) else None


def _remarks(labels: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """The remarks of the kernels' profiles, each once, with the kernels that it is about unless
    that is all of several."""
    told: dict[str, list[str]] = {}
    for label, profile in zip(labels, profiles, strict=True):
        for remark in profile.remarks:
            told.setdefault(remark, []).append(label)
    return [
        remark if 1 < len(labels) == len(some) else f"{', '.join(some)}: {remark}"
        for remark, some in told.items()
    ]


def _repetitions(
    profile: Profile, by_function: NDArray[np.int64], functions: list[Function]
) -> Repetitions:
    totals = by_function.sum(axis=0)
    lowest, highest = by_function.min(axis=1), by_function.max(axis=1)
    spread = highest - lowest
    order = [row for row in np.argsort(-spread, kind="stable") if spread[row]]
    return Repetitions(
        runs=profile.counts.shape[1],
        identical=profile.identical,
        lowest=int(totals.min()),
        highest=int(totals.max()),
        differing=[
            (functions[row], int(lowest[row]), int(highest[row]))
            for row in order
            if not functions[row].reason
        ],
        unresolved=sorted(
            (functions[row].reason, functions[row].in_kernel, int(lowest[row]), int(highest[row]))
            for row in order
            if functions[row].reason
        ),
    )
