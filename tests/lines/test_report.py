"""Distinct lines of memory in what a session shows, recorded beside exact counts."""

import csv
import io
import json
from pathlib import Path

import pytest
from support import RESTORED, page_data, profdiff

from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.lines.counts import OUTSIDE, REGIONS

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).with_name("known.c")
TABLES = 4


@pytest.fixture(scope="module")
def session(
    old_kernel: Path, newest_kernel: Path, qemu: Qemu, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Two kernels, each recorded twice. It prepares pages before its window."""
    folder = tmp_path_factory.mktemp("lines") / "lines.profdiff"
    kernels = [f"--kernel=old={old_kernel}", f"--kernel=new={newest_kernel}"]
    how = ["--collector", "exact,lines", "--repeat", "2", "-o", str(folder)]
    profdiff("record", *RESTORED, *kernels, *how, "--", str(PROGRAM), "unmap", str(TABLES))
    return folder


def test_the_table_is_in_the_inventory(session: Path) -> None:
    text = profdiff("report", str(session), "--inventory", "--width", "120").stdout
    _, found, rest = text.partition("distinct lines of memory in the window, by region\n")
    head, *rows = rest.split("\n\n")[0].splitlines()
    assert found and head.split()[:2] == ["old", "new"] and "per op" not in found
    by_region = {words[5]: words for words in map(str.split, rows)}
    assert {"all", "user", "page-tables", "struct-page", "slab", "direct-map"} <= by_region.keys()
    assert int(by_region["page-tables"][0]) > TABLES * 64
    assert by_region["struct-page"][4] == "exact"
    # Chance decides what ticks access.
    assert "outside" not in by_region
    assert "are not known" not in text


def test_programs_get_the_same_numbers(session: Path, tmp_path: Path) -> None:
    files = {form: tmp_path / form for form in ("csv", "json", "html")}
    shown = ("--csv", files["csv"], "--json", files["json"])
    profdiff("report", session, "--inventory", *shown)
    profdiff("report", session, "--html", files["html"])
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    mine = {row["region"]: row for row in rows if row["table"] == "inventory-lines"}
    assert mine.keys() == REGIONS.keys() - {OUTSIDE}
    sections = json.loads(files["json"].read_text())["sections"]
    (table,) = [
        table
        for section in sections
        for table in section["tables"]
        if table["name"] == "inventory-lines"
    ]
    names = [column["name"] for column in table["columns"]]
    every = [*table["rows"], *table["hidden"]]
    counts = {row[names.index("region")]: row[names.index("count")] for row in every}
    assert {region: int(row["count old"]) for region, row in mine.items()} == counts
    assert table["ops"] is None
    assert "distinct lines of memory in the window" in page_data(files["html"])


def test_conditions_name_regions(session: Path) -> None:
    holds = profdiff(
        *("check", str(session), "--fail-if", "lines-struct-page < -1%"),
        *("--fail-if", "lines-page-tables > +10%"),
        status=1,
    )
    assert holds.returncode == 1
    assert "fails: lines-struct-page:total < -1%" in holds.stdout
    assert "passes: lines-page-tables:total > +10%" in holds.stdout


def test_a_mail_says_which_changed(session: Path) -> None:
    text = profdiff("mail", str(session), "--inventory").stdout
    assert "Distinct lines of memory that changed, in the window:\n" in text
    assert "struct-page" in text and "  outside\n" not in text
