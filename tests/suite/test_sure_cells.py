"""What a suite's report says of cells whose change nobody can tell, and of none that changed."""

from collections.abc import Sequence
from pathlib import Path

from synthetic import Row, frame
from synthetic_joint import part

from profdiff.reports import suite_document
from profdiff.reports.text.suite import render
from profdiff.session import manifest as m
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.views.suite import SuiteDocument


def row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, counts)


def made_suite(folder: Path) -> Suite:
    """Of one workload."""
    return Suite.create(folder, "s", ["profdiff", "record"], [SuiteWorkload(name="x")])


def _scattering(tmp_path: Path, twin: Sequence[int] = ()) -> SuiteDocument:
    """One cell whose counts scatter so that nobody can tell whether it changed."""
    suite = made_suite(tmp_path / "S")
    labels = ["base", "new", *(["base.aa"] if twin else [])]
    made = part(suite.part("x"), {one: [row("f", 100)] for one in labels}, [m.Point({}, 1, 1000)])
    values = {"base": [100, 130, 90], "new": [100, 130, 121], "base.aa": twin}
    runs = [
        m.replace(
            run,
            id=f"{run.id}-{number}",
            repetition=number,
            measured=[m.Measured("instructions", "instructions", "lower", True, [value * 1000.0])],
        )
        for run in made.manifest.runs
        for number, value in enumerate(values[run.kernel], 1)
    ]
    kernels = [
        m.replace(one, twin_of="base") if one.label == "base.aa" else one
        for one in made.manifest.kernels
    ]
    twins = len(twin)
    changed = m.replace(made.manifest, runs=runs, kernels=kernels, repeat=3, twin_repeat=twins)
    made.save(changed)
    return suite_document.build(suite)


def test_a_twin_of_which_nobody_can_tell_is_said(tmp_path: Path) -> None:
    document = _scattering(tmp_path, [150, 180, 120])
    assert document.noise is not None
    assert document.noise.sentence == "A/A: 0 of 1 cell differ, 1 unsure"


def test_a_twin_of_a_base_that_counts_nothing_is_counted(tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "S")
    rows = {"base": [row("f", 0)], "base.aa": [row("f", 7)], "new": [row("f", 0)]}
    made = part(suite.part("x"), rows, [m.Point({}, 1, 1000)])
    kernels = [
        m.replace(one, twin_of="base") if one.label == "base.aa" else one
        for one in made.manifest.kernels
    ]
    made.save(m.replace(made.manifest, kernels=kernels, twin_repeat=1))
    document = suite_document.build(suite)
    assert document.cells[0].noise is None and document.noise is not None
    assert document.noise.sentence == "A/A: 1 of 1 cell differs"


def test_of_unsure_cells_nothing_is_claimed(tmp_path: Path) -> None:
    """No function is named, none is added up, and it is not said that the cell stayed."""
    document = _scattering(tmp_path)
    assert document.cells[0].changes["new"].verdict == "unsure"
    told = "6.1.0 against 6.0.0: 0 of 1 cell cost at least 5% more, 0 at least 5% less"
    assert document.sentence == told and not document.functions
    text = render(document, "S", width=100, top=3)
    assert "1 cell may have changed (unsure)" in text
    assert "by less than" not in text


def test_no_function_is_named_where_no_cell_changed(tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "S")
    rows = {"base": [row("f", 1000)], "new": [row("f", 1010)]}
    part(suite.part("x"), rows, [m.Point({}, 1, 1000)])
    document = suite_document.build(suite)
    assert document.sentence.endswith("0 at least 5% less")
    assert not document.summaries[0].functions and document.functions
