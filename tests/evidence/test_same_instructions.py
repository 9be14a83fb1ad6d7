"""A time that changes while instructions and their classes do not: said where it is so, and only
there."""

from collections.abc import Sequence

import pytest
from classes import compare
from synthetic import frame
from synthetic_experiment import ICOUNT, boots, recorded

from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.evidence.same_code import same_instructions
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.state import State
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answered import leading

_CODE = [("mov (%rdi),%eax", 4000), ("nop", 6000)]


def found(
    new: Sequence[tuple[str, int]] = _CODE,
    *,
    time: float = 110.0,
    qemu: m.Qemu | None = None,
    unit: str = "ns",
    interrupts: int = 0,
) -> Findings:
    """Findings of an exact run of two kernels and nine timed ones, of which the base takes 100.
    ``interrupts``: timer ticks in each exact run."""
    rows = {
        label: [(([frame("work")], "work", True, [count]), name) for name, count in code]
        for label, code in (("base", _CODE), ("new", new))
    }
    comparison = compare(rows)
    timed = recorded({"base": [boots(100.0)], "new": [boots(time)]}, qemu=qemu, unit=unit)
    totals = comparison.totals().tolist()
    exact = [
        m.replace(
            run,
            qemu=ICOUNT,
            measured=[m.Measured("instructions", "instructions", "lower", True, [float(total)])],
            instructions=m.Instructions(
                kernel=total, user=0, each_iteration=total, beside=0, interrupts=interrupts
            ),
        )
        for run, total in zip(comparison.manifest.runs, totals, strict=True)
    ]
    every = m.replace(
        timed, runs=[*exact, *timed.runs], collectors=["exact", "timed"], repeat=timed.repeat
    )
    return Findings(
        every, choose(every, None), [comparison], Results.gather(every), State(), Facts()
    )


def test_the_same_instructions_take_longer() -> None:
    findings = found()
    (one,) = same_instructions(findings)
    assert (one.label, one.time.metric.name) == ("new", "latency")
    said = leading(findings)
    assert said[-1] == (
        "new executes the same instructions as base, but latency changes by +10.0%: look at the "
        "layout of code and data (profdiff report --layout)."
    )
    text = " ".join(render(findings, Selection(top=5), width=100).split())
    assert "look at the layout of code and data (profdiff report --layout)" in text


@pytest.mark.parametrize(
    "findings",
    [
        # Other instructions; as many, of other classes, even where it is a single one.
        found([("mov (%rdi),%eax", 4000), ("nop", 6500)]),
        found([("mov (%rdi),%eax", 4500), ("nop", 5500)]),
        found([("mov (%rdi),%eax", 4001), ("nop", 5999)]),
        # No other time; time on a clock that counts instructions; something that is no time.
        found(time=100.0),
        found(qemu=ICOUNT),
        found(unit="MB"),
    ],
    ids=["more", "classes", "one-class", "as-fast", "guest-clock", "no-time"],
)
def test_nothing_is_said_of_others(findings: Findings) -> None:
    assert same_instructions(findings) == []
    assert not any("layout of code" in one for one in leading(findings))


def test_what_timer_ticks_can_make_is_no_other_instruction() -> None:
    several = [("mov (%rdi),%eax", 4003), ("nop", 6001)]
    assert same_instructions(found(several)) == []
    assert [one.label for one in same_instructions(found(several, interrupts=1))] == ["new"]
    # More than a tick is.
    more = [("mov (%rdi),%eax", 14000), ("nop", 6000)]
    assert same_instructions(found(more, interrupts=1)) == []
