"""``profdiff check``: exit statuses and words, on a real session."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import error_line, profdiff

from profdiff.api.judged import judged
from profdiff.evidence.conditions.condition import Condition
from profdiff.profile.code.classes import ITEMS
from profdiff.session.session import Session

pytestmark = pytest.mark.guest


@pytest.mark.parametrize(
    ("condition", "status", "words"),
    [
        ("instructions > +2%", 1, "fails: instructions:total > +2%"),
        ("instructions:kernel > +200%", 0, "passes"),
        ("instructions:change_pte_range > +3/op", 1, "28.61 to 33.59 per op"),
        ("instructions:change_pte_range > +5/op", 0, "passes"),
        ("instructions:commit_anon_folio_batch > +1%", 1, "new, 0.00 to 15.50 per op"),
        ("instructions:can_change_pte_writable < -50%", 1, "-100.00%"),
        ("instructions:user > +5%", 0, "passes"),
        ("instructions:total:change_pte_range > +10%", 1, "fails: instructions:total:change_pte"),
        ("loads:change_pte_range > +4/op", 1, "8.53 to 13.02 per op"),
        ("divisions:change_pte_range > +0", 0, "passes"),
        ("indirect-calls:user > +0", 0, "none, 0 to 0"),
        ("stores > +50%", 1, "fails: stores:total > +50%"),
        ("size:change_pte_range > +40%", 1, "1,788 to 2,513; bytes of code"),
        ("size:do_mprotect_pkey > +3", 0, "1,268 to 1,271"),
        ("size:prot_commit_flush_ptes > +1%", 125, "new: not executed (base)"),
        ("size:main > +1%", 125, "new: sizes are of kernel functions alone"),
        ("inlined:change_pte_range changed", 0, "(base: inlined into change_pmd_range)"),
        ("inlined:can_change_pte_writable changed", 125, "not executed (base: not inlined)"),
    ],
)
def test_exact_counts_are_judged(recorded: Path, condition: str, status: int, words: str) -> None:
    result = profdiff("check", recorded, "--fail-if", condition, status=status)
    assert words in result.stdout


def test_a_total_with_what_is_called_is_the_reports(recorded: Path) -> None:
    document = json.loads(profdiff("report", recorded, "--json", "-").stdout)
    shown, ops = document["metrics"][0], document["workload"]["ops"]
    (row,) = (one for one in shown["functions"] if one["name"] == "do_mprotect_pkey")
    total = row["total"]
    assert total["base"] > 10 * row["self"]["base"]
    condition = "instructions:total:do_mprotect_pkey > +1%"
    said = profdiff("check", recorded, "--fail-if", condition, status=1).stdout
    # As reports show it: per op.
    base, new = (f"{total[label] / ops:.2f}" for label in ("base", "new"))
    assert f"{base} to {new} per op" in said
    whole = profdiff("check", recorded, "--fail-if", f"{condition[:-4]}+1", status=1).stdout
    assert f"{total['base']:,} to {total['new']:,}" in whole


def test_items_are_judged_as_the_inventory_shows_them(recorded: Path) -> None:
    """Each item in all functions, on each side and in each function."""
    table = csv.DictReader(
        io.StringIO(profdiff("report", recorded, "inventory", "--csv", "-").stdout)
    )
    rows = [row for row in table if row["table"] in ("inventory", "inventory-functions")]
    expected = {}
    for row in rows:
        name = row["function"] if row["table"] == "inventory-functions" else row["side"]
        name = name.replace("both", "total")
        if row["item"] in ITEMS and name.isidentifier():
            sure = "holds" if float(row["delta new"]) > 0 else "does not hold"
            outcome = sure if row["verdict new"] == "exact" else "inconclusive"
            expected[Condition.parse(f"{row['item']}:{name} > +0")] = outcome
    found = judged(Session.open(recorded), [*expected], [])
    assert {one.condition: one.outcome for one in found} == expected
    assert {*expected.values()} >= {"holds", "does not hold"}


def test_one_condition_is_enough(recorded: Path, tmp_path: Path) -> None:
    junit, summary = tmp_path / "check.xml", tmp_path / "comment.md"
    profdiff(
        *("check", recorded, "--fail-if", "instructions:user > +5%"),
        *("--fail-if", "instructions > +2%", "--junit", junit, "--markdown", summary),
        status=1,
    )
    suites = ET.parse(junit).getroot()  # noqa: S314
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    comment = summary.read_text()
    assert "**fails: 1, passes: 1**" in comment
    assert "prot&#95;commit&#95;flush&#95;ptes</code>" in comment
    assert "\nsame state&#58; " in comment


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fail-if", "instructions:chnge_pte_range > +1%"], "did you mean 'change_pte_range'"),
        (["--fail-if", "instrctions > +1%"], "did you mean 'instructions'"),
        (["--fail-if", "instructions > 1%"], "write +1%"),
        (["--fail-if", "instructions"], "instructions"),
        (["--fail-if", "lockd > +0"], "did you mean 'locked'"),
        (["--fail-if", "locked:chnge_pte_range > +0"], "did you mean 'change_pte_range'"),
        (["--fail-if", "inlined:change_pte_range > +0"], "inlined:change_pte_range changed"),
        (["--fail-if", "instructions > +1%", "--kernel", "base"], "compares new"),
        (["--fail-if", "instructions > +1%", "--at", "size=4"], "there is one point alone"),
        ([], "--fail-if"),
    ],
)
def test_wrong_use(recorded: Path, arguments: list[str], words: str) -> None:
    assert words in error_line(profdiff("check", recorded, *arguments, status=2))
