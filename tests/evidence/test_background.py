"""What ran beside the workload is told, and makes a change doubtful where it decides."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import Row, compare, frame

from profdiff.evidence.background import background
from profdiff.profile.comparison import Comparison
from profdiff.views.recording import remarks

TICK = "asm_sysvec_apic_timer_interrupt"


def rows(work: int, tick: int, thread: int) -> list[Row]:
    """The workload's own work, in a function whose name only begins like a thread's."""
    return [
        (
            [frame("change_pte_range"), frame("kthread_stop_put", inlined=True)],
            "work",
            True,
            [work],
        ),
        ([frame(TICK), frame("hrtimer_interrupt", inlined=True)], TICK, True, [tick]),
        ([frame("kthread"), frame("worker_thread", inlined=True)], "kthread", True, [thread]),
    ]


def compared(base: tuple[int, int, int], new: tuple[int, int, int]) -> Comparison:
    comparison = compare({"base": rows(*base), "new": rows(*new)})
    return replace(comparison, calls=np.zeros_like(comparison.counts))


@pytest.mark.parametrize(
    ("base", "new", "doubtful"),
    [
        ((10_000, 50, 50), (12_000, 50, 60), False),
        ((10_000, 300, 0), (11_000, 0, 0), True),
        ((10_000, 0, 0), (10_000, 90, 20), True),
    ],
)
def test_what_ran_beside_the_workload(
    base: tuple[int, int, int], new: tuple[int, int, int], doubtful: bool
) -> None:
    comparison = compared(base, new)
    found = background(comparison)
    assert found
    assert found.counts == [sum(base[1:]), sum(new[1:])]
    assert found.totals == [sum(base), sum(new)]
    assert found.doubtful is doubtful
    (remark,) = [one for one in remarks([comparison]) if "kernel threads" in one.text]
    assert remark.kind == ("caution" if doubtful else "detail")
    assert ("is chance" in remark.text) is doubtful
    assert f"base {sum(base[1:]):,} " in remark.text


def test_too_little_is_no_line() -> None:
    assert background(compared((100_000, 3, 0), (120_000, 0, 4))) is None


def test_without_callers_nothing_is_known() -> None:
    assert background(compare({"base": rows(10, 10, 0), "new": rows(10, 0, 0)})) is None
