"""What runs executed, address by address: functions and stacks are sums over it."""

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.metric import Metric
from profdiff.collectors.recorded import Beside, CallTree, Recorded
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import Places, distinct, of_keys, rows_of


class Addresses(msgspec.Struct, frozen=True, dict=True):
    """N places of one kernel that R runs executed, and M metrics.

    ``chains``: the functions of each place. ``executed``: uint8[N, 16], the length of the
    instruction that ran there and its bytes, zeros where they were not seen. ``count`` gives
    ``counts``; it holds no recording, since a comparison keeps the addresses of all its runs.
    ``iterations``: int64[N, R], how often repeated string instructions started that ``counts``
    leaves out; None where some run does not say it. ``taken``: int64[N, R], how often the
    conditional branch at each place jumped to its target, 0 for what is none; ``untold``:
    int64[N, R], of how many of its executions that is not known; None where some run does not say
    it. ``sampled`` gives int64[N, R, M], from how many samples ``counts`` are known; None for exact
    counts. ``trees`` reads who called whom in a run again, with 1, or with -1 where it is
    subtracted; None where that is not known. ``beside``: what ran beside the workload in each run;
    None where some run does not tell it apart.
    """

    places: Places
    chains: Chains
    executed: NDArray[np.uint8]
    metrics: tuple[Metric, ...]
    count: Callable[[], NDArray[np.int64]]
    iterations: NDArray[np.int64] | None = None
    taken: NDArray[np.int64] | None = None
    untold: NDArray[np.int64] | None = None
    sampled: Callable[[], NDArray[np.int64]] | None = None
    trees: Callable[[int], Sequence[tuple[int, CallTree]]] | None = None
    beside: Beside | None = None

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """int64[N, R, M]: what each run spent at each place itself; summed when first asked for."""
        return self.count()

    @cached_property
    def functions(self) -> ChainFunctions:
        """The functions of each place, those of all chains numbered."""
        return ChainFunctions.of(self.chains, self.places.in_kernel)

    @staticmethod
    def of_runs(
        runs: Sequence[Recorded], chains: Callable[[Places], Chains]
    ) -> tuple["Addresses", list[NDArray[np.intp]]]:
        """Runs of one kernel whose places compare by address and code, and where each run's places
        are among all of them. ``chains`` symbolizes."""
        keys = [run.places.keys() for run in runs]
        same = all(np.array_equal(keys[0], own) for own in keys)
        every = keys[0] if same else distinct(np.concatenate(keys))
        rows = [rows_of(every, own) for own in keys]
        metrics = runs[0].metrics
        executed = np.zeros((len(every), 16), np.uint8)
        counts = np.zeros((len(every), len(runs), len(metrics)), np.int64)
        for column, (run, where) in enumerate(zip(runs, rows, strict=True)):
            executed[where] = run.executed
            counts[where, column] = run.count
        places = of_keys(every)
        addresses = Addresses(places, chains(places), executed, metrics, lambda: counts)

        def by_run(columns: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
            result = np.zeros((len(every), len(runs)), np.int64)
            for number, (own, where) in enumerate(zip(columns, rows, strict=True)):
                if own is None:
                    return None
                result[where, number] = own
            return result

        apart = [run.beside for run in runs if run.beside is not None]
        told = replace(
            addresses,
            iterations=by_run([run.iterations for run in runs]),
            taken=by_run([run.taken for run in runs]),
            untold=by_run([run.untold for run in runs]),
            beside=Beside.of_runs(apart) if len(apart) == len(runs) else None,
        )
        return told, rows

    def subtracted(self, runs: int) -> "Addresses":
        """The first half of 2·``runs`` runs minus the second half."""

        def less(both: NDArray[np.int64]) -> NDArray[np.int64]:
            difference: NDArray[np.int64] = both[:, :runs] - both[:, runs:]
            return difference

        def rest(both: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
            return None if both is None else less(both)

        def trees(run: int) -> Sequence[tuple[int, CallTree]]:
            if self.trees is None:
                return []
            shorter = ((-sign, tree) for sign, tree in self.trees(runs + run))
            return [*self.trees(run), *shorter]

        found = replace(
            self,
            trees=None if self.trees is None else trees,
            count=lambda: self.counts[:, :runs] - self.counts[:, runs:],
            iterations=rest(self.iterations),
            taken=rest(self.taken),
            untold=rest(self.untold),
            beside=self.beside and Beside(self.beside.address, less(self.beside.count)),
        )
        if "functions" in self.__dict__:
            found.__dict__["functions"] = self.functions
        return found
