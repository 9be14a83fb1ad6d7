"""What ``record`` says at its end: a few lines, and how to see the rest."""

import numpy as np

from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.evidence.findings import choose
from profdiff.evidence.results import Results
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_chains import keep
from profdiff.profile.recordings import Recordings
from profdiff.reports import experiment_text
from profdiff.session.folder import Session

_LARGEST = 3
_WIDTH = 100


def symbolize(session: Session, kernels: list[KernelFiles]) -> None:
    """Resolve every place of every kernel with a result, and keep the chains in the session.

    Raises InputError for a damaged debug ELF, SessionError, OSError.
    """
    for kernel in kernels:
        keep(session, kernel.label, module_files(kernel.modules))


def lines(session: Session) -> list[str]:
    """The experiment's tables, or else totals and ratios to the base; the largest deltas; failed
    runs. Raises SessionError."""
    failed = [
        f"failed run {run.id}: {units.printable(run.failure.message)}"
        for run in session.manifest.runs
        if run.failure
    ]
    try:
        setting = choose(session.manifest, None)
        comparisons = Recordings(session, setting).comparisons()
    except SessionError:
        # The base has no result: the failed runs say why.
        return failed
    found = experiment_text.tables(Results.gather(session.manifest), setting, _WIDTH)
    found = found or [line for one in comparisons for line in _totals(one)]
    found += [line for one in comparisons for line in _deltas(one)]
    return [*found, *failed]


def _totals(comparison: Comparison) -> list[str]:
    totals = comparison.totals()
    width = max(map(len, comparison.labels))
    rows = []
    for index, label in enumerate(comparison.labels):
        ratio = f"{totals[index] / totals[0]:.3f} times {comparison.labels[0]}" if totals[0] else ""
        against = ratio if index else "the base"
        rows.append(f"{label:{width}}  {totals[index]:>15,} {comparison.metric.title}  {against}")
    return rows


def _deltas(comparison: Comparison) -> list[str]:
    rows = []
    for index, label in list(enumerate(comparison.labels))[1:]:
        deltas = comparison.deltas()[:, index]
        for row in np.argsort(-np.abs(deltas), kind="stable")[:_LARGEST]:
            if deltas[row]:
                change = units.change(
                    int(comparison.self_[row, 0]), int(comparison.self_[row, index])
                )
                name = units.printable(comparison.functions[row].name)
                rows.append(f"{label}: {units.delta(int(deltas[row])):>15}  {change:>9}  {name}")
    return rows
