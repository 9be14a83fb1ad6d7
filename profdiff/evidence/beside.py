"""How many instructions ran beside the workload: interrupts, and threads of the kernel."""

from collections.abc import Sequence
from statistics import median_low

from profdiff.profile.comparison import Comparison
from profdiff.session.points import Cells, Setting, cells


def beside(
    runs: Cells, setting: Setting, labels: Sequence[str], collector: str
) -> dict[str, int] | None:
    """By kernel, at a setting; of two lengths, in both; the (lower) median over boots. None
    where some run does not tell it from the workload's own context."""
    found = {}
    for label in labels:
        counted = []
        for point in setting.points:
            told = [
                run.instructions.beside
                for run in runs.get((label, collector, point), ())
                if run.failure is None and run.instructions is not None
            ]
            known = [one for one in told if one is not None]
            if not known or len(known) < len(told):
                return None
            counted.append(median_low(known))
        found[label] = sum(counted)
    return found


def of_comparison(comparison: Comparison) -> dict[str, int] | None:
    """By kernel of a comparison; None also where nothing was counted."""
    if all(run.instructions is None for run in comparison.runs):
        return None
    collector = comparison.runs[0].collector
    return beside(cells(comparison.manifest), comparison.setting, comparison.labels, collector)
