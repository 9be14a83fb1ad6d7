"""What of a change of time instructions explain: by values whose split is known, and in words."""

import json
import math
from collections.abc import Mapping, Sequence

import jsonschema
import numpy as np
import pytest
from support import ROOT
from synthetic_experiment import ICOUNT, found, recorded

from profdiff.base.metric import Better
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Rule, Side, share
from profdiff.evidence.time_split import explained
from profdiff.mail import content
from profdiff.reports import documents
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answered import leading
from profdiff.views.results import time_split

# By kernel, the values of each boot: time, instructions, cycles.
Boots = Mapping[str, Sequence[tuple[float, float, float]]]


def boots(
    time: float, instructions: float, cycles: float, noise: float = 0.0005, count: int = 9
) -> list[tuple[float, float, float]]:
    """Nine boots whose times and cycles scatter."""
    steps = [1 + noise * ((at * 7) % count - count // 2) for at in range(count)]
    return [(time * step, instructions, cycles * step) for step in steps]


def counted(values: Boots, *, qemu: m.Qemu | None = None) -> Findings:
    """Findings of runs of ``stat``."""
    plain = {label: [[[one[0]] for one in some]] for label, some in values.items()}
    described = recorded(plain, collector="stat", is_total=True, qemu=qemu)
    every = iter([one for some in values.values() for one in some])
    runs = []
    for run in described.runs:
        time, instructions, cycles = next(every)
        measured = [
            m.Measured("wall-time", "ns", "lower", True, [time]),
            m.Measured("cycles", "cycles", "lower", True, [cycles]),
            m.Measured("instructions", "instructions", "lower", True, [instructions]),
        ]
        runs.append(m.replace(run, measured=measured))
    return found(m.replace(described, runs=runs))


def test_a_contended_line_costs_cycles_and_no_instructions() -> None:
    findings = counted({"base": boots(100.0, 1000.0, 300.0), "new": boots(114.0, 1010.0, 342.0)})
    (one,) = explained(findings.results, findings.setting)
    assert one.split.time == pytest.approx(1.14)
    assert one.share.estimate == pytest.approx(math.log(1.01) / math.log(1.14))
    assert one.share.low < one.share.estimate < one.share.high
    assert not one.reason and one.share.estimate < 0.5
    said = leading(findings)
    assert said[-1] == (
        "new against base, by wall-time: +14.0% time = +1.0% instructions × +12.9% cycles per "
        "instruction × +0.0% time per cycle: instructions explain 8% of it (7% to 8%)."
    )
    text = render(findings, Selection(), width=100)
    assert "time = instructions × time of each" in text
    assert "8% [7, 8]" in text


def test_more_instructions_are_all_of_it() -> None:
    findings = counted({"base": boots(100.0, 1000.0, 300.0), "new": boots(150.0, 1500.0, 450.0)})
    (one,) = explained(findings.results, findings.setting)
    assert not one.reason and one.share.estimate == pytest.approx(1)
    assert "instructions explain 100% of it" in leading(findings)[-1]


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        (900.0, "instructions explain none of it: they changed the other way"),
        (1300.0, "instructions explain more than all of it"),
    ],
)
def test_beyond_the_whole(instructions: float, words: str) -> None:
    changed = boots(114.0, instructions, 342.0)
    findings = counted({"base": boots(100.0, 1000.0, 300.0), "new": changed})
    assert words in leading(findings)[-1]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (boots(100.02, 1010.0, 300.0), "time is unchanged"),
        (boots(102.0, 1010.0, 306.0, noise=0.006), "its change is not certain"),
        (boots(114.0, 1068.0, 342.0, noise=0.006), "it may be more or less than half"),
        (boots(114.0, 1010.0, 342.0, count=1), "with "),
    ],
)
def test_unsure_where_boots_do_not_tell(new: list[tuple[float, float, float]], reason: str) -> None:
    noise = 0.0005 if reason in ("time is unchanged", "with ") else 0.006
    base = boots(100.0, 1000.0, 300.0, noise=noise, count=len(new))
    findings = counted({"base": base, "new": new})
    (one,) = explained(findings.results, findings.setting)
    assert reason in one.reason
    assert "how much of it instructions explain is not certain" in leading(findings)[-1]


def test_an_emulated_clock_is_no_time() -> None:
    values = {"base": boots(100.0, 1000.0, 300.0), "new": boots(114.0, 1010.0, 342.0)}
    emulated = counted(values, qemu=ICOUNT)
    assert explained(emulated.results, emulated.setting) == []


