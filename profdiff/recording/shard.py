"""The runs of a plan, divided: which of N processes makes which, without asking each other."""

import hashlib
import re
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.recording.schedule import PlannedRun, places
from profdiff.session import manifest as m

_MAX_SHARDS = 10**6


class Shard(NamedTuple):
    """The ``number``-th of ``of``, from 1."""

    number: int
    of: int

    @staticmethod
    def parse(text: str) -> "Shard":
        """``I/N``. Raises InputError."""
        match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
        found = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
        if not 1 <= found.number <= found.of <= _MAX_SHARDS:
            raise InputError(f"--shard {text}: write I/N, as 1/4 to 4/4")
        return found

    @property
    def suffix(self) -> str:
        """What a folder of this shard is called behind the name of the whole."""
        return f".shard-{self.number}-of-{self.of}"

    def runs(self, plans: Mapping[str, m.Manifest], chosen: Mapping[str, Set[int]]) -> "Runs":
        """Which runs of ``plans``, by what each is called, are this shard's, of those at the
        ``chosen`` points. It follows from the plans alone: not from what is recorded already.

        A shard's runs are of as few kernels as can be, which its machine boots and saves; within a
        kernel, long and short ones are spread.
        """
        every = sorted(
            (kernel, _drawn(name, place), name, place)
            for name, plan in plans.items()
            for kernel, place in _planned(plan)
            if place.point in chosen[name]
        )
        start, end = (len(every) * n // self.of for n in (self.number - 1, self.number))
        found: dict[str, set[PlannedRun]] = {name: set() for name in plans}
        for _, _, name, place in every[start:end]:
            found[name].add(place)
        return found


Runs = Mapping[str, Set[PlannedRun]]


def _planned(plan: m.Manifest) -> Sequence[tuple[int, PlannedRun]]:
    """All runs of a plan, each with its kernel's number. Those of kernels that could not be built
    are divided, too, and left out when runs are made: elsewhere, they may have been built."""
    labels = [kernel.label for kernel in plan.kernels]
    numbers = {label: number for number, label in enumerate(labels)}
    return [
        (numbers[place.kernel], place)
        for collector in plan.collectors
        for place in places(plan, labels, collector)
    ]


def _drawn(name: str, place: PlannedRun) -> bytes:
    told = f"{name}\0{place.collector}\0{place.point}\0{place.turn}"
    if place.state:
        told += f"\0state {place.state}"
    return hashlib.sha256(told.encode()).digest()
