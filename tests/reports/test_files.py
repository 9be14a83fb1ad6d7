"""JSON, CSV and the command line that writes them."""

import csv
import io
import json
import os
from pathlib import Path

import jsonschema
import pytest
from goldens import check_schema
from support import ROOT, error_line, profdiff
from synthetic import compare, example, findings, frame

from profdiff.reports.csv import functions
from profdiff.reports.documents import encode, session_document
from profdiff.topics.functions.selection import Selection
from profdiff.views import document


@pytest.fixture(scope="module")
def schema() -> dict[str, object]:
    """The schema that comes with the package, itself valid."""
    loaded: dict[str, object] = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/report.schema.json", document.schema(), "reports")


def test_every_field_is_documented() -> None:
    written = (ROOT / "docs/report-data.md").read_text()
    section = written.partition("## JSON: `profdiff.report/2`")[2].partition("\n### ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name.strip(" `").removesuffix("[]") for row in rows for name in row.split(", ")}
    assert set(document.Document.__struct_fields__) <= named


def test_documents_are_valid(schema: dict[str, object]) -> None:
    for comparison in (
        compare(example()),
        compare(example(), ops=40_000, failed=["new"]),
        compare({"only": example()["base"]}),
    ):
        data = json.loads(encode(session_document(findings([comparison]))))
        jsonschema.validate(data, schema)


def test_a_wrong_document_is_not(schema: dict[str, object]) -> None:
    data = json.loads(encode(session_document(findings([compare(example())]))))
    data["metrics"][0]["functions"][0]["self"]["base"] = 1.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


@pytest.mark.guest
def test_the_command_writes_it(recorded: Path, schema: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert profdiff("report", recorded, "--json", file).stdout == ""
    data = json.loads(file.read_text())
    jsonschema.validate(data, schema)
    assert data["schema"] == "profdiff.report/2"
    assert [kernel["label"] for kernel in data["kernels"]] == ["base", "new"]
    metric = data["metrics"][0]
    assert (metric["metric"], metric["exact"]) == ("instructions", True)
    for label in ("base", "new"):
        rows = metric["functions"] + metric["unresolved"]
        assert sum(row["self"][label] for row in rows) == metric["totals"][label]
        assert all(row["total"][label] >= row["self"][label] for row in metric["functions"])


@pytest.mark.guest
def test_several_forms_at_once(recorded: Path, tmp_path: Path) -> None:
    arguments = ["report", recorded, "--json", "a.json", "--csv", "a.csv", "--html"]
    result = profdiff(*arguments, cwd=tmp_path)
    assert result.stdout == "mprotect.html\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.json", "mprotect.html"]


@pytest.mark.guest
def test_the_newest_session_is_the_default(recorded: Path, tmp_path: Path) -> None:
    for name, age in (("old", 100), ("new", 0)):
        folder = tmp_path / f"{name}.profdiff"
        folder.mkdir()
        for entry in recorded.iterdir():
            if entry.name != "manifest.json":
                (folder / entry.name).symlink_to(entry)
        text = (recorded / "manifest.json").read_text().replace('"./none"', f'"{name}"')
        (folder / "manifest.json").write_text(text.rstrip())
        stamp = folder.stat().st_mtime - age
        os.utime(folder / "manifest.json", (stamp, stamp))
    # Links that lead out of the session are refused: that tells which one was taken.
    line = error_line(profdiff("report", cwd=tmp_path, status=2))
    assert "leads out of the folder" in line
    (tmp_path / "new.profdiff/manifest.json").write_text("{}")
    assert "new.profdiff" in error_line(profdiff("report", cwd=tmp_path, status=2))


@pytest.mark.guest
def test_options_that_cannot_be(recorded: Path, tmp_path: Path) -> None:
    both = profdiff("report", recorded, "--kernel-only", "--user-only", status=2)
    assert "cannot be used together" in error_line(both)
    target = tmp_path / "no/such/folder.json"
    line = error_line(profdiff("report", recorded, "--json", target, status=2))
    assert str(target) in line


@pytest.mark.guest
def test_standard_output_holds_one_form_and_nothing_else(recorded: Path) -> None:
    assert profdiff("report", recorded, "--html", "-").stdout.endswith("</html>\n")
    json.loads(profdiff("report", recorded, "--json", "-").stdout)
    line = error_line(profdiff("report", recorded, "--json", "-", "--csv", "-", status=2))
    assert "standard output" in line


def test_csv_holds_everything_unrounded() -> None:
    comparison = compare(example(), ops=40_000)
    rows = list(csv.DictReader(io.StringIO(functions([comparison], Selection()))))
    by_name = {row["name"]: row for row in rows}
    assert by_name["change_pte_range"]["self new"] == "1343600"
    assert by_name["change_pte_range"]["total new"] == "3063600"
    assert by_name["change_pte_range"]["delta new"] == "199280"
    assert by_name["[unresolved: no-symbol]"]["self base"] == "12"
    totals = comparison.totals()
    assert sum(int(row["self new"]) for row in rows) == totals[1]
    assert sum(int(row["delta new"]) for row in rows) == totals[1] - totals[0]


@pytest.mark.parametrize(
    "selection",
    [Selection(side="kernel"), Selection(side="user"), Selection(top=2), Selection(min_delta=10)],
)
def test_csv_sums_to_what_was_asked_for(selection: Selection) -> None:
    comparison = compare(example())
    rows = list(csv.DictReader(io.StringIO(functions([comparison], selection))))
    for label, total in zip(comparison.labels, comparison.totals(selection.side), strict=True):
        assert sum(int(row[f"self {label}"]) for row in rows) == total
    if selection.side:
        assert {row["side"] for row in rows} == {selection.side}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_csv_holds_no_formula(name: str) -> None:
    rows = [([frame(name)], "f", True, [1])]
    table = functions([compare({"base": rows})], Selection())
    assert next(csv.DictReader(io.StringIO(table)))["name"] == f"'{name}"
