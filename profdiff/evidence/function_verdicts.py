"""Which functions of a comparison changed, by the boots of both kernels."""

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.statistics import FunctionTests, function_tests
from profdiff.profile.comparison import Comparison
from profdiff.session.points import by_boot


def function_verdicts(comparison: Comparison, kernel: int) -> FunctionTests | None:
    """Tests of all functions of kernel number ``kernel`` against the base; None where there is one
    run of either only, or every run of both counted the same."""
    repetitions = [comparison.repetitions[number] for number in (0, kernel)]
    if min(one.runs for one in repetitions) < 2 or all(one.identical for one in repetitions):
        return None
    by_kernel = [_boots(comparison, comparison.labels[number]) for number in (0, kernel)]
    totals = comparison.totals()
    return function_tests(
        by_kernel[0],
        by_kernel[1],
        (float(totals[0]), float(totals[kernel])),
        deterministic=comparison.metric.deterministic,
    )


def _boots(comparison: Comparison, label: str) -> NDArray[np.float64]:
    """float64[F, boots]: self counts, the mean of the runs of a boot."""
    columns = [at for at, run in enumerate(comparison.runs) if run.kernel == label]
    size = len(comparison.functions) + len(comparison.unnamed)
    counts = comparison.stacks.self_by_function(comparison.run_counts[:, columns], size)
    counts = counts[: len(comparison.functions)]
    runs = [comparison.runs[at] for at in columns]
    return np.stack([counts[:, boot].mean(axis=1) for boot in by_boot(runs)], axis=1)
