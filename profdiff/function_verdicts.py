"""Which functions of a comparison changed, by the boots of both kernels."""

import numpy as np

from profdiff.comparison import Comparison
from profdiff.statistics import FunctionTests, Rule, function_tests


def function_verdicts(
    comparison: Comparison, kernel: int, rule: Rule | None = None
) -> FunctionTests | None:
    """Tests of all functions of kernel number ``kernel`` against the base; None where there is one
    run of either only, or every run of both counted the same."""
    repetitions = [comparison.repetitions[number] for number in (0, kernel)]
    if min(one.runs for one in repetitions) < 2 or all(one.identical for one in repetitions):
        return None
    labels = [run.kernel for run in comparison.runs]
    by_kernel = []
    for number in (0, kernel):
        columns = [at for at, label in enumerate(labels) if label == comparison.labels[number]]
        counts = comparison.run_counts[:, columns]
        size = len(comparison.functions) + len(comparison.unnamed)
        by_function = comparison.stacks.self_by_function(counts, size)
        by_kernel.append(by_function[: len(comparison.functions)].astype(np.float64))
    totals = comparison.totals()
    return function_tests(
        by_kernel[0],
        by_kernel[1],
        (float(totals[0]), float(totals[kernel])),
        rule or Rule(),
        deterministic=comparison.metric.exact,
        seed=comparison.manifest.order.seed,
    )
