"""The suite of two at the same time: its report, its place in an atlas, and two of its cells."""

import csv
import io
import json
from pathlib import Path

import pytest
from support import profdiff
from synthetic_shared import Values, shared_suite

from profdiff.recording.schedule import has_states
from profdiff.reports import csv as reports_csv
from profdiff.reports import suite_document
from profdiff.reports.atlas import write
from profdiff.reports.text.suite import render
from profdiff.reports.text.suite_rows import rows
from profdiff.session.suite import Suite
from profdiff.views.suite import SuiteDocument

OLD, NEW = "6.12.95", "7.3.4"
CELLS: dict[str, Values] = {
    # One transfer more, seen in three states.
    "pwrite": {OLD: [(3, 5)] * 3, NEW: [(4, 5)] * 3},
    # As many transfers, each with one miss less.
    "fstat": {OLD: [(1, 2.01)], NEW: [(1, 1)]},
    # From nothing, and to nothing.
    "cgroup": {OLD: [(0, 0)], NEW: [(0.5, 0.5)]},
    "pipe": {OLD: [(2, 2)], NEW: [(0, 0)]},
    # Less than one in a hundred.
    "getppid": {OLD: [(0, 0)], NEW: [(0.004, 0)]},
    # An accident of what lies beside what.
    "signalfd": {OLD: [(1, 1), (2, 2)], NEW: [(2, 2), (1, 1)]},
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return shared_suite(tmp_path_factory.mktemp("suites") / "shared.profdiff", CELLS)


@pytest.fixture(scope="module")
def document(suite: Suite) -> SuiteDocument:
    return suite_document.build(suite)


def test_the_sentence_tells_transfers_and_misses(document: SuiteDocument) -> None:
    assert document.sentence == (
        "7.3.4 against 6.12.95: 2 of 6 cells have at least 5% more transfers, 1 fewer; 1 depends "
        "on state; 1 of 6 cells has at least 5% more coherence misses, 2 fewer"
    )
    assert document.banner == "Transfers of cache lines, not time."
    assert (document.metric, document.unit) == ("transfers", "lines")


def test_cells_have_both_metrics_per_op(document: SuiteDocument) -> None:
    cells = {cell.name: cell for cell in document.cells}
    assert all(cell.per_op for cell in document.cells)
    fstat = cells["fstat"]
    assert fstat.values == {OLD: 1, NEW: 1}
    assert (fstat.changes[NEW].verdict, fstat.changes[NEW].delta) == ("exact", 0)
    (misses,) = fstat.further
    assert (misses.metric, misses.values) == ("coherence-misses", {OLD: 2.01, NEW: 1})
    assert misses.changes[NEW].relevant
    # There is no part of nothing.
    assert cells["cgroup"].changes[NEW].relative is None
    assert cells["cgroup"].changes[NEW].relevant
    assert cells["pipe"].changes[NEW].relative == -1
    assert cells["signalfd"].changes[NEW].verdict == "depends on state"


def test_less_than_a_hundredth_is_no_change(document: SuiteDocument) -> None:
    (one,) = [cell.changes[NEW] for cell in document.cells if cell.name == "getppid"]
    assert (one.delta, one.relative, one.relevant) == (0, 0, False)


def test_rows_are_of_transfers_first(document: SuiteDocument) -> None:
    found = rows(document, [NEW])
    assert [cell.name for cell in found.more] == ["cgroup", "pwrite"]
    assert [cell.name for cell in found.less] == ["pipe", "fstat"]
    assert [cell.name for cell in found.depend] == ["signalfd"]
    assert found.other == 1


def test_the_text_has_both_side_by_side(document: SuiteDocument) -> None:
    text = render(document, "shared.profdiff", width=100, top=20)
    lines = text.splitlines()
    table = lines.index("cells that changed by at least 5%, lines per op")
    words = [word for word in lines[table + 1].split() if word.strip("-")]
    assert words == ["transfers", "coherence", "misses"]
    assert lines[table + 2].split()[:7] == ["cell", OLD, NEW, "change", OLD, NEW, "change"]
    body = {line.split()[0]: line.split()[1:7] for line in lines[table + 3 : table + 7]}
    assert body == {
        "cgroup": ["0.00", "0.50", "new", "0.00", "0.50", "new"],
        "pwrite": ["3.00", "4.00", "+33.3%", "5.00", "5.00", "0%"],
        "pipe": ["2.00", "0.00", "vanished", "2.00", "0.00", "vanished"],
        "fstat": ["1.00", "1.00", "0%", "2.01", "1.00", "-50.2%"],
    }
    narrow = render(document, "shared.profdiff", width=60, top=20).splitlines()
    assert max(map(len, narrow)) <= 60
    assert any("misses" in line for line in narrow)


def test_csv_has_a_row_for_each_metric(document: SuiteDocument) -> None:
    found = {
        (row["cell"], row["metric"], row["kernel"]): row
        for row in csv.DictReader(io.StringIO(reports_csv.suite(document)))
    }
    assert len(found) == 6 * 2 * 2
    one = found["fstat", "coherence-misses", NEW]
    assert (one["value"], one["base"], one["relevant"], one["per_op"]) == (
        "1.0",
        "2.01",
        "yes",
        "yes",
    )
    assert one["unit"] == "fetches and upgrades"
    assert found["pwrite", "transfers", NEW]["states"] == "3"
    assert found["cgroup", "transfers", NEW]["relative"] == ""


def test_an_atlas_has_a_series_of_each_metric(suite: Suite, tmp_path: Path) -> None:
    older = {
        "fstat": {"6.1.176": [(1.0, 2.0)], OLD: [(1.0, 2.01)]},
        "pwrite": {"6.1.176": [(2.0, 4.0)], OLD: [(3.0, 5.0)]},
    }
    shared_suite(tmp_path / "older.profdiff", older)
    folders = [suite.folder, tmp_path / "older.profdiff"]
    atlas = write(tmp_path / "site", folders, 0.05, lambda line: None)
    transfers, misses = atlas.series
    assert atlas.remarks == []
    assert (transfers.metric, misses.metric) == ("transfers", "coherence-misses")
    for one in atlas.series:
        assert [release.title for release in one.releases] == ["6.1.176", OLD, NEW]
    values = {cell.name: [point.value for point in cell.points] for cell in transfers.cells}
    assert values["pwrite"] == [2, 3, 4]
    steps = {cell.name: [point.step for point in cell.points] for cell in misses.cells}
    assert [step and step.relevant for step in steps["fstat"]] == [None, False, True]
    least = {cell.name: cell.points[-1].step for cell in transfers.cells}["getppid"]
    assert least is not None
    assert (least.delta, least.relevant) == (0, False)
    newest = transfers.releases[-1]
    assert (newest.more, newest.less, newest.same) == (2, 1, 2)
    assert newest.sentence == (
        "7.3.4 against 6.12.95: 2 of 6 cells have at least 5% more transfers, 1 fewer; 1 depends "
        "on state"
    )
    assert atlas.banner == "Transfers of cache lines, not time."
    page = json.loads((tmp_path / "site/cells/fstat.json").read_text())
    assert [one["machine"]["metric"].partition(" ")[0] for one in page["lines"]] == [
        "transfers",
        "coherence-misses",
    ]


def test_transfers_have_states() -> None:
    assert has_states("sharing")
    assert not has_states("timed")


@pytest.mark.guest
def test_cells_are_recorded_without_further_options(
    old_kernel: Path, newest_kernel: Path, tmp_path: Path
) -> None:
    """7.1 counts references to files by one instruction where 6.12 reads the count first."""
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={newest_kernel}"]
    cells = ["shared-file/fstat", "shared-file-own/fstat"]
    only = [word for name in cells for word in ("--only", name)]
    profdiff("record", "--suite", "shared", *kernels, *only, "-o", "two.profdiff", cwd=tmp_path)
    profdiff("report", "two.profdiff", "--json", "two.json", cwd=tmp_path)
    found = {
        cell["name"]: cell for cell in json.loads((tmp_path / "two.json").read_text())["cells"]
    }
    assert found["shared-file/fstat"]["values"] == {"old": 1, "new": 1}
    assert found["shared-file-own/fstat"]["values"] == {"old": 0, "new": 0}
    (misses,) = found["shared-file/fstat"]["further"]
    assert misses["values"]["old"] == pytest.approx(2, abs=0.1)
    assert misses["values"]["new"] == pytest.approx(1, abs=0.1)
    one = profdiff(
        "report", "two.profdiff", "--cell", "shared-file/fstat", "--sharing", cwd=tmp_path
    ).stdout
    assert "file.f_ref" in one
