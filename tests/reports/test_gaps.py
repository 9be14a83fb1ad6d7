"""The gap that a third kernel closes: only where both of its ends are sure."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, profdiff
from synthetic import Row, frame
from synthetic_experiment import boots, found, recorded
from synthetic_joint import part

from profdiff.base.errors import InputError
from profdiff.session import manifest as m
from profdiff.topics import gaps

COUNTS = st.integers(0, 10**9)


@given(COUNTS, COUNTS, COUNTS)
def test_a_share_of_exact_counts_is_exact(base: int, bad: int, fixed: int) -> None:
    closed = gaps.of_exact(base, bad, fixed)
    if base == bad:
        assert closed is None
        return
    assert closed is not None
    assert closed.share == closed.low == closed.high
    assert closed.share == pytest.approx(float(Fraction(bad - fixed, bad - base)))
    # The base itself closes all, the second kernel nothing.
    assert gaps.of_exact(base, bad, base) == (1, 1, 1)
    assert gaps.of_exact(base, bad, bad) == (0, 0, 0)


@given(COUNTS, COUNTS, COUNTS, st.integers(1, 10**6))
def test_no_share_of_a_gap_that_ticks_can_make(base: int, bad: int, fixed: int, tick: int) -> None:
    closed = gaps.of_exact(base, bad, fixed, tick)
    if abs(bad - base) <= tick:
        assert closed is None
    if closed is not None:
        assert closed.low <= closed.share <= closed.high <= closed.low + 0.1


def _row(name: str, counts: Sequence[int]) -> Row:
    return ([frame(name)], name, True, list(counts))


def test_points_and_functions(tmp_path: Path) -> None:
    """By hand: f costs 100, 300 and 150 at n 1; 200, 300 and 320 at n 2; g is equal."""
    points = [m.Point({"n": n}, 1, 1) for n in ("1", "2")]
    kernels = {
        "base": [_row("f", (100, 200)), _row("g", (50, 50))],
        "bad": [_row("f", (300, 300)), _row("g", (50, 50))],
        "fix": [_row("f", (150, 320)), _row("g", (50, 50))],
    }
    session = part(tmp_path / "S", kernels, points)
    said = " ".join(profdiff("report", session.folder, "gaps", "--at", "n=1").stdout.split())
    assert (
        "fix adds 20% to the gap in instructions per op that bad opens to base at n 2, and closes "
        "75% at n 1." in said
    )
    assert "100.00 300.00 150.00 75% f" in said
    assert "g" not in said.split("functions that cost more")[1].split()
    shown = " ".join(profdiff("report", session.folder).stdout.split())
    assert "fix adds 20% to the gap" in shown
    mail = " ".join(profdiff("mail", session.folder).stdout.split())
    assert "fix adds 20% to the gap" in mail


def test_two_kernels_have_none(tmp_path: Path) -> None:
    rows = [_row("f", (1, 2))]
    session = part(tmp_path / "S", {"base": rows, "new": rows})
    said = error_line(profdiff("report", session.folder, "gaps", status=2))
    assert "a gap needs a base, a kernel that is worse, and a third one" in said


def test_no_gap_without_a_kernel_that_is_worse(tmp_path: Path) -> None:
    kernels = {"base": [_row("f", (9, 9))], "mid": [_row("f", (5, 5))], "new": [_row("f", (7, 7))]}
    session = part(tmp_path / "S", kernels)
    assert "gaps: no gap is certain, and closed" in error_line(
        profdiff("report", session.folder, "gaps", status=2)
    )


def test_times_have_one_where_both_changes_are_sure() -> None:
    """Half of a gap of 40% that is larger than its noise; none of a gap within it."""
    sure = {"base": [boots(100)], "bad": [boots(140)], "fix": [boots(120)]}
    (table,) = gaps.section(found(recorded(sure, points=[m.Point()]))).tables
    closed = table.index("closed", "fix")
    assert table.rows[0][closed] == pytest.approx(0.5, abs=0.01)
    low, high = (table.rows[0][table.index(end, "fix")] for end in ("low", "high"))
    assert low < 0.5 < high < low + 0.1  # type: ignore[operator]
    noisy = {"base": [boots(100)], "bad": [boots(100.01)], "fix": [boots(100)]}
    with pytest.raises(InputError, match="no gap is certain"):
        gaps.section(found(recorded(noisy, points=[m.Point()])))
    with pytest.raises(InputError, match="third"):
        gaps.section(found(recorded({"base": [boots(1)], "new": [boots(2)]}, points=[m.Point()])))
