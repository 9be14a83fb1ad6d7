"""Which functions of a comparison changed, by the boots of both kernels, and the seats of its
changes, where they are not due to chance."""

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.conditions.condition import Condition
from profdiff.evidence.conditions.measured_change import sampled_change
from profdiff.evidence.statistics import FunctionTests, function_tests
from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import KeptSeats, Seat, Seats
from profdiff.session.points import by_boot


def function_verdicts(comparison: Comparison, kernel: int) -> FunctionTests | None:
    """Tests of all functions of kernel number ``kernel`` against the base; None where there is one
    run of either only, or every run of both counted the same."""
    repetitions = [comparison.repetitions[number] for number in (0, kernel)]
    if min(repetition.runs for repetition in repetitions) < 2 or all(
        repetition.identical for repetition in repetitions
    ):
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


def sure_seat(comparison: Comparison, seats: Seats, kernel: int) -> Seat | None:
    """That of a kernel, by number, against the base; None where there is none, or the function's
    total may have changed by chance among samples."""
    found = seats.seat(kernel)
    if found is None or comparison.run_samples is None:
        return found
    name = comparison.functions[found.function].name
    about = Condition(comparison.metric.name, name, True, ">", 0.0, "", inclusive=True)
    change = sampled_change(comparison, about, comparison.labels[kernel])
    if change is None or change.difference is None:
        return None
    low, high = change.difference
    return found if low > 0 or high < 0 else None


def sure_seats(comparison: Comparison) -> KeptSeats:
    """Those of a comparison of samples against the base; none from kernel to kernel."""
    seats = Seats(comparison)
    every = [None, *(sure_seat(comparison, seats, at) for at in range(1, len(comparison.labels)))]
    number = np.array([[one.function if one else -1, -1] for one in every], np.int64)
    delta = np.array([[one.delta if one else 0, 0] for one in every], np.int64)
    return KeptSeats(comparison.labels, comparison.functions, number, delta)
