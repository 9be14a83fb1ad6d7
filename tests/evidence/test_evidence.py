"""From runs to results, tables and words: units, verdicts, A/A, differences of two lengths."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_experiment import ICOUNT, boots, recorded

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results, _against_noise
from profdiff.evidence.statistics import Rule, estimates
from profdiff.reports.text import session
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.points import settings
from profdiff.session.state import State
from profdiff.views.claims.claim import headlines
from profdiff.views.results import notes, result
from profdiff.views.results.experiment import grids, shown


def _found(described: m.Manifest) -> Findings:
    first, results = settings(described)[0], Results.gather(described)
    return Findings(described, first, [], results, State(), Facts())


def text(described: m.Manifest, width: int = 100) -> str:
    results = Results.gather(described)
    return "\n".join(session.experiment_lines(results, settings(described)[-1], width))


def test_a_clear_change_and_none() -> None:
    results = Results.gather(recorded({"base": [boots(100)], "new": [boots(150)]}))
    (result,) = results.every
    change = result.changes[1]
    assert change is not None
    assert change.verdict == "changed"
    assert change.median.estimate == pytest.approx(0.5, abs=0.01)
    results = Results.gather(recorded({"base": [boots(100)], "new": [boots(100.01)]}))
    assert results.every[0].changes[1].verdict == "unchanged"  # type: ignore[union-attr]


def test_the_spread_is_that_of_the_boots_medians() -> None:
    values = {"base": [[[1.0], [2.0, 9.0, 3.0]]], "new": [[[4.0], [4.0]]], "one": [[[5.0]]]}
    (result_,) = Results.gather(recorded(values)).every
    assert [cell.spread for cell in result_.cells] == [pytest.approx(2**-0.5), 0, None]
    assert [str(result.Median.of(cell)) for cell in result_.cells] == ["2 ±70.7%", "4", "5"]


def test_too_few_boots_give_no_verdict() -> None:
    described = recorded({"base": [boots(100, 3)], "new": [boots(150, 3)]})
    shown = text(described)
    assert "unsure" in shown
    assert "with 3 boots against 3, p cannot be below 0.1" in " ".join(shown.split())
    assert "changed  " not in shown


def test_deterministic_counts_are_exact() -> None:
    described = recorded(
        {"base": [[[1000.0]] * 2], "new": [[[1100.0]] * 2]},
        collector="exact",
        is_total=True,
        qemu=ICOUNT,
        points=[m.Point(cpus=1, ops=100)],
        name="instructions",
        unit="instructions",
    )
    (result,) = Results.gather(described).every
    assert result.per_op
    assert result.cells[1].boots == [[11.0], [11.0]]
    assert result.changes[1].verdict == "exact"  # type: ignore[union-attr]
    told = {note.kind: note.text for note in notes.notes(Results.gather(described))}
    assert "need no statistics" in told["counts"]
    # The functions' table says it all.
    assert text(described) == ""


def test_virtual_time_is_called_instruction_counts() -> None:
    described = recorded({"base": [[[5.0]]], "new": [[[6.0]]]}, qemu=ICOUNT)
    (result,) = Results.gather(described).every
    assert result.virtual
    title, _ = text(described).split("\n", 1)
    assert title == "guest clock, which counts instructions; every change is exact"
    assert "\nlatency, instructions  " in text(described)
    (sentence,) = headlines(_found(described))
    assert sentence == (
        "new executes 20.0% more instructions on an emulated clock than base: latency 6 instead "
        "of 5 instructions (guest clock)."
    )
    hardware = recorded({"base": [[[5.0]]], "new": [[[6.0]]]})
    assert "guest" not in text(hardware)
    assert "latency, ns" in text(hardware)


def test_what_the_base_differs_from_itself_by_is_no_change() -> None:
    noisy = {"base": [boots(100, 9, 0.02)], "base.aa": [boots(104, 9, 0.02)]}
    quiet = recorded({**noisy, "new": [boots(105, 9, 0.0005)]}, twin_repeat=9)
    results = Results.gather(quiet)
    assert results.labels == ["base", "new"]
    (result,) = results.every
    assert result.noise is not None
    assert result.noise > 0.04
    assert result.changes[1].verdict != "changed"  # type: ignore[union-attr]
    assert "A/A" in text(quiet)
    far = Results.gather(recorded({**noisy, "new": [boots(200)]}, twin_repeat=9))
    assert far.every[0].changes[1].verdict == "changed"  # type: ignore[union-attr]


def test_two_lengths_are_subtracted() -> None:
    lengths = [m.Point({"N": "10"}, 1, 10), m.Point({"N": "30"}, 1, 30, shorter=0)]
    described = recorded(
        {"base": [[[1010.0]], [[1030.0]]], "new": [[[2020.0]], [[2060.0]]]},
        points=lengths,
        is_total=True,
    )
    (result,) = Results.gather(described).every
    assert [cell.boots for cell in result.cells] == [[[1.0]], [[2.0]]]
    assert result.setting.ops == 20
    # What a workload says of itself is of one op already, and comes from the longer run.
    own = recorded({"base": [[[1.0]], [[2.0]]], "new": [[[3.0]], [[5.0]]]}, points=lengths)
    (result,) = Results.gather(own).every
    assert [cell.boots for cell in result.cells] == [[[2.0]], [[5.0]]]
    assert not result.per_op
    # The time of timed runs, which have one length beside counts: of the whole command.
    timed = {"base": [[], [[300.0]]], "new": [[], [[600.0]]]}
    wall = m.replace(
        recorded(timed, points=lengths, is_total=True, name="wall-time"),
        collectors=["exact", "timed"],
    )
    (result,) = Results.gather(wall).every
    assert [cell.boots for cell in result.cells] == [[[10.0]], [[20.0]]]
    told = {note.kind: note.text for note in notes.notes(Results.gather(wall))}
    assert "start-up too" in told["whole"]
    assert headlines(_found(wall)) == []


def test_a_sweep_has_a_row_for_each_point() -> None:
    sizes = [m.Point({"size": str(size)}, cpus) for size in (4, 40) for cpus in (1, 2)]
    values = {label: [boots(n * f) for n in (1, 2, 3, 4)] for label, f in (("base", 1), ("b", 2))}
    described = recorded(values, points=sizes)
    (grid,) = grids(Results.gather(described), settings(described)[0])
    table = grid.table
    assert table.header[:3] == ["size", "vCPUs", "base"]
    assert [row[:2] for row in table.rows] == [["4", "1"], ["4", "2"], ["40", "1"], ["40", "2"]]
    assert {row[table.header.index("change")] for row in table.rows} == {"+100.0%"}


@given(st.lists(st.none() | st.integers(1, 1000), min_size=2, max_size=7))
def test_a_step_is_from_the_last_kernel_with_a_result(values: list[int | None]) -> None:
    """A kernel whose runs all failed is stepped over, as one that was not built."""
    ladder = {"base": 100, **{f"p{n}": value for n, value in enumerate(values)}}
    cells = {label: [[[float(value)]] if value else []] for label, value in ladder.items()}
    (result,) = Results.gather(recorded(cells, qemu=ICOUNT)).every
    for at, value in enumerate(ladder.values()):
        step = result.steps[at]
        if at == 0 or not value:
            assert step is None
            continue
        last = [one for one in list(ladder.values())[:at] if one][-1]
        assert step
        assert step.medians == (last, value)


def test_a_ladder_shows_each_step() -> None:
    ladder = {"base": [boots(100)], "p1": [boots(110)], "p2": [boots(110)], "revert": [boots(100)]}
    described = recorded(ladder)
    steps = grids(Results.gather(described), settings(described)[0])[-1].table
    assert [row[0] for row in steps.rows] == list(ladder)
    column = steps.header.index("to previous")
    assert [row[column] for row in steps.rows] == ["", "+10.0%", "0%", "-9.1%"]
    assert [row[steps.header.index("verdict")] for row in steps.rows][1:] == [
        "changed",
        "changed",
        "unchanged",
    ]


@pytest.mark.parametrize("kernels", [2, 3, 8, 20])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_tables_fit_and_lose_nothing(kernels: int, width: int) -> None:
    labels = ["base", *(f"a-rather-long-label-{n}" for n in range(1, kernels))]
    sizes = [m.Point({"size_kib": str(10**n)}, 1) for n in range(4)]
    described = recorded({label: [boots(100)] * 4 for label in labels}, points=sizes)
    shown = text(described, width)
    assert max(map(units.width, shown.splitlines())) <= width
    for label in labels:
        assert label in shown
    ascii_only = units.ascii_only(shown)
    assert ascii_only.isascii()
    assert "+-0.3%" in ascii_only


def test_every_boots_value_is_shown_unrounded() -> None:
    described = recorded({"base": [[[25.123456789], [25.2]]], "new": [[[1, 2], [3, 4]]]})
    results = Results.gather(described)
    kernels = shown(results, results.every[0]).kernels
    assert [kernel.values for kernel in kernels] == ["25.12345679 25.2", "[1 2] [3 4]"]
    once = msgspec.structs.replace(kernels[0], boots=[[5.0], [5.0]], failed=1)
    assert once.values == "5 (2 times); 1 failed"
    assert msgspec.structs.replace(once, boots=[]).values == "none; 1 failed"


def test_runs_in_one_boot_of_a_machine_are_no_boots() -> None:
    described = recorded({"base": [boots(100)], "new": [boots(150)]})
    runs = [
        m.replace(run, boot=f"{run.kernel}-{(run.repetition - 1) // 3}") for run in described.runs
    ]
    (result,) = Results.gather(m.replace(described, runs=runs)).every
    assert [len(boot) for boot in result.cells[0].boots] == [3, 3, 3]
    # Nine runs each would tell, three boots each do not.
    assert result.changes[1].verdict == "unsure"  # type: ignore[union-attr]


def test_failed_runs_are_counted_and_make_a_cell_partial() -> None:
    described = recorded({"base": [boots(100)], "new": [boots(150)]})
    failure = m.Failure(kind="workload", message="killed")
    broken = m.replace(described.runs[-1], failure=failure, measured=[])
    described = m.replace(described, runs=[*described.runs[:-1], broken])
    (result,) = Results.gather(described).every
    assert result.cells[1].failed == 1
    assert result.changes[1].quality == "partial"  # type: ignore[union-attr]
    assert "1 failed run\n" in text(described)
    assert "changed (partial)" in text(described)


def test_hostile_metric_names_stay_one_line() -> None:
    hostile = recorded({"base": [boots(1)], "new": [boots(2)]}, name="\x1b[2J\nx" * 50, unit="\x07")
    shown = text(hostile)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert max(map(units.width, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("noise", "verdict"),
    [(None, "changed"), (math.nan, "changed"), (0.1, "changed"), (9, "unsure")],
)
def test_a_change_within_the_noise_floor_is_none(noise: float | None, verdict: str) -> None:
    """A single A/A run has no floor (nan): it says nothing against a change."""
    base, other = ([[value * (1 + n / 1000)] for n in range(9)] for value in (100.0, 200.0))
    (found,) = estimates([(base, other)], Rule(), planned=9, deterministic=False, seed=0)
    assert str(_against_noise(found, noise).verdict) == verdict
