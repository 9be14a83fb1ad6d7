"""How much each function executed itself, summed from addresses alone: what a comparison says of
self counts, without its stacks."""

from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import SessionError
from profdiff.collectors import registry
from profdiff.profile.addresses import Addresses
from profdiff.profile.function_identity import Function, match
from profdiff.profile.kept_chains import chains_of
from profdiff.profile.kept_seats import KeptSeats
from profdiff.profile.runs import median_run, paired, recorded
from profdiff.session.manifest import Run
from profdiff.session.points import Setting
from profdiff.session.session import Session


class SelfCounts(msgspec.Struct, frozen=True):
    """``counts``: int64[F, K] of F functions, also those that stand for unresolved addresses, and
    the K kernels of ``labels``, which have a result. ``seats``: where they are known."""

    functions: Sequence[Function]
    labels: Sequence[str]
    counts: NDArray[np.int64]
    seats: KeptSeats | None = None


def exact_collector(session: Session) -> str | None:
    """The session's first collector that counts every event and tells functions apart."""
    exact = (name for name in session.profiling if registry.collector(name).kind.exact)
    return next(exact, None)


def counted(session: Session, collector: str, setting: Setting, state: int = 0) -> SelfCounts:
    """What ``Comparison.self_`` and ``Comparison.unresolved`` have at a setting, of an exact
    collector's first metric, in one state; only functions that executed something themselves.
    Raises SessionError, and InputError for a damaged debug ELF."""
    found: dict[str, tuple[list[Function], NDArray[np.int64]]] = {}
    for kernel in session.compared:
        short, long = paired(session, kernel.label, collector, setting, state)
        if long:
            found[kernel.label] = _of_kernel(session, long, short)
    matched = match([functions for functions, _ in found.values()])
    counts = np.zeros((len(matched.functions), len(found)), np.int64)
    for column, ((_, own), rows) in enumerate(zip(found.values(), matched.numbers, strict=True)):
        np.add.at(counts[:, column], np.asarray(rows, np.int64), own)
    some = np.flatnonzero(counts.any(axis=1))
    functions = [matched.functions[row] for row in some.tolist()]
    return SelfCounts(functions, list(found), counts[some])


def _of_kernel(
    session: Session, long: Sequence[Run], short: Sequence[Run]
) -> tuple[list[Function], NDArray[np.int64]]:
    """The functions, and int64[F] of the run with the (lower) median total, as a comparison
    chooses it."""
    read = []
    for run in [*long, *short]:
        one = recorded(session, run)
        if one is None:
            raise SessionError(f"run {run.id} has no recording")
        read.append(one)
    addresses, _ = Addresses.of_runs(read, partial(chains_of, session, long[0]))
    counts = addresses.counts[:, :, 0]
    if short:
        counts = counts[:, : len(long)] - counts[:, len(long) :]
    picked = counts[:, median_run(counts.sum(axis=0))]
    functions = addresses.functions
    leaf = functions.frames[functions.offsets[1:].astype(np.int64) - 1].astype(np.int64)
    result = np.zeros(len(functions.functions), np.int64)
    np.add.at(result, leaf, picked)
    # What only called others, or cancelled out, is not a row.
    some = np.flatnonzero(result)
    return [functions.functions[row] for row in some.tolist()], result[some]
