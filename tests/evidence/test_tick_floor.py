"""A change that timer ticks alone can make is none that a report may be sure of."""

import csv
import io
from collections.abc import Sequence

import pytest
from synthetic_experiment import ICOUNT, found, recorded

from profdiff.checks.judging import judge
from profdiff.evidence.conditions.condition import Condition
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import tick_floor
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.reports import csv as reports_csv
from profdiff.session import manifest as m
from profdiff.session.points import cells, settings
from profdiff.views.claims.claim import claim
from profdiff.views.results.experiment import experiment
from profdiff.views.results.notes import notes

BASE = 1_000_000


def ran(
    changes: Sequence[int],
    interrupts: int | None,
    *,
    beside: int | None = 0,
    base: int = BASE,
    **more: object,
) -> m.Manifest:
    """A base and kernels that execute so many more instructions."""
    totals = {"base": base, **{f"new{n or ''}": base + one for n, one in enumerate(changes)}}
    described = recorded(
        {label: [[[float(total)]]] for label, total in totals.items()},
        collector="exact",
        is_total=True,
        name="instructions",
        unit="instructions",
        qemu=ICOUNT,
        **more,
    )
    counted = {
        label: m.Instructions(
            kernel=total, user=0, each_iteration=total, beside=beside, interrupts=interrupts
        )
        for label, total in totals.items()
    }
    runs = [m.replace(run, instructions=counted[run.kernel]) for run in described.runs]
    return m.replace(described, runs=runs)


def change(*changes: int, interrupts: int | None, **more: object) -> Estimate:
    result = Results.gather(ran(changes, interrupts, **more)).every[0]
    estimate = result.changes[1]
    assert estimate
    return estimate


@pytest.mark.parametrize(
    ("interrupts", "beside", "floor"),
    [
        (0, 0, 0),
        (0, 50_000, 0),  # threads that the workload itself woke
        (1, 9_000, 7_000),
        (2, 9_000, 7_000),
        (3, 9_000, 9_000),
        (110, 9_000_000, 330_000),
        (0, None, 0),
        (3, None, 30_000),  # without a call tree, interrupts are in the count
        (None, None, None),
    ],
)
def test_floor(interrupts: int | None, beside: int | None, floor: int | None) -> None:
    manifest = ran([0], interrupts, beside=beside)
    assert tick_floor([cells(manifest)["base", "exact", 0]]) == floor


@pytest.mark.parametrize(
    ("short", "long", "floor"), [(48, 48, 7_000), (48, 55, 24_000), (0, 0, 0), (0, 5, 18_000)]
)
def test_of_two_lengths_only_ticks_that_differ_count(short: int, long: int, floor: int) -> None:
    both = [cells(ran([0], ticks, beside=1))["base", "exact", 0] for ticks in (short, long)]
    assert tick_floor(both) == floor


@pytest.mark.parametrize(
    ("delta", "base", "verdict"),
    [
        (7_001, BASE, Verdict.EXACT),
        (7_000, BASE, Verdict.UNSURE),
        (-7_000, BASE, Verdict.UNSURE),
        (0, BASE, Verdict.EXACT),
        (2_999, BASE, Verdict.UNCHANGED),
        (3_000, BASE, Verdict.UNSURE),
        (5, 0, Verdict.UNSURE),
    ],
)
def test_verdict(delta: int, base: int, verdict: Verdict) -> None:
    told = change(delta, interrupts=1, base=base)
    assert told.verdict is verdict
    assert bool(told.reason) is (verdict is Verdict.UNSURE)
    assert change(delta, interrupts=0, base=base).verdict is Verdict.EXACT


def test_a_step_has_the_floor_of_its_two_kernels() -> None:
    """Two kernels of which each is surely dearer than the base, and neither than the other."""
    (result,) = Results.gather(ran([118_000, 116_000], 1, base=500_000)).every
    assert [one.verdict for one in result.changes if one] == [Verdict.EXACT] * 2
    assert [one.verdict for one in result.steps if one] == [Verdict.EXACT, Verdict.UNSURE]


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("instructions > +2%", "holds"),
        ("instructions > +4.5%", "inconclusive"),
        ("instructions > +5.6%", "inconclusive"),
        ("instructions > +5.8%", "does not hold"),
        ("instructions > +42999", "holds"),
        ("instructions > +43001", "inconclusive"),
        ("instructions > +57001", "does not hold"),
    ],
)
def test_check_is_inconclusive_where_ticks_decide(condition: str, outcome: str) -> None:
    findings: Findings = found(ran([50_000], 1))
    (judged,) = judge({"": [findings]}, [Condition.parse(condition)], [])
    assert judged.outcome == outcome
    assert "timer ticks" in judged.change.note
    (sure,) = judge({"": [found(ran([50_000], 0))]}, [Condition.parse(condition)], [])
    assert sure.outcome != "inconclusive" and not sure.change.note


def test_a_mail_is_not_certain_either() -> None:
    told = claim(found(ran([6_900], 1, base=100_000)))
    assert told.subject.endswith("(unsure)")
    assert "; unsure: timer ticks alone can make a difference of 7,000" in told.sentence


@pytest.mark.parametrize(
    ("delta", "interrupts", "beside", "said"),
    [
        (50_000, 1, 0, "difference of 7,000 instructions: a smaller change may be chance"),
        (70_000, 1, 0, None),
        (50_000, 0, 0, None),
        (50_000, None, None, "how many timer ticks came is not known"),
        (200_000, None, None, None),
        (0, 1, 0, None),
    ],
)
def test_a_note_says_how_much_ticks_can_be(
    delta: int, interrupts: int | None, beside: int | None, said: str | None
) -> None:
    results = Results.gather(ran([delta], interrupts, beside=beside))
    texts = [one.text for one in notes(results) if one.kind == "ticks"]
    assert len(texts) == (said is not None)
    assert not said or said in texts[0]


def test_per_op_the_floor_is_per_op() -> None:
    points = [m.Point(cpus=1, ops=100)]
    results = Results.gather(ran([6_000], 1, points=points))
    estimate = results.every[0].changes[1]
    assert estimate and estimate.tick_floor == 70
    assert settings(results.manifest)[0].ops == 100
    assert estimate.verdict is Verdict.UNSURE
    assert "timer ticks alone can make a difference of 70" in estimate.reason


@pytest.mark.parametrize(("interrupts", "told"), [(1, ("70", 70.0)), (0, ("0", 0.0))])
def test_scripts_are_told_the_floor(interrupts: int, told: tuple[str, float]) -> None:
    points = [m.Point(cpus=1, ops=100)]
    findings = found(ran([50_000], interrupts, points=points))
    _, row = csv.DictReader(io.StringIO(reports_csv.experiment(findings.results)))
    assert float(row["tick_floor"]) == 100 * float(told[0])
    (one,) = experiment(findings).results
    change = one.kernels[1].change
    assert change and change.tick_floor == told[1]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1_050.0, Verdict.UNSURE), (1_000.0, Verdict.EXACT), (1_051.0, Verdict.EXACT)],
)
def test_a_guest_clock_counts_interrupts_too(value: float, verdict: Verdict) -> None:
    """What the workload itself prints: nobody knows how many ticks are in it."""
    described = recorded({"base": [[[1_000.0]]], "new": [[[value]]]}, qemu=ICOUNT)
    estimate = Results.gather(described).every[0].changes[1]
    assert estimate and estimate.verdict is verdict