def combined(better: Better = "lower", unit: str = "ns/call", new: float = 114.0) -> Findings:
    """Exact counts of emulated guests beside what the workload says of itself on a processor."""
    values = {
        "base": [[[100.0 * step] for step in (0.999, 1.0, 1.001, 1.0, 1.0)]],
        "new": [[[new * step] for step in (0.999, 1.0, 1.001, 1.0, 1.0)]],
    }
    timed = recorded(values, name="own", unit=unit, better=better)
    exact = recorded(
        {"base": [[[1000.0]]], "new": [[[1010.0]]]},
        collector="exact",
        is_total=True,
        qemu=ICOUNT,
        name="instructions",
        unit="instructions",
    )
    runs = [m.replace(run, id=f"exact-{run.id}") for run in exact.runs]
    both = m.replace(timed, runs=[*timed.runs, *runs], collectors=["timed", "exact"])
    return found(both)


def test_exact_counts_and_times_of_one_session_are_combined_and_it_is_said() -> None:
    (told,) = time_split.splits(combined().results, combined().setting)
    assert told.combined
    assert told.share and told.share.part == pytest.approx(math.log(1.01) / math.log(1.14))
    assert told.sentence.endswith(
        "The instructions are of emulated guests (exact: exact counts); the time is of runs on a "
        "processor (timed: timed)."
    )


def test_a_rate_is_the_time_of_one() -> None:
    findings = combined("higher", "ops/s", 100 / 1.14)
    (told,) = time_split.splits(findings.results, findings.setting)
    assert told.time == pytest.approx(1.14)
    assert told.share and told.share.part == pytest.approx(math.log(1.01) / math.log(1.14))
    assert told.less_than_half
    # What is better where it is higher, and no rate, has no time.
    points = combined("higher", "points", 80.0)
    assert time_split.splits(points.results, points.setting) == []


def first_paragraph(findings: Findings) -> str:
    letter = content.letter(findings, content.MailOptions(command=["profdiff", "mail"]))
    return " ".join(letter.render().split("\n\n")[0].split())


def test_a_time_of_a_function_is_not_that_of_the_work() -> None:
    values = {"base": [[[10.0]] * 5], "new": [[[20.0]] * 5]}
    traced = recorded(values, collector="trace", name="do_mmap.average", unit="ns")
    both = combined()
    runs = [m.replace(run, id=f"trace-{run.id}") for run in traced.runs]
    every = m.replace(
        both.manifest,
        runs=[*both.manifest.runs, *runs],
        collectors=[*both.manifest.collectors, "trace"],
    )
    findings = found(every)
    assert [one.metric for one in time_split.splits(findings.results, findings.setting)] == ["own"]
    assert "own" in content.letter(findings, content.MailOptions(command=["profdiff"])).sentence


def test_the_mail_says_so_in_its_first_paragraph() -> None:
    few = counted({"base": boots(100.0, 1000.0, 300.0), "new": boots(114.0, 1010.0, 342.0)})
    assert "instructions explain 8% of it" in first_paragraph(few)
    most = counted({"base": boots(100.0, 1000.0, 300.0), "new": boots(114.0, 1140.0, 342.0)})
    assert "instructions explain" not in first_paragraph(most)


def test_the_document_has_it_and_its_schema() -> None:
    findings = counted({"base": boots(100.0, 1000.0, 300.0), "new": boots(114.0, 1010.0, 342.0)})
    data = json.loads(documents.encode(documents.session_document(findings)))
    jsonschema.validate(data, json.loads((ROOT / "profdiff/report.schema.json").read_text()))
    (one,) = data["experiment"]["time_splits"]
    assert one["share"]["part"] == pytest.approx(0.0759, abs=1e-4)
    assert one["reason"] == ""


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Lognormal boots with a known split: at least 95% of the intervals hold it, and they are not
    much wider than the delta method's for medians, whose variance is pi/2 of the means'."""
    random, scatter, boots_each = np.random.default_rng(5), 0.01, 9
    true = math.log(1.02) / math.log(1.10)
    rule, inside, widths = Rule(resamples=1000), 0, []
    for number in range(300):
        base, new = random.lognormal(0, scatter, (2, boots_each)).tolist()
        sides = Side(base, [1.0] * 9, True), Side([1.1 * one for one in new], [1.02] * 9, True)
        found = share(*sides, rule, seed=number)
        inside += found.low <= true <= found.high
        widths.append(found.high - found.low)
    error = scatter * math.sqrt(2 * math.pi / 2 / boots_each) / math.log(1.10)
    assert inside / 300 >= 0.93
    assert 0.7 < np.median(widths) / (2 * 2.12 * true * error) < 1.8
