"""``profdiff report --events`` and the page: what they show, and what they refuse."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from browsed_page import Page
from support import ROOT, error_line, profdiff
from synthetic_session import exact_session
from tables import rows, tables

from profdiff.base import units
from profdiff.evidence.findings import LazyFindings
from profdiff.profile.events import events
from profdiff.session.session import Session

SCHEMA = ROOT / "profdiff/report.schema.json"
AT = ("--at", "what=unmaps")


@pytest.mark.guest
def test_the_text_has_both_contexts(happened: Path) -> None:
    said = profdiff("report", happened, "--events", *AT, "--width", "160").stdout
    own, beside = said.split("events of the workload per op (40 ops)\n")[1].split(
        "events outside the workload per op (40 ops)\n"
    )
    assert "tlb-flushes-remote" in own
    assert "interrupt-call-function" in beside
    assert "interrupt-call-function" not in own
    last = " ".join(said.split("\n\n")[-1].split())
    assert "These did not happen on any kernel: " in last
    assert "for its architecture): softirq-net-tx, softirq-net-rx." in last
    assert "Nobody has looked up" not in last
    for width in (60, 80, 120):
        said = profdiff("report", happened, "--events", *AT, "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in said.splitlines())


@pytest.mark.guest
def test_json_and_csv_have_all_events(happened: Path, tmp_path: Path) -> None:
    profdiff("report", happened, "--events", *AT, "--json", tmp_path / "events.json")
    document = json.loads((tmp_path / "events.json").read_text())
    schema = json.loads(SCHEMA.read_text())
    sections = schema["$defs"]["Document"]["properties"]["sections"]
    jsonschema.validate(document["sections"], {"$defs": schema["$defs"], **sections})
    names = {event.name for event in events()}
    known = [row for table in tables(document, "events") for row in rows(table)]
    for context in ("own", "outside"):
        assert {row["event"] for row in known if row["context"] == context} == names
    whole = json.loads(profdiff("report", happened, *AT, "--json", "-").stdout)
    totals = whole["metrics"][0]["totals"]
    for row in known:
        for label, rate in row["rate"].items():
            count = row["count"][label]
            assert rate == (None if count is None else pytest.approx(1e6 * count / totals[label]))
    profdiff("report", happened, "--events", *AT, "--csv", tmp_path / "events.csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "events.csv").read_text())))
    for line, row in zip(lines, known, strict=True):
        assert (line["event"], line["context"]) == (row["event"], row["context"])
        for label, count in row["count"].items():
            assert line[f"count {label}"] == ("" if count is None else str(count))
        for label, verdict in row["verdict"].items():
            assert line[f"verdict {label}"] == (verdict or "")


@pytest.mark.guest
def test_a_session_that_was_moved_has_the_same_events(happened: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(happened, tmp_path / "moved.profdiff")
    manifest = json.loads((moved / "manifest.json").read_text())
    for kernel in manifest["kernels"]:
        kernel["debug_elf"] = "/gone/vmlinux"
    (moved / "manifest.json").write_text(json.dumps(manifest))
    said = [profdiff("report", one, "--events", *AT).stdout for one in (happened, moved)]
    assert said[0] == said[1]


@pytest.mark.guest
def test_without_kallsyms_nothing_is_known(happened: Path, tmp_path: Path) -> None:
    bare = shutil.copytree(happened, tmp_path / "bare.profdiff")
    manifest = json.loads((bare / "manifest.json").read_text())
    for run in manifest["runs"]:
        del run["files"]["kallsyms"]
    del manifest["events"]
    (bare / "manifest.json").write_text(json.dumps(manifest))
    result = profdiff("report", bare, "--events", *AT, status=2)
    assert error_line(result) == "old: its kallsyms does not say where its functions are"
    failing = ("--fail-if", "events:page-faults > +0")
    assert "inconclusive" in profdiff("check", bare, *AT, *failing, status=125).stdout


@pytest.mark.guest
def test_without_a_call_tree_all_is_in_one_table(at_a_terminal: Path) -> None:
    from support import ODD

    said = profdiff("report", at_a_terminal / ODD, "--events", "--width", "120").stdout
    assert "events (" not in said
    assert "events outside the workload" not in said
    assert "These numbers include what ran outside the workload" in " ".join(said.split())


@pytest.mark.guest
def test_the_page_shows_them(happened: Path, browser: Any, tmp_path: Path) -> None:
    found = LazyFindings.of(Session.open(happened), "what=unmaps").findings
    page = Page(browser, found, tmp_path, 1280)
    rows = page.page.eval_on_selector_all(
        "#events-own tbody tr",
        "lines => lines.map(line => [...line.children].map(cell => cell.firstChild.textContent))",
    )
    (flushes,) = (row for row in rows if row[0] == "tlb-flushes")
    assert flushes == ["tlb-flushes", "1.00", *["1.00", "0.00", "0%", "exact"] * 2]
    title = page.page.get_attribute("#events-own tbody th:has-text('tlb-flushes')", "title")
    assert "old functions: flush_tlb_mm_range\nold source: arch/x86/mm/tlb.c" in title
    assert page.page.locator("#events-outside").is_hidden()
    page.close()


def test_where_it_is_refused(tmp_path: Path) -> None:
    exact_session(tmp_path / "made.profdiff")
    made = tmp_path / "made.profdiff"
    result = profdiff("report", made, "--events", status=2)
    assert "its kallsyms does not say where its functions are" in error_line(result)
    result = profdiff("report", made, "--events", "--types", status=2)
    assert error_line(result) == "--types and --events cannot be used together"
    result = profdiff("report", made, "--events", "--kernel-only", status=2)
    assert "--events shows the kernel alone" in error_line(result)
    result = profdiff("check", made, "--fail-if", "events:page-fault > +0", status=2)
    assert "names no event: did you mean page-faults" in error_line(result)
    result = profdiff("check", made, "--fail-if", "events:page-faults changed", status=2)
    assert "write it like 'events:page-faults > +0'" in error_line(result)
