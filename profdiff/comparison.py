"""A comparison: the profiles of all kernels over one merged stack table, and a function table.

Everything that a report shows is computed here, once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.errors import SessionError
from profdiff.function_identity import Function, match
from profdiff.manifest import Kernel, Manifest, Run
from profdiff.profile import Profile
from profdiff.stack_table import StackTable

Side = Literal["kernel", "user"]


@dataclass(frozen=True)
class Repetitions:
    """Whether the runs of one kernel are equal, count for count. ``lowest`` and ``highest`` are
    their totals; ``differing`` the functions whose self counts differ, largest spread first;
    ``unresolved`` the (reason, in_kernel, lowest, highest) whose counts differ."""

    runs: int
    identical: bool
    lowest: int
    highest: int
    differing: list[tuple[Function, int, int]]
    unresolved: list[tuple[str, bool, int, int]]


@dataclass(frozen=True)
class Comparison:
    """K kernels (those with a result; the first is the base), F functions, S stacks, R runs.

    A kernel's numbers are those of one of its runs, the one with the (lower) median total, so that
    they add up. ``run_counts``: int64[S, R]. ``self_`` and ``total``: int64[F, K]. ``unresolved``:
    by (reason, in_kernel), int64[K]. ``inlined``: bool[S, K].
    """

    manifest: Manifest
    kernels: list[Kernel]
    runs: list[Run]
    functions: list[Function]
    namesakes: list[bool]
    symbols: list[dict[str, list[str]]]
    stacks: StackTable
    run_counts: NDArray[np.int64]
    inlined: NDArray[np.bool_]
    self_: NDArray[np.int64]
    total: NDArray[np.int64]
    unresolved: dict[tuple[str, bool], NDArray[np.int64]]
    repetitions: list[Repetitions]
    inlines_visible: list[bool]

    @staticmethod
    def build(manifest: Manifest, profiles: Mapping[str, Profile]) -> "Comparison":
        """Compare ``profiles`` by label; column r of a profile is the kernel's r-th finished run.

        Raises SessionError when the base has no finished run.
        """
        kernels = [kernel for kernel in manifest.kernels if kernel.label in profiles]
        if not kernels or kernels[0].label != manifest.kernels[0].label:
            raise SessionError(
                f"the base, {manifest.kernels[0].label}, has no finished run: nothing can be "
                "compared with it"
            )
        chosen = [profiles[kernel.label] for kernel in kernels]
        matched = match([profile.functions for profile in chosen])
        count = len(matched.functions)
        stacks = StackTable(*(np.empty(0, np.int64) for _ in range(3)))
        places: list[NDArray[np.int64]] = []
        for profile, numbers in zip(chosen, matched.numbers, strict=True):
            own, renumbered = profile.stacks.renumbered(np.asarray(numbers, np.int64))
            stacks, old, new = stacks.merged_with(own)
            places = [old[place] for place in places] + [new[renumbered]]
        columns, flags, representatives = [], [], []
        for profile, place in zip(chosen, places, strict=True):
            column = np.zeros((len(stacks), profile.counts.shape[1]), np.int64)
            np.add.at(column, place, profile.counts)
            flag = np.zeros(len(stacks), np.bool_)
            flag[place[profile.inlined]] = True
            representatives.append(int(np.argsort(profile.totals, kind="stable")[_middle(profile)]))
            columns.append(column)
            flags.append(flag)
        picked = [column[:, [row]] for column, row in zip(columns, representatives, strict=True)]
        by_kernel = np.concatenate(picked, axis=1)
        symbols: list[dict[str, list[str]]] = [{} for _ in range(count)]
        for kernel, profile, numbers in zip(kernels, chosen, matched.numbers, strict=True):
            for function, texts in profile.symbols.items():
                symbols[numbers[function]][kernel.label] = texts
        return Comparison(
            manifest=manifest,
            kernels=kernels,
            runs=_finished(manifest, kernels),
            functions=matched.functions,
            namesakes=matched.namesakes,
            symbols=symbols,
            stacks=stacks,
            run_counts=np.concatenate(columns, axis=1),
            inlined=np.stack(flags, axis=1),
            self_=stacks.self_by_function(by_kernel, count),
            total=stacks.total_by_function(by_kernel, count),
            unresolved=_merge_unresolved(chosen, representatives),
            repetitions=[
                _repetitions(profile, stacks.self_by_function(column, count), matched.functions)
                for profile, column in zip(chosen, columns, strict=True)
            ],
            inlines_visible=[profile.inlines_visible for profile in chosen],
        )

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return [kernel.label for kernel in self.kernels]

    @property
    def ops(self) -> int | None:
        """How many operations the window held."""
        return self.manifest.workload.ops

    @property
    def failed(self) -> list[Run]:
        """The runs without a result."""
        return [run for run in self.manifest.runs if run.failure]

    @property
    def without_result(self) -> list[str]:
        """Labels of the kernels that have no finished run."""
        labels = self.labels
        return [kernel.label for kernel in self.manifest.kernels if kernel.label not in labels]

    def rows(self, side: Side | None = None) -> NDArray[np.int64]:
        """The functions of the kernel, of user space, or all: their numbers."""
        wanted = [side is None or f.in_kernel == (side == "kernel") for f in self.functions]
        return np.flatnonzero(wanted)

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


def _middle(profile: Profile) -> int:
    runs: int = profile.counts.shape[1]
    return (runs - 1) // 2


def _finished(manifest: Manifest, kernels: list[Kernel]) -> list[Run]:
    """The runs behind the columns of ``run_counts``, in their order."""
    return [
        run
        for kernel in kernels
        for run in manifest.runs
        if run.kernel == kernel.label and run.failure is None
    ]


def _merge_unresolved(
    profiles: list[Profile], representatives: list[int]
) -> dict[tuple[str, bool], NDArray[np.int64]]:
    merged: dict[tuple[str, bool], NDArray[np.int64]] = {}
    for index, (profile, run) in enumerate(zip(profiles, representatives, strict=True)):
        for key, counts in profile.unresolved.items():
            merged.setdefault(key, np.zeros(len(profiles), np.int64))[index] += counts[run]
    return dict(sorted(merged.items()))


def _repetitions(
    profile: Profile, by_function: NDArray[np.int64], functions: list[Function]
) -> Repetitions:
    totals = profile.totals
    lowest, highest = by_function.min(axis=1), by_function.max(axis=1)
    spread = highest - lowest
    order = [row for row in np.argsort(-spread, kind="stable") if spread[row]]
    return Repetitions(
        runs=profile.counts.shape[1],
        identical=profile.identical,
        lowest=int(totals.min()),
        highest=int(totals.max()),
        differing=[(functions[row], int(lowest[row]), int(highest[row])) for row in order],
        unresolved=[
            (reason, in_kernel, int(counts.min()), int(counts.max()))
            for (reason, in_kernel), counts in profile.unresolved.items()
            if counts.min() != counts.max()
        ],
    )
