"""Results of parts and of suites are those that the command line and each session tell."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from made_suite import suite as made_suite
from msgspec.structs import replace
from support import profdiff
from synthetic_shared import shared_suite

import profdiff as package
from profdiff.views.rows.cells import cell_rows
from profdiff.views.suite import SuiteCellEvent


def _written(folder: Path, form: str) -> str:
    return profdiff("report", folder, form, "-").stdout


def test_those_of_parts(parts: package.Parts) -> None:
    rows = list(parts.results())
    each = {name: list(one.results()) for name, one in parts.sessions.items()}
    assert rows == [replace(row, part=name) for name, some in each.items() for row in some]
    known = {(row.part, row.parameters["folio_kib"], row.kernel): row for row in rows}
    assert len(known) == len(rows) == 8
    for one in json.loads(_written(parts.folder, "--json"))["changes"]:
        for name, told in one["parts"].items():
            base, row = (
                known[name, one["parameters"]["folio_kib"], label] for label in ("base", "new")
            )
            assert (base.per_op, row.per_op) == (told["base"], told["other"])
            assert row.change == told["change"]["median"][0]
            assert (row.verdict, base.verdict) == (told["change"]["verdict"], None)
    lines = csv.DictReader(io.StringIO(_written(parts.folder, "--csv-experiment")))
    assert [(line["architecture"], line["kernel"], float(line["value"])) for line in lines] == [
        (row.part, row.kernel, row.value) for row in rows
    ]


def _compare(suite: package.Suite) -> dict[tuple[str, str, str], Any]:
    """A suite's rows, by cell, metric and kernel, with its documents and with those of sessions."""
    rows = suite.results()
    known = {(row.cell, row.metric, row.kernel): row for row in rows}
    assert len(known) == len(rows)
    document = json.loads(_written(suite.folder, "--json"))
    expected = 0
    for cell in document["cells"]:
        own = suite.cell(cell["name"])
        assert isinstance(own, package.Session)
        by_session = {
            (row.metric, row.kernel): row
            for row in own.results()
            if row.parameters == cell["point"]
        }
        for told in [{**cell, "metric": document["metric"]}, *cell["further"]]:
            for label, value in told["values"].items():
                row = known[cell["name"], told["metric"], label]
                change, missing = told["changes"].get(label), cell["missing"].get(label)
                assert (row.value, row.parameters) == (value, cell["point"])
                assert row.tags.split() == cell["tags"]
                for field in ("delta", "verdict", "relevant", "states", "low", "high"):
                    assert getattr(row, field) == (change and change[field]), field
                assert row.change == (change and change["relative"])
                assert (row.missing, row.why) == (
                    (missing["kind"], missing["why"]) if missing else (None, None)
                )
                alone = by_session[told["metric"], label]
                assert row.value == (alone.value if alone.per_op is None else alone.per_op)
                assert (row.verdict, row.vcpus) == (alone.verdict, alone.vcpus)
                expected += 1
    assert len(rows) == expected
    lines = csv.DictReader(io.StringIO(_written(suite.folder, "--csv")))
    assert [(line["cell"], line["kernel"], line["value"], line["relative"]) for line in lines] == [
        (
            row.cell,
            row.kernel,
            *("" if one is None else repr(one) for one in (row.value, row.change)),
        )
        for row in rows
    ]
    return known


def test_those_of_a_suite(suite: package.Suite) -> None:
    rows = _compare(suite)
    assert len(rows) == 6
    lacking = rows["io-uring", "instructions", "base"]
    assert (lacking.missing, lacking.value, lacking.verdict) == ("not there", None, None)
    row = rows["mprotect/4", "instructions", "new"]
    assert (row.function, row.function_delta) == ("change_pte_range", 20)


def test_those_of_a_suite_with_a_further_metric(tmp_path: Path) -> None:
    values = {"a": [(3.0, 5.0)] * 3, "b": [(4.0, 5.0)] * 3}
    made = shared_suite(tmp_path / "S", {"pwrite": values, "pipe": {"a": [(2, 2)], "b": [(0, 0)]}})
    suite = package.open(made.folder)
    assert isinstance(suite, package.Suite)
    assert len(_compare(suite)) == 2 * 2 * 2


def test_a_workload_that_cannot_be_read_is_a_row(tmp_path: Path) -> None:
    values = {"a": [(3.0, 5.0)], "b": [(4.0, 5.0)]}
    made = shared_suite(tmp_path / "S", {"pwrite": values, "pipe": values})
    (made.part("pipe") / "manifest.json").write_text("{")
    suite = package.open(made.folder)
    assert isinstance(suite, package.Suite)
    first, *others = suite.results()
    assert (first.cell, first.kernel, first.missing) == ("pipe", "", "damaged")
    assert "damaged" in (first.why or "")
    assert {row.cell for row in others} == {"pwrite"}


def test_events_that_changed_are_rows_of_their_own() -> None:
    document = made_suite()
    event = SuiteCellEvent(event="page-faults", base=2.0, value=3.0, states=3)
    cells = [replace(document.cells[0], events={"new": [event], "mid": []}), *document.cells[1:]]
    rows = list(cell_rows(replace(document, cells=cells)))
    (row,) = (one for one in rows if one.metric != document.metric)
    assert (row.metric, row.kernel, row.cell) == ("events:page-faults", "new", cells[0].name)
    assert (row.value, row.base, row.delta, row.change) == (3, 2, 1, 0.5)
    assert (row.verdict, row.relevant, row.states) == ("exact", None, 3)
    assert len(rows) == 3 * len(cells) + 1


def test_they_are_columns(parts: package.Parts, suite: package.Suite) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for one in (parts, suite):
        assert arrow.table(one.results()).to_pydict() == one.results().columns()


def test_kernels_and_runs_are_the_documents(session: package.Session) -> None:
    """And every row is a column for dataframes, of texts and numbers."""
    document = json.loads(_written(session.folder, "--json"))
    kernels, runs = session.kernels(), session.runs()
    for kernel, told in zip(kernels, document["kernels"], strict=True):
        for name in ("label", "release", "build_id", "version", "compiler", "image_sha256"):
            assert getattr(kernel, name) == told[name]
        assert kernel.arch == document["guest"]["arch"]
    assert [(one.id, one.kernel, one.started, one.why) for one in runs] == [
        (one["id"], one["kernel"], one["started"], one["failure"]) for one in document["runs"]
    ]
    for table in (kernels, runs):
        assert table.columns() and table.__arrow_c_stream__()


def test_a_judgement_says_where_it_was_made_and_what_was_measured(
    session: package.Session, parts: package.Parts
) -> None:
    """By the names that ``sessions`` has, with the numbers that are printed."""
    for row in [*session.check("instructions > +900%"), *parts.check("instructions:kernel > +9%")]:
        assert row.part in (parts if row.part else session).sessions
        assert f"{row.other:.2f}" in row.told.replace(",", "") and row.per_op
        assert (row.metric, row.unit) == ("instructions", "instructions")
    (row,) = session.at("size_kib=40").check("inlined:change_pte_range changed")
    assert (row.what, row.base, row.other) == ("change_pte_range", None, None)
