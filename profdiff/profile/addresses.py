"""What runs executed, address by address: functions and stacks are sums over it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from profdiff.base.metric import Metric
from profdiff.collectors.recorded import CallTree, Recorded
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import Places, distinct, of_keys, rows_of


@dataclass(frozen=True)
class Addresses:
    """N places of one kernel that R runs executed, and M metrics.

    ``chains``: the functions of each place. ``executed``: uint8[N, 16], the length of the
    instruction that ran there and its bytes, zeros where they were not seen. ``trees``: who called
    whom in each run, places being rows of this; None where that was not recorded.
    """

    places: Places
    chains: Chains
    executed: NDArray[np.uint8]
    metrics: tuple[Metric, ...]
    trees: Sequence[CallTree | None]
    count: Callable[[], NDArray[np.int64]]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """int64[N, R, M]: what each run spent at each place itself; summed when first asked for."""
        return self.count()

    @staticmethod
    def of_runs(runs: Sequence[Recorded], chains: Callable[[Places], Chains]) -> "Addresses":
        """Runs of one kernel whose places compare by address and code. ``chains`` symbolizes."""
        keys = [run.places.keys() for run in runs]
        same = all(np.array_equal(keys[0], own) for own in keys)
        every = keys[0] if same else distinct(np.concatenate(keys))
        rows = [rows_of(every, own) for own in keys]
        executed = np.zeros((len(every), 16), np.uint8)
        for run, where in zip(runs, rows, strict=True):
            executed[where] = run.executed
        places = of_keys(every)

        def count() -> NDArray[np.int64]:
            counts = np.zeros((len(every), len(runs), len(runs[0].metrics)), np.int64)
            for column, (run, where) in enumerate(zip(runs, rows, strict=True)):
                counts[where, column] = run.count
            return counts

        return Addresses(
            places,
            chains(places),
            executed,
            runs[0].metrics,
            [run.calls and run.calls.placed(at) for run, at in zip(runs, rows, strict=True)],
            count,
        )

    @staticmethod
    def of_samples(run: Recorded, chains: Chains) -> "Addresses":
        """One run of samples: where they were taken."""
        return Addresses(
            run.places, chains, run.executed, run.metrics, [None], lambda: run.count[:, None]
        )

    def subtracted(self, runs: int) -> "Addresses":
        """Of 2·``runs`` runs the first half minus the second."""

        def count() -> NDArray[np.int64]:
            return self.counts[:, :runs] - self.counts[:, runs:]

        return replace(self, trees=[None] * runs, count=count)
