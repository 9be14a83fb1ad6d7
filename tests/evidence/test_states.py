"""What reports say of a change that was seen in several states."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from support import error_line, profdiff
from synthetic import Row, frame
from synthetic_joint import part
from synthetic_states import OPS, varied

from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.largest_change import largest_change
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Verdict
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session

# Instructions per call of mmap on v6.12.107 and v6.18.15, with 0, 1, 4 and 7 more mappings: in some
# states a leaf of the maple tree is full, and ``mab_mas_cp`` copies it.
WALK, FULL = 2500, 5400


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, [OPS * count for count in counts])


def accident() -> dict[str, list[Row]]:
    """The base's leaf is full in states 1 and 3, the other kernel's in the plain one and in 3."""
    return {
        "base": [_row("mas_walk", *[WALK] * 4), _row("mab_mas_cp", 0, FULL, 0, FULL)],
        "new": [_row("mas_walk", *[WALK + 125] * 4), _row("mab_mas_cp", FULL, 0, 0, FULL)],
    }


def real() -> dict[str, list[Row]]:
    """The other kernel does a little more in each state."""
    return {
        "base": [_row("mas_walk", 2500, 2600, 2550, 2500)],
        "new": [_row("mas_walk", 2700, 2800, 2760, 2750)],
    }


@pytest.fixture(scope="module")
def depends(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session of the accident."""
    return varied(tmp_path_factory.mktemp("depends") / "s", accident())


