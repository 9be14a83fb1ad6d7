"""The inventory as reports show it."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import classes as made
import jsonschema
import pytest
from support import ROOT, error_line, profdiff
from synthetic import Row, example, findings, frame
from synthetic import compare as without_code

from profdiff.base.errors import InputError
from profdiff.checks.judging import judge
from profdiff.evidence.conditions.condition import Condition
from profdiff.forms import text
from profdiff.forms.csv import tables
from profdiff.profile.comparison import Comparison
from profdiff.reports.documents import encode, session_document
from profdiff.reports.documents import without_code as document_without_code
from profdiff.shapes.table import Section, Table
from profdiff.topics.registry import TOPICS

PTE, FLUSH = frame("change_pte_range"), frame("flush_tlb")
MAIN = frame("main", owner="work", file="work.c")
Described = list[tuple[Row, str]]


def compared(labels: tuple[str, ...] = ("base", "new")) -> Comparison:
    """10 ops; the first kernel executes less than the others."""
    kernels = {}
    for number, label in enumerate(labels):
        rows: Described = [
            (([PTE], "change_pte_range", True, [100]), "mov (%rdi),%eax"),
            (([PTE], "change_pte_range", True, [10 * number]), "lock cmpxchg %ecx,(%rsi)"),
            (([FLUSH], "flush_tlb", True, [20]), "mov %rax,%cr3"),
            (([FLUSH], "flush_tlb", True, [5 * number]), "nop"),
            (([MAIN], "main", False, [30]), "div %ecx"),
            (("no-symbol", "", False, [7 + number]), "xchg %eax,(%rdi)"),
        ]
        kernels[label] = rows
    return made.compare(kernels, ops=10)


def section(comparison: Comparison) -> Section:
    return TOPICS["inventory"].section(findings([comparison]))


def shown(comparison: Comparison, width: int = 100) -> str:
    drawn = text.render(section(comparison), width=width)
    assert all(len(line) <= width for line in drawn.splitlines())
    return drawn


def cells(table: Table, **wanted: Any) -> dict[tuple[str, str | None], Any]:
    """The row of a table whose columns hold what is wanted."""
    places = {(column.name, column.kernel): at for at, column in enumerate(table.columns)}
    (row,) = [
        row
        for row in table.all_rows
        if all(row[places[name, None]] == value for name, value in wanted.items())
    ]
    return {place: row[at] for place, at in places.items()}


def test_the_text_says_what_a_maintainer_asks() -> None:
    drawn = shown(compared())
    # 10 in the function and 1 in what has no name, of 10 ops; instructions: 157 to 173.
    assert drawn.replace("\n", " ").startswith(
        "new has 1.80 locked per op where base has 0.70 (+157.1%), most of it in change_pte_range; "
        "instructions: +10.2%. "
    )
    table, _, functions = drawn.partition("functions in which items differ most per op (10 ops)\n")
    rows = {line.split()[5]: line.split() for line in table.splitlines() if " exact " in line}
    assert rows["locked"][:4] == ["0.70", "1.80", "+1.10", "+157.1%"]
    assert rows["mov-cr3"][:4] == ["2.00", "2.00", "0", "0%"]
    assert "repeated" not in rows
    assert re.search(r"^ +0\.00 +1\.00 .* locked +change_pte_range$", functions, re.M)
    # Nothing differs there.
    assert not re.search(r"mov-cr3 +flush_tlb", functions)
    assert "These did not run on any kernel: returns, indirect-calls" in drawn
    assert "The recordings do not tell" in drawn
    assert "by region are not known: record with --collector exact,lines" in drawn.replace(
        "\n", " "
    )


def test_every_row_has_a_side_and_its_functions_add_up() -> None:
    items, functions, *_ = section(compared()).tables
    locked = cells(items, item="locked", side="both")
    assert (locked["count", "base"], locked["count", "new"]) == (7, 18)
    sides = [cells(items, item="locked", side=side) for side in ("kernel", "user")]
    assert [one["count", "new"] for one in sides] == [10, 8]
    own = cells(functions, item="locked", function="change_pte_range")
    unnamed = cells(functions, item="locked", function="[unresolved: no-symbol]")
    assert own["count", "new"] + unnamed["count", "new"] == 18
    assert own["number", None] == 0


def test_few_more_are_chance() -> None:
    """As many as addresses and the ends of a window can make; one more is certain."""

    def verdict(delta: int) -> tuple[str, str]:
        rows: dict[str, Described] = {
            label: [
                (([PTE], "f", True, [number]), "xchg %eax,(%rdi)"),
                (([MAIN], "main", False, [10_000]), "nop"),
            ]
            for label, number in (("base", 10), ("new", 10 + delta))
        }
        found = section(made.compare(rows, ops=10))
        return str(cells(found.tables[0], item="locked", side="both")["verdict", "new"]), (
            found.sentences[0]
        )

    assert verdict(3)[0] == "unsure"
    assert "no item is certain" in verdict(3)[1]
    assert verdict(4)[0] == "exact"
    assert verdict(4)[1].startswith("new has 1.40 locked per op where base has 1.00 (+40.0%)")
    assert verdict(0)[0] == "exact" and "no item is certain" in verdict(0)[1]


@pytest.mark.parametrize("where", ["total", "kernel", "f"])
@pytest.mark.parametrize(
    ("delta", "outcome"), [(0, "does not hold"), (3, "inconclusive"), (4, "holds")]
)
def test_check_is_as_sure_as_the_inventory(where: str, delta: int, outcome: str) -> None:
    rows: dict[str, Described] = {
        label: [(([PTE], "f", True, [number]), "xchg %eax,(%rdi)")]
        for label, number in (("base", 10), ("new", 10 + delta))
    }
    found = findings([made.compare(rows, ops=10)])
    where = "change_pte_range" if where == "f" else where
    (judged,) = judge({"": [found]}, [Condition.parse(f"locked:{where} > +0")], [])
    assert judged.outcome == outcome
    # What chance can make is far from a bound beyond it.
    (judged,) = judge({"": [found]}, [Condition.parse(f"locked:{where} > +0.8/op")], [])
    assert judged.outcome == "does not hold"


def test_an_item_that_follows_the_instructions_is_not_named() -> None:
    rows: dict[str, Described] = {
        label: [
            (([PTE], "f", True, [100 * times]), "xchg %eax,(%rdi)"),
            (([PTE], "f", True, [1000 * times]), "nop"),
        ]
        for label, times in (("base", 1), ("new", 3))
    }
    (sentence,) = section(made.compare(rows, ops=10)).sentences
    nothing = "no item is certain to have changed by much more than the instructions did"
    assert sentence == f"new: {nothing}, against base."


def test_runs_that_differ_leave_it_open() -> None:
    """One run of a kernel executed as few as the base."""
    rows: dict[str, Described] = {
        "base": [(([PTE], "f", True, [10, 10, 10]), "xchg %eax,(%rdi)")],
        "new": [(([PTE], "f", True, [10, 90, 90]), "xchg %eax,(%rdi)")],
    }
    found = cells(section(made.compare(rows)).tables[0], item="locked", side="both")
    assert (found["count", "new"], found["verdict", "new"]) == (90, "unsure")
    assert (found["low", "new"], found["high", "new"]) == (-3, 83)


def test_several_kernels_and_one() -> None:
    drawn = shown(compared(("base", "new", "newer")))
    assert "new has 1.80 locked per op" in drawn and "newer has 2.90 locked per op" in drawn
    alone = shown(compared(("only",)))
    assert re.search(r"^ +0\.70 +locked", alone, re.M)
    assert "functions in which items ran most per op (10 ops)" in alone


def test_csv_has_all_rows() -> None:
    found = section(compared())
    rows = list(csv.DictReader(io.StringIO(tables(found.tables))))
    locked = [row for row in rows if row["item"] == "locked"]
    assert [(row["table"], row["side"], row["count new"]) for row in locked] == [
        ("inventory", "both", "18"),
        ("inventory", "kernel", "10"),
        ("inventory", "user", "8"),
        ("inventory-functions", "kernel", "10"),
        ("inventory-functions", "user", "8"),
    ]
    assert {row["count new"] for row in rows if row["item"] == "indirect-calls"} == {"0"}
    # No branches were counted: that is not known, and not 0.
    assert not [row for row in rows if row["item"] == "taken"]


def test_the_document_has_it_where_code_is_decoded() -> None:
    data = json.loads(encode(session_document(findings([compared()]))))
    schema = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    jsonschema.validate(data, schema)
    assert [one["name"] for one in data["sections"]] == ["inventory"]
    assert document_without_code(findings([compared()])).sections == []


def test_the_table_says_what_ran_inlined() -> None:
    helper = frame("helper", inlined=True)
    rows: dict[str, Described] = {
        "base": [(([PTE, helper], "f", True, [5]), "nop"), (([FLUSH], "g", True, [5]), "nop")],
        "new": [(([frame("helper")], "f", True, [5]), "nop")],
    }
    (metric,) = json.loads(encode(session_document(findings([made.compare(rows)]))))["metrics"]
    number = [row["name"] for row in metric["functions"]].index("helper")
    code = metric["code"]
    assert [code["copies"][label][number] for label in ("base", "new")] == [1, 0]
    assert [code["called"][label][number] for label in ("base", "new")] == [False, True]
    # Nothing keeps its code.
    assert code["size"] == {label: [None] * len(metric["functions"]) for label in ("base", "new")}
    table = section(made.compare(rows)).tables[3]
    assert cells(table, function="helper")["ran", None] == "inlined 1 -> called"
    assert cells(table, function="flush_tlb")["ran", None] == "called -> not executed"
    assert cells(table, function="helper")["count", "new"] is None
    drawn = shown(made.compare(rows)).replace("\n", " ")
    assert "Not known, base: no session keeps its code." in drawn


def test_samples_have_none() -> None:
    with pytest.raises(InputError, match="samples do not show which instructions ran"):
        section(without_code(example()))


@pytest.mark.guest
def test_the_commands_say_it(recorded: Path, counted_and_sampled: Path) -> None:
    drawn = profdiff("report", recorded, "inventory").stdout
    assert "inventory per op (40,000 ops)" in drawn
    assert re.search(r"^ *1,788 +2,513 .* change_pte_range +inlined 1$", drawn, re.M)
    assert profdiff("report", recorded, "--inventory").stdout == drawn
    both = profdiff("report", counted_and_sampled, "inventory").stdout
    assert "new has" in both or "no item is certain" in both
    refused = profdiff("report", recorded, "inventory", "--kernel-only", status=2)
    assert error_line(refused) == (
        "--inventory shows both sides, in --csv: leave --kernel-only and --user-only out"
    )
    said = profdiff("mail", recorded, "--inventory").stdout
    assert re.search(r"^Kinds of instructions that changed", said, re.M)
    assert re.search(r"^ *[\d.]+ +[\d.]+ +\+[\d.]+ .* returns$", said, re.M)
    result = profdiff("check", recorded, "--fail-if", "returns:change_pte_range > +0")
    assert "passes: returns:change_pte_range" in result.stdout
    refused = profdiff("check", recorded, "--fail-if", "dsb > +0", status=2)
    assert error_line(refused) == "'dsb' is an instruction of another architecture"
    data = json.loads(profdiff("report", counted_and_sampled, "--json", "-").stdout)
    assert "inventory" in [one["name"] for one in data["sections"]]
    assert [one["code"] is not None for one in data["metrics"]] == [
        one["exact"] for one in data["metrics"]
    ]
