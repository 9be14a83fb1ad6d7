"""The steps of a ladder: exact, complete, and the same in every form; what was not built is named
in each."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page
from hypothesis import given
from hypothesis import strategies as st
from synthetic import compare
from synthetic_experiment import ICOUNT, recorded
from synthetic_series import COUNTS, HOLE, rows, series
from synthetic_session import exact_session

from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.mail import content
from profdiff.reports import documents
from profdiff.reports.csv import experiment, functions
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.topics.functions.selection import Selection
from profdiff.views.profile import steps

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon"]
_COUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 10**6), min_size=1)


def findings(session: Session) -> Findings:
    return Findings.of(session, choose(session.manifest, None))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return findings(series(tmp_path_factory.mktemp("steps") / "s"))


@given(st.lists(_COUNTS, min_size=3, max_size=5), st.integers(0, 6))
def test_steps_add_up_and_have_the_largest(kernels: list[dict[str, int]], top: int) -> None:
    labels = [f"k{number}" for number in range(len(kernels))]
    made = compare(dict(zip(labels, map(rows, kernels), strict=True)))
    found = steps(made, top)
    assert [(one.previous, one.kernel) for one in found] == list(pairwise(labels))
    for one, before, after in zip(found, kernels, kernels[1:], strict=False):
        wanted = {
            name: after.get(name, 0) - before.get(name, 0)
            for name in NAMES
            if after.get(name, 0) != before.get(name, 0)
        }
        assert (one.before, one.after) == (sum(before.values()), sum(after.values()))
        assert one.delta == sum(wanted.values())
        assert one.delta == sum(own.delta for own in one.functions) + one.rest
        assert len(one.functions) == min(top, len(wanted))
        assert one.others == len(wanted) - len(one.functions)
        for own in one.functions:
            assert own.delta == wanted.pop(own.name)
            assert all(abs(own.delta) >= abs(other) for other in wanted.values())


def test_two_kernels_have_no_steps_of_their_own() -> None:
    assert steps(compare({"a": rows({"x": 1}), "b": rows({"x": 2})}), 5) == []


def test_the_text_has_steps_sources_and_holes(found: Findings) -> None:
    lines = render(found, Selection(top=20), width=100).splitlines()
    start = next(n for n, line in enumerate(lines) if "each kernel against the one before" in line)
    assert [line.split() for line in lines[start + 1 : start + 8]] == [
        ["kernel", "before", "after", "delta", "change", "function"],
        ["1-hoist", "65.00", "55.00", "-10.00", "-15.4%", "all,", "from", "base"],
        ["20.00", "0.00", "-20.00", "vanished", "can_change_pte_writable"],
        ["40.00", "50.00", "+10.00", "+25.0%", "change_pte_range"],
        ["3-helper", "55.00", "58.10", "+3.10", "+5.6%", "all,", "from", "1-hoist"],
        ["0.00", "11.00", "+11.00", "new", "commit_protection"],
        ["50.00", "42.00", "-8.00", "-16.0%", "change_pte_range"],
    ]
    told = "\n".join(lines)
    assert f"2-broken  not built: {HOLE}" in told
    assert 'built from v6.12-1-g111111111111 "mm/mprotect: 1-hoist"' in " ".join(told.split())
    start = next(n for n, line in enumerate(lines) if "kernel by kernel" in line)
    assert [line.split() for line in lines[start + 1 : start + 6]] == [
        ["kernel", "count", "to", "base", "delta", "to", "previous", "delta"],
        ["base", "65"],
        ["1-hoist", "55", "-15.4%", "-10", "-15.4%", "-10"],
        ["2-broken", "not", "built"],
        ["3-helper", "58.10", "-10.6%", "-6.90", "+5.6%", "+3.10"],
    ]


@pytest.mark.parametrize("patches", [2, 3, 9])
def test_a_long_ladder_has_one_short_head(tmp_path: Path, patches: int) -> None:
    counts = [65_000 - 100 * number for number in range(patches + 1)]
    labels = ["base", *(f"{number}-x" for number in range(1, patches + 1))]
    made = {name: rows({"mas_find": count}) for name, count in zip(labels, counts, strict=True)}
    session = exact_session(tmp_path / "s", made)
    totals = dict(zip(labels, map(float, counts), strict=True))
    runs = [
        m.replace(
            run,
            qemu=ICOUNT,
            measured=[
                m.Measured("instructions", "instructions", "lower", True, [totals[run.kernel]])
            ],
        )
        for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=runs))
    lines = render(findings(session), Selection(), width=100).splitlines()
    head = lines[: lines.index("")]
    said = sum(any(line.startswith(f"{label} ") for line in head) for label in labels)
    if patches == 2:
        assert said == 2
        return
    # The kernel that costs most, which is named with the base.
    assert said == 0
    assert len(head) <= 4
    assert f"{counts[-1]:,} instead of 65,000" in " ".join(head)
    # Of one half of the machine, nothing says so shortly: each kernel has its sentence.
    one = render(findings(session), Selection(side="kernel"), width=100)
    assert f"{labels[-1]} executes " in one


def test_the_json_has_steps_sources_and_holes(found: Findings) -> None:
    told = json.loads(documents.encode(documents.session_document(found)))
    assert told["holes"] == [{"label": "2-broken", "spec": "git:/src/linux@2", "reason": HOLE}]
    assert [kernel["label"] for kernel in told["kernels"]] == list(COUNTS)
    assert told["without_result"] == []
    assert told["kernels"][1]["source"]["described"] == "v6.12-1-g111111111111"
    (metric,) = told["metrics"]
    assert [(one["previous"], one["kernel"]) for one in metric["steps"]] == [
        ("base", "1-hoist"),
        ("1-hoist", "3-helper"),
    ]
    last = metric["steps"][1]["functions"]
    assert {one["name"]: one["after"] - one["before"] for one in last} == {
        "commit_protection": 1_100,
        "change_pte_range": -800,
        "mas_find": 10,
    }


def test_the_csv_has_steps(found: Findings) -> None:
    told = list(csv.DictReader(io.StringIO(functions(found.comparisons, Selection()))))
    assert "step 1-hoist" not in told[0]  # its delta is that
    for row in told:
        before = int(row["self 1-hoist"])
        assert int(row["step 3-helper"]) == int(row["self 3-helper"]) - before
    assert sum(int(row["step 3-helper"]) for row in told) == 310


def test_the_experiments_csv_names_what_was_not_built(found: Findings) -> None:
    told = list(csv.DictReader(io.StringIO(experiment(found.results))))
    assert [row["kernel"] for row in told] == ["base", "1-hoist", "3-helper", "2-broken"]
    assert [row["not_built"] for row in told] == ["", "", "", HOLE]
    assert told[-1]["value"] == ""


def test_a_mail_has_the_steps_and_what_was_not_built(found: Findings) -> None:
    wishes = content.MailOptions(["profdiff", "mail"])
    words = " ".join(content.letter(found, wishes).render().split())
    assert "Each kernel against the one before (instructions per op):" in words
    assert "3-helper +3.10 +5.6% +11.00 commit_protection" in words
    assert f"2-broken: not built: {HOLE}" in words
    assert "2-broken not built" in words
    assert "/src/linux" not in words


def test_values_that_scatter_keep_their_verdicts() -> None:
    """Only counts that are equal in every boot are exact; a hole is no kernel before another."""
    manifest = recorded(
        {label: [[[value], [value + 1], [value]]] for label, value in (("a", 10.0), ("b", 20.0))}
        | {"c": [[[30.0], [30.0], [31.0]]]}
    )
    hole = m.Kernel(label="x", spec="x", hole="no")
    manifest = m.replace(manifest, kernels=[*manifest.kernels[:2], hole, *manifest.kernels[2:]])
    told = Results.gather(manifest)
    assert told.labels == ["a", "b", "c"]
    (one,) = told.every
    step = one.steps[2]
    assert step is not None
    assert step.medians == (20.0, 30.0)


def test_the_page_has_steps_sources_and_holes(
    browser: Any, found: Findings, tmp_path: Path
) -> None:
    page = Page(browser, found, tmp_path, 1280)
    texts = page.page.eval_on_selector_all(
        "#steps tr", "all => all.map(one => [...one.cells].map(cell => cell.textContent))"
    )
    assert texts[:5] == [
        ["Kernel", "Before", "After", "Delta", "Change", "Function"],
        ["1-hoist", "65.00", "55.00", "-10.00", "-15.4%", "all, from base"],
        ["", "20.00", "0.00", "-20.00", "vanished", "can_change_pte_writable"],
        ["", "40.00", "50.00", "+10.00", "+25.0%", "change_pte_range"],
        ["3-helper", "55.00", "58.10", "+3.10", "+5.6%", "all, from 1-hoist"],
    ]
    assert texts[-1] == ["2-broken", f"not built: {HOLE}"]
    page.page.select_option("#unit", "absolute")
    assert page.page.inner_text("#steps tr:nth-child(2) td:nth-child(4)") == "-1,000"
    page.unfold()
    kernels = page.page.inner_text("#kernels")
    assert f"not built: {HOLE}" in kernels
    assert "built from v6.12-1-g111111111111" in kernels
    page.close()


def test_the_page_adds_up_what_it_does_not_show(browser: Any, tmp_path: Path) -> None:
    kernels = {
        label: rows({f"f{n}": 100 + n * factor for n in range(1, 8)})
        for label, factor in (("a", 1), ("b", 11), ("c", 11))
    }
    page = Page(browser, compare(kernels), tmp_path, 1280)
    texts = page.page.eval_on_selector_all(
        "#steps tr", "all => all.map(one => [...one.cells].map(cell => cell.textContent))"
    )
    assert [row[3] for row in texts[1:8]] == ["+280", "+70", "+60", "+50", "+40", "+30", "+30"]
    assert texts[7][5] == "2 more functions"
    assert texts[8] == ["c", "1,008", "1,008", "0", "0%", "all, from b"]
    assert len(texts) == 9
    page.close()
