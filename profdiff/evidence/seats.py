"""The seats of a comparison's changes, where they are not due to chance."""

import numpy as np

from profdiff.evidence.conditions.condition import Condition
from profdiff.evidence.conditions.measured_change import sampled_change
from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import KeptSeats, Seat, Seats


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