@pytest.fixture(scope="module")
def holds(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session of the real change."""
    return varied(tmp_path_factory.mktemp("holds") / "s", real())


def test_states_are_no_boots(depends: Session) -> None:
    (one,) = Results.gather(depends.manifest).every
    assert [cell.boots for cell in one.cells] == [[[WALK]], [[WALK + 125 + FULL]]]
    assert dict(one.cells[0].states) == {1: WALK + FULL, 2: WALK, 3: WALK + FULL}
    change = one.changes[1]
    assert change and change.verdict is Verdict.DEPENDS and change.states == 4
    assert change.median.low == pytest.approx((125 - FULL) / (WALK + FULL))
    assert change.median.high == pytest.approx((FULL + 125) / WALK)
    # The states differ in direction: the (lower) median of -66.8%, +1.6%, +5.0% and +221.0%.
    assert one.state == 3
    assert change.median.estimate == pytest.approx(125 / (WALK + FULL))
    assert [cell.value for cell in one.cells] == [WALK + FULL, WALK + 125 + FULL]
    assert change.deltas == (125 - FULL, 125 + FULL)
    assert one.steps[1] == change


def test_a_change_that_holds_is_exact_as_before(holds: Session) -> None:
    (one,) = Results.gather(holds.manifest).every
    change = one.changes[1]
    assert change and change.verdict is Verdict.EXACT and change.states == 4
    assert change.median.low == pytest.approx(200 / 2600)
    assert change.median.high == pytest.approx(250 / 2500)
    found = largest_change(Results.gather(holds.manifest))
    assert found and found.change == change


def test_two_lengths_are_subtracted_within_a_state(tmp_path: Path) -> None:
    rows = {"base": [_row("f", 5, 6, 105, 206)], "new": [_row("f", 5, 6, 125, 246)]}
    point = m.Point({"n": "1"}, 1, OPS)
    session = part(tmp_path / "s", rows, [point] * 4)
    runs = [
        m.replace(run, point=run.point // 2, state=run.point % 2, repetition=1 + run.point % 2)
        for run in session.manifest.runs
    ]
    points = [point, m.Point({"n": "2"}, 1, 2 * OPS, shorter=0)]
    manifest = m.replace(session.manifest, points=points, runs=runs)
    (one,) = Results.gather(manifest).every
    assert [cell.boots for cell in one.cells] == [[[100.0]], [[120.0]]]
    assert [dict(cell.states) for cell in one.cells] == [{1: 200.0}, {1: 240.0}]


def test_a_state_that_one_kernel_lacks_says_nothing(depends: Session) -> None:
    manifest = depends.manifest
    runs = [run for run in manifest.runs if run.kernel == "base" or not run.state]
    (one,) = Results.gather(m.replace(manifest, runs=runs)).every
    change = one.changes[1]
    assert change and change.verdict is Verdict.EXACT and change.states == 1


@pytest.mark.parametrize("keep", [True, False])
def test_the_function_in_which_states_differ(tmp_path: Path, *, keep: bool) -> None:
    """As ``record`` keeps it, and of the recordings."""
    session = varied(tmp_path / "s", accident(), keep=keep)
    counts = FunctionCounts.of(session)
    assert counts.kept is keep
    (setting,) = settings(session.manifest)
    found = counts.at(setting, 3)
    assert found and found.counts.sum(axis=0).tolist() == [
        OPS * (WALK + FULL),
        OPS * (WALK + 125 + FULL),
    ]
    assert counts.at(setting, 9) is None or not counts.at(setting, 9).labels  # type: ignore[union-attr]
    findings = Findings.of(session, choose(session.manifest, None))
    assert {label: one.name for label, one in findings.differ.items()} == {"new": "mab_mas_cp"}


def test_a_change_that_depends_is_no_headline(depends: Session, tmp_path: Path) -> None:
    """A smaller change of another point that holds comes first."""
    rows = {"base": [_row("f", 100, 100, 100, 100)], "new": [_row("f", 300, 50, 120, 120)]}
    session = part(tmp_path / "s", rows, [m.Point({"n": str(n)}, 1, OPS) for n in range(4)])
    runs = [
        m.replace(run, point=run.point // 2, state=run.point % 2, repetition=1 + run.point % 2)
        for run in session.manifest.runs
    ]
    points = session.manifest.points[:2]
    results = Results.gather(m.replace(session.manifest, points=points, runs=runs))
    found = largest_change(results)
    assert found and found.result.setting.point == 1 and found.change.medians == (100, 120)


def _said(session: Session, *arguments: str) -> str:
    done = profdiff("report", str(session.folder), *arguments)
    return " ".join(done.stdout.split())


def test_the_text(depends: Session, holds: Session) -> None:
    text = _said(depends)
    assert (
        "new: the change depends on state: -66.8% to +221.0% in 4 states, which differ most in "
        "mab_mas_cp."
    ) in text
    assert "+1.6% depends on state -66.8% to +221.0% in 4" in text
    assert "In state 3, new executes 1.016 times the instructions of base" in text
    assert (
        "100% of the increase is in mas_walk." in text and "7,900.00 8,025.00 +125.00 +1.6%" in text
    )
    assert "state by state" in text and "--vary-state" not in text
    assert "plain 2,500 8,025 +221.0%" in text and "1 7,900 2,625 -66.8%" in text
    text = _said(holds)
    assert "new: the change was seen in 4 states: +7.7% to +10.0%." in text
    assert "+8.0% +7.7% to +10.0% in 4" in text and "depends" not in text
    assert "In state" not in text and "In the plain state" not in text


def test_a_narrow_table_keeps_the_verdict(depends: Session) -> None:
    """And the names of its rows."""
    done = profdiff("report", str(depends.folder), env={"COLUMNS": "62"})
    (row,) = (line for line in done.stdout.splitlines() if line.endswith("depends on state"))
    assert row.startswith("instructions")


def test_a_mails_sweep_keeps_the_verdict(tmp_path: Path) -> None:
    """Of a point that is no headline."""
    rows = {"base": [_row("f", 100, 100, 10000, 10000)], "new": [_row("f", 300, 50, 12000, 12000)]}
    points = [m.Point({"a_long_name_of_a_parameter": str(n)}, 1, OPS) for n in range(4)]
    session = part(tmp_path / "s", rows, points)
    runs = [
        m.replace(run, point=run.point // 2, state=run.point % 2, repetition=1 + run.point % 2)
        for run in session.manifest.runs
    ]
    order = m.Order(states=1)
    session.save(m.replace(session.manifest, points=points[:2], runs=runs, order=order))
    words = ("mail", str(session.folder), "--from", "A <a@example.org>")
    rows_of = re.findall(r"(?m)^([01]) .* (exact|depends on state)$", profdiff(*words).stdout)
    assert rows_of == [("0", "depends on state"), ("1", "exact")]
    told = profdiff(*words, "--at", "a_long_name_of_a_parameter=0").stdout
    assert "depends on state" in told and ", in state 1" in " ".join(told.split())


def test_one_state_is_told_once(tmp_path: Path) -> None:
    session = varied(tmp_path / "s", {"base": [_row("f", 100)], "new": [_row("f", 110)]})
    text = _said(session)
    assert text.count("--vary-state") == 1
    assert "new: the change was seen in one state." in text.partition(" workload: ./")[0]
    assert "a change that was seen in one state may be an accident of that: record with" in text
    same = varied(tmp_path / "same", {"base": [_row("f", 100)], "new": [_row("f", 100)]})
    assert "--vary-state" not in _said(same)


def opposite() -> dict[str, list[Row]]:
    """In the manner of PT_RECLAIM: a node is split in the plain state alone; in four others, the
    other kernel executes less."""
    return {
        "base": [_row("mas_walk", *[1000] * 5)],
        "new": [_row("mas_walk", 932, 925, 926, 930, 923), _row("mas_store_gfp", 420, 0, 0, 0, 0)],
    }


def test_functions_are_those_of_the_states_that_the_sentence_is_about(tmp_path: Path) -> None:
    session = varied(tmp_path / "s", opposite())
    text = _said(session)
    assert "-7.7% to +35.2% in 5 states, which differ most in mas_store_gfp" in text
    assert "In state 2, new executes 0.926 times the instructions of base" in text
    assert "100% of the decrease is in mas_walk." in text
    shown = json.loads(profdiff("report", session.folder, "--json", "-").stdout)
    (metric,), (result,) = shown["metrics"], shown["experiment"]["results"]
    assert metric["totals"] == {"base": 1000 * OPS, "new": 926 * OPS} and result["state"] == 2
    mail = " ".join(profdiff("mail", session.folder, "--from", "A <a@example.org>").stdout.split())
    assert "in state 2, 926 instead of 1,000 instructions per op" in mail
    assert mail.count("mas_store_gfp") == 1


def test_one_direction_shows_the_state_with_the_least(tmp_path: Path) -> None:
    rows = {"base": [_row("f", 1000, 1000, 1000)], "new": [_row("f", 1184, 1054, 1060)]}
    text = _said(varied(tmp_path / "s", rows))
    assert "depends on state: +5.4% to +18.4% in 3 states" in text
    assert "In state 1, new executes 1.054 times" in text


def test_json_and_csv(depends: Session) -> None:
    shown = json.loads(profdiff("report", str(depends.folder), "--json", "-").stdout)
    (result,) = shown["experiment"]["results"]
    base, new = result["kernels"]
    assert base["states"] == {"1": 7900.0, "2": 2500.0, "3": 7900.0}
    assert (new["change"]["verdict"], new["change"]["states"]) == ("depends on state", 4)
    assert any("depends on state" in one for one in shown["answers"])
    told = profdiff("report", str(depends.folder), "--csv-experiment", "-").stdout
    row = list(csv.DictReader(io.StringIO(told)))[1]
    assert (row["verdict"], row["states"]) == ("depends on state", "4")
    assert float(row["low"]) == pytest.approx((125 - FULL) / (WALK + FULL))


@pytest.mark.parametrize(
    ("condition", "status", "word"),
    [
        ("instructions > +5%", 125, "inconclusive"),
        ("instructions > +300%", 0, "passes"),
        ("instructions < -80%", 0, "passes"),
        ("instructions > +5000000", 125, "inconclusive"),
        ("instructions > +6000000", 0, "passes"),
        ("instructions:mab_mas_cp > +5%", 125, "inconclusive"),
        ("instructions:kernel > +5%", 125, "inconclusive"),
    ],
)
def test_check_judges_the_whole_range(
    depends: Session, condition: str, status: int, word: str
) -> None:
    done = profdiff("check", str(depends.folder), "--fail-if", condition, status=status)
    assert done.stdout.startswith(word) and "depends on state" in done.stdout


@pytest.mark.parametrize(("condition", "status"), [("> +5%", 1), ("> +8%", 125), ("> +11%", 0)])
def test_check_of_a_change_that_holds(holds: Session, condition: str, status: int) -> None:
    wanted = f"instructions {condition}"
    profdiff("check", str(holds.folder), "--fail-if", wanted, status=status)


def test_the_mail(depends: Session, holds: Session) -> None:
    arguments = ("--from", "A <a@example.org>", "--to", "b@example.org")
    done = profdiff("mail", str(depends.folder), *arguments)
    text = " ".join(done.stdout.split())
    subject = next(line for line in done.stdout.splitlines() if line.startswith("Subject: "))
    assert "66.8% fewer to 221.0% more instructions on" in subject
    assert "depending on state" in text.partition("Message-ID")[0]
    assert "work executes 66.8% fewer to 221.0% more instructions on" in text
    assert "4 states were compared (other mappings, files and addresses); they differ most" in text
    done = profdiff("mail", str(depends.folder), *arguments, "--regression", status=2)
    assert error_line(done).startswith("--regression: new: the change depends on state")
    done = profdiff("mail", str(holds.folder), *arguments, "--regression")
    assert "[REGRESSION]" in done.stdout
    text = " ".join(done.stdout.split())
    assert "4 states (other mappings, files and addresses): +7.7% to +10.0%." in text


def test_a_change_of_one_state_is_never_without_it(tmp_path: Path) -> None:
    """And no mail is a regression's before other states were seen: it says what to type."""
    session = varied(tmp_path / "s", {"base": [_row("f", 100)], "new": [_row("f", 110)]})
    command = [
        "profdiff",
        "record",
        "--vary-state=0",
        "--vary-state",
        "0",
        "-o",
        "a b",
        "--",
        "./w",
    ]
    session.save(m.replace(session.manifest, command=command))
    shown = json.loads(profdiff("report", session.folder, "--json", "-").stdout)
    assert "+10.0% (seen in one state) on new" in shown["heading"]
    assert "new: the change was seen in one state." in shown["answers"]
    words = ("mail", session.folder, "--from", "A <a@example.org>")
    mail = profdiff(*words).stdout
    head, _, body = mail.partition("\n\n")
    assert "(seen in one state)" in " ".join(head.split())
    body = " ".join(body.split())
    assert "This was seen in one state: other mappings, files and addresses were not" in body
    refused = error_line(profdiff(*words, "--regression", status=2))
    assert refused == (
        "--regression: new: the change was seen in one state, and may be an accident of it; to see "
        "it in others: profdiff record -o 'a b' --vary-state 4 -- ./w"
    )
    suite = m.replace(session.manifest, command=["profdiff", "record", "--suite", "syscalls"])
    session.save(suite)
    refused = error_line(profdiff(*words, "--regression", status=2))
    assert refused.endswith("in others, record its workload by itself with --vary-state 4")


def test_a_step_of_a_ladder_says_so(tmp_path: Path) -> None:
    """Of three kernels: the second one's is an accident, the third one's is none."""
    kernels = accident()
    kernels["last"] = [
        _row("mas_walk", *[WALK + 125 + 40] * 4),
        _row("mab_mas_cp", FULL, 0, 0, FULL),
    ]
    session = varied(tmp_path / "s", kernels)
    shown = json.loads(profdiff("report", str(session.folder), "--json", "-").stdout)
    steps = shown["metrics"][0]["steps"]
    assert [(one["kernel"], one["depends"]) for one in steps] == [("new", True), ("last", False)]
    (line,) = (one for one in _lines(session) if one.endswith("  depends on state"))
    assert line.strip() == "depends on state"
    mail = profdiff("mail", str(session.folder), "--from", "A <a@example.org>").stdout
    short = mail[mail.index("Each kernel against the one before") :].splitlines()
    assert "in state 3" in short[0]
    assert short[2].startswith("new ") and short[2].endswith("  depends on state")
    assert short[3].startswith("last ") and short[3].endswith("  mas_walk")


def _lines(session: Session) -> list[str]:
    text = profdiff("report", str(session.folder)).stdout
    return text[text.index("each kernel against the one before") :].splitlines()
