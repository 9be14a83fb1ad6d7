"""Instruction classes as reports show them."""

import csv
import io
import json
import re
from pathlib import Path

import classes as made
import jsonschema
import pytest
from support import ROOT, profdiff
from synthetic import Row, example, findings, frame
from synthetic import compare as without_code

from profdiff.profile.comparison import Comparison
from profdiff.reports.csv import functions
from profdiff.reports.documents.session import build, encode
from profdiff.reports.text import session
from profdiff.topics.functions.selection import Selection

PTE, FLUSH = frame("change_pte_range"), frame("flush_tlb")
MAIN = frame("main", owner="work", file="work.c")


def compared(labels: tuple[str, ...] = ("base", "new")) -> Comparison:
    """10 ops; the first kernel executes less than the others."""
    kernels = {}
    for number, label in enumerate(labels):
        rows: list[tuple[Row, str]] = [
            (([PTE], "change_pte_range", True, [100]), "mov (%rdi),%eax"),
            (([PTE], "change_pte_range", True, [10 * number]), "lock cmpxchg %ecx,(%rsi)"),
            (([FLUSH], "flush_tlb", True, [20]), "mov %rax,%cr3"),
            (([FLUSH], "flush_tlb", True, [5 * number]), "nop"),
            (([MAIN], "main", False, [30]), "div %ecx"),
            (("no-symbol", "", False, [7 + number]), "xchg %eax,(%rdi)"),
        ]
        kernels[label] = rows
    return made.compare(kernels, ops=10)


def shown(comparison: Comparison, width: int = 100, **more: bool) -> str:
    selection = Selection(top=more.pop("top", None))  # type: ignore[arg-type]
    made_ = session.render(
        findings([comparison]), selection, width=width, classes=more.pop("classes", True), **more
    )
    assert all(len(line) <= width for line in made_.splitlines())
    return made_


def test_the_text_says_what_a_maintainer_asks() -> None:
    told = shown(compared())
    # 10 in the function and 1 in what has no name, of 10 ops.
    assert "new: +1.10 locked per op (change_pte_range +1.00, 1 more)." in told
    _, _, table = told.partition("classes of instructions per op (10 ops)\n")
    rows = {line.split()[-1]: line.split()[:-1] for line in table.splitlines()[1:9] if line}
    assert rows["locked"] == ["0.70", "1.80", "+1.10", "+157.1%"]
    assert rows["loads"] == ["10.70", "11.80", "+1.10", "+10.3%"]
    assert rows["privileged"] == ["2.00", "2.00", "0", "0%"]
    assert "repeated" not in rows
    _, _, table = told.partition("new minus base: classes of instructions by function per op")
    header, *lines = table.splitlines()[1:]
    assert header.split() == ["loads", "stores", "locked", "function"]
    assert lines[0].split() == ["+1.00", "+1.00", "+1.00", "change_pte_range"]
    assert [line.split()[:3] for line in lines[2:4]] == [["+0.10"] * 3, ["+1.10"] * 3]
    assert lines[2].endswith("without a function") and lines[3].endswith("all")


def test_what_is_not_shown_still_counts() -> None:
    comparison = compared()
    # Instructions of change_pte_range and flush_tlb change; 1 row is the first of them.
    told = shown(comparison, top=0)
    assert "+1.10 locked per op (change_pte_range +1.00" in told
    assert "new minus base: classes" not in told
    first = shown(made.compare(twice(), ops=10), top=1).partition("new minus base")[2]
    assert re.search(r"^\+1\.00 +\+1\.00 +\+1\.00 +change_pte_range$", first, re.M)
    assert re.search(r"^\+0\.50 +\+0\.50 +\+0\.50 +not shown$", first, re.M)
    assert re.search(r"^\+1\.50 +\+1\.50 +\+1\.50 +all$", first, re.M)


def twice() -> dict[str, list[tuple[Row, str]]]:
    """Two functions that execute more locked instructions."""
    return {
        label: [
            (([PTE], "change_pte_range", True, [10 * number]), "xchg %eax,(%rdi)"),
            (([FLUSH], "flush_tlb", True, [5 * number]), "xchg %eax,(%rdi)"),
            (([MAIN], "main", False, [30]), "div %ecx"),
        ]
        for number, label in enumerate(("base", "new"))
    }


def test_small_changes_are_left_out_of_sentences() -> None:
    def told(base: int, other: int) -> str:
        rows = {
            label: [
                (([PTE], "f", True, [number]), "xchg %eax,(%rdi)"),
                (([MAIN], "main", False, [10_000]), "nop"),
            ]
            for label, number in (("base", base), ("new", other))
        }
        described: dict[str, list[tuple[Row, str]]] = rows  # type: ignore[assignment]
        return shown(made.compare(described, ops=1000))

    nothing = "new: as many locked, serialising,"
    assert nothing in told(1000, 1009) and "new: +0.01 locked per op (change_pte_range" in told(
        1000, 1010
    )
    assert nothing in told(0, 4) and "new: +0.01 locked per op (change_pte_range" in told(0, 5)


