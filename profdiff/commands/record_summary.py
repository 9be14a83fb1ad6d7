"""What ``record`` says at its end: a few lines, and how to see the rest."""

import numpy as np

from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.evidence.findings import choose
from profdiff.evidence.measurements import Evidence
from profdiff.profile.comparison import Comparison
from profdiff.profile.session_comparison import compare, open_perf_data
from profdiff.profile.session_symbols import keep, keep_perf, perf_chains, resolve
from profdiff.reports import evidence_rows, evidence_text
from profdiff.session.folder import Session

_LARGEST = 3
_WIDTH = 100


def symbolize(session: Session, kernels: list[KernelFiles]) -> None:
    """Resolve every place of every kernel with a result, and keep the chains in the session.

    Raises InputError for a damaged debug ELF, SessionError, OSError.
    """
    for kernel in kernels:
        modules = module_files(kernel.modules)
        finished = [
            run
            for run in session.manifest.runs
            if run.kernel == kernel.label and run.failure is None
        ]
        if any("counts" in run.files for run in finished):
            described = session.kernel(kernel.label)
            keep(session, described, resolve(session, described, modules))
        for run in finished:
            if "perf-data" in run.files and "symbols" not in run.files:
                data = open_perf_data(session, run)
                keep_perf(session, run, perf_chains(session, run, data, modules))


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
        comparisons = compare(session, setting)
    except SessionError:
        # The base has no result: the failed runs say why.
        return failed
    evidence = Evidence.gather(session.manifest)
    found: list[str] = []
    if evidence_text.worth_showing(evidence):
        for table in evidence_rows.tables(evidence, setting):
            found += [*evidence_text.draw(table, _WIDTH), ""]
    else:
        found += [line for one in comparisons for line in _totals(one)]
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