def test_only_one_side() -> None:
    made_ = session.render(
        findings([compared()]), Selection(side="user"), width=100, classes=True, per_op=False
    )
    assert "new: +1 locked (1 more)." in made_
    assert "change_pte_range" not in made_.partition("classes of instructions")[2]
    assert re.search(r"^ +30 +30 +0 +0% +divisions$", made_, re.M)
    assert not re.search(r" privileged$", made_, re.M)


def test_several_kernels_and_one() -> None:
    told = shown(compared(("base", "new", "newer")))
    assert "new: +1.10 locked per op" in told and "newer: +2.20 locked per op" in told
    assert re.search(r"^ +0\.70 +1\.80 +\+157\.1% +2\.90 +\+314\.3% +locked$", told, re.M)
    assert "newer minus base: classes of instructions by function per op" in told
    alone = shown(compared(("only",)))
    assert re.search(r"^ +0\.70 +locked$", alone, re.M)
    assert "classes of instructions by function per op" in alone


@pytest.mark.parametrize("width", [60, 75, 100])
def test_classes_that_do_not_fit_stand_below(width: int) -> None:
    rows: list[tuple[Row, str]] = [(([PTE], "f", True, [1]), name) for name in made.CODE]
    more: list[tuple[Row, str]] = [(([PTE], "f", True, [10**6]), name) for name in made.CODE]
    told = shown(made.compare({"base": rows, "new": more}), width)
    _, _, table = told.partition("new minus base")
    names = {name for _, expected in made.CODE.values() for name in expected}
    assert all(re.search(rf"\b{name}\b", table) for name in names)


def test_without_the_option_nothing_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("profdiff.profile.code.classes.disassemble", refuse)
    assert "classes" not in shown(compared(), classes=False)
    assert "locked" not in functions.render([compared()], Selection())


def test_csv_has_all_classes() -> None:
    made_ = functions.render([compared()], Selection(top=1), classes=True)
    rows = list(csv.DictReader(io.StringIO(made_)))
    by_name = {row["name"]: row for row in rows}
    assert by_name["change_pte_range"]["locked new"] == "10"
    assert by_name["change_pte_range"]["indirect-calls new"] == "0"
    # No branches were counted: that is not known, and not 0.
    assert by_name["change_pte_range"]["taken new"] == ""
    assert by_name["[unresolved: no-symbol]"]["locked new"] == "8"
    assert sum(int(row["locked new"]) for row in rows) == 18
    assert sum(int(row["privileged base"]) for row in rows) == 20


def test_the_document_has_all_classes() -> None:
    data = json.loads(encode(build(findings([compared()]))))
    schema = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    jsonschema.validate(data, schema)
    (metric,) = data["metrics"]
    told = metric["classes"]
    names = [row["name"] for row in metric["functions"]]
    for name, total in told["total"].items():
        for label in ("base", "new"):
            own = told["functions"][name][label]
            assert len(own) == len(names)
            assert sum(own) + told["rest"][name][label] == total[label]
    assert told["functions"]["locked"]["new"][names.index("change_pte_range")] == 10
    assert told["unseen"] == {"base": 0, "new": 0}
    assert "repeated" not in told["total"]


def test_the_document_says_what_ran_inlined() -> None:
    helper = frame("helper", inlined=True)
    rows: dict[str, list[tuple[Row, str]]] = {
        "base": [(([PTE, helper], "f", True, [5]), "nop"), (([FLUSH], "g", True, [5]), "nop")],
        "new": [(([frame("helper")], "f", True, [5]), "nop")],
    }
    (metric,) = json.loads(encode(build(findings([made.compare(rows)]))))["metrics"]
    number = [row["name"] for row in metric["functions"]].index("helper")
    told = metric["code"]
    assert [told["copies"][label][number] for label in ("base", "new")] == [1, 0]
    assert [told["called"][label][number] for label in ("base", "new")] == [False, True]
    # Nothing keeps its code.
    assert told["size"] == {label: [None] * len(metric["functions"]) for label in ("base", "new")}
    shown_ = shown(made.compare(rows))
    assert re.search(r"^ +- +- +inlined 1 +called +helper$", shown_, re.M)
    assert re.search(r"^ +- +- +called +- +flush_tlb$", shown_, re.M)
    assert "Code sizes are not known: base: no session keeps its code" in shown_


def test_samples_have_none() -> None:
    plain = json.loads(encode(build(findings([without_code(example())]))))
    assert (plain["metrics"][0]["classes"], plain["metrics"][0]["code"]) == (None, None)


@pytest.mark.guest
def test_the_commands_say_it(recorded: Path, counted_and_sampled: Path) -> None:
    told = profdiff("report", recorded, "--classes").stdout
    assert "classes of instructions per op (40,000 ops)" in told
    assert re.search(r"^ +1,788 +2,513 +inlined 1 +inlined 1 +change_pte_range$", told, re.M)
    plain = profdiff("report", recorded).stdout
    assert [line for line in plain.splitlines() if line not in told.splitlines()] == []
    both = profdiff("report", counted_and_sampled, "--classes", "--width", "100").stdout
    assert both.count("\ninstruction classes: samples do not show") == 1
    assert "new minus base: classes of instructions" in both
    data = json.loads(profdiff("report", counted_and_sampled, "--json", "-").stdout)
    for key in ("classes", "code"):
        assert [one[key] is not None for one in data["metrics"]] == [
            one["exact"] for one in data["metrics"]
        ]
