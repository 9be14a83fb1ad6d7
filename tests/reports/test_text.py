"""The table: what it says, and that it fits."""

import re
from pathlib import Path
from typing import Any

import pytest
from extent import examples
from goldens import check_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import compare, example, findings, frame

from profdiff.base import terminal, units
from profdiff.forms import text
from profdiff.reports.text import session
from profdiff.shapes.table import of_row, tabulate
from profdiff.topics.functions.measure import select
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answers import Answer

GOLDEN = Path(__file__).parent / "golden"
NAMES = st.text(min_size=1, max_size=200).filter(lambda name: not name.endswith(".cold"))


def test_golden() -> None:
    comparison = compare(example(), ops=40_000, failed=["new"])
    shown = session.render(findings([comparison]), Selection(top=4), width=100)
    check_golden(GOLDEN / "two-kernels.txt", shown, "tests/reports -k golden")


@settings(max_examples=examples(200))
@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.integers(60, 140))
def test_no_line_is_wider_than_asked(names: list[str], width: int) -> None:
    rows = [
        ([frame(name, owner=name, file=name)], name, True, [10 ** (3 * i)])
        for i, name in enumerate(names)
    ]
    for kernels in ({"a": rows, "b": rows[:1]}, {"a": rows, "b": rows, "c": rows}):
        shown = session.render(findings([compare(kernels, ops=7)]), Selection(), width=width)
        for line in shown.split("\n"):
            assert units.width(line) <= width, line
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]", shown)


@given(st.text(max_size=60), st.integers(0, 40))
def test_shortening_keeps_to_its_width(name: str, columns: int) -> None:
    assert units.width(units.shorten(units.printable(name), columns)) <= columns


@given(st.text(max_size=80), st.integers(-3, 40))
def test_what_is_ended_keeps_to_its_width(text_: str, columns: int) -> None:
    """Also where not even the two dots fit, which once took for ever."""
    name = units.printable(text_)
    told = units.ended(name, columns)
    assert units.width(told) <= max(columns, 0)
    assert told == name or set(told[-2:]) <= {"."}


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_share_of_nothing_has_no_sign(part: int, whole: int) -> None:
    told = units.share(part, whole)
    assert told != "-0.0%"
    if whole:
        assert float(told.rstrip("%")) == pytest.approx(100 * part / whole, abs=0.051)
    else:
        assert told == "-"


def test_small_shares() -> None:
    shares = [units.share(part, 10_000) for part in (-1, 1, -5, -6, -10_000)]
    assert shares == ["0.0%", "0.0%", "-0.1%", "-0.1%", "-100.0%"]


def numbers(shown: str, column: int) -> list[float]:
    """A column of the table, as numbers."""
    lines = [line for line in shown.splitlines() if re.match(r"\s*-?[\d,.]+  ", line)]
    return [float(line.split()[column].replace(",", "")) for line in lines]


@pytest.mark.parametrize("selection", [Selection(), Selection(top=2), Selection(min_delta=400_000)])
def test_what_is_shown_adds_up(selection: Selection) -> None:
    shown = session.render(findings([compare(example())]), selection, width=100)
    for column in (0, 1, 2):
        *parts, whole = numbers(shown, column)
        assert sum(parts) == whole


@pytest.mark.parametrize(
    ("selection", "first"),
    [
        (Selection(), "prot_commit_flush_ptes"),
        (Selection(sort="self"), "change_pte_range"),
        (Selection(sort="total"), "change_pte_range"),
        (Selection(sort="total-delta"), "change_pte_range"),
        (Selection(sort="name"), "can_change_pte_writable"),
        (Selection(side="user"), "main"),
    ],
)
def test_selections(selection: Selection, first: str) -> None:
    comparison = compare(example())
    rows = select(comparison, selection)
    assert comparison.functions[rows.shown[0]].name == first
    assert len(rows.shown) + len(rows.hidden) == len(comparison.rows(selection.side))


def test_units_and_sides_are_named() -> None:
    comparison = compare(example(), ops=40_000)
    per_op = session.render(findings([comparison]), Selection(), width=100)
    assert "instructions per op (40,000 ops)" in per_op
    assert "27.50" in per_op
    absolute = session.render(findings([comparison]), Selection(), width=100, per_op=False)
    assert "1,100,000" in absolute
    assert "the base" in absolute
    assert "change and delta are relative to base" in absolute
    assert re.search(r"1,100,000 +\+1,100,000 +new ", absolute)
    assert re.search(r"-300,000 +vanished ", absolute)
    assert "[.isra.0]" in absolute
    assert "unresolved: outside-text (kernel)" in absolute
    kernel = session.render(
        findings([comparison]), Selection(side="kernel"), width=100, per_op=False
    )
    assert "main" not in kernel
    assert "in the kernel" in kernel


def test_three_kernels_have_a_column_each() -> None:
    rows = example()
    kernels = {"base": rows["base"], "new": rows["new"], "fixed": rows["base"]}
    shown = session.render(findings([compare(kernels)]), Selection(), width=100)
    header = next(line for line in shown.splitlines() if line.endswith("function"))
    assert header.split() == ["base", "new", "change", "fixed", "change", "function"]
    assert "fixed executes exactly as many instructions as base" in shown


@pytest.mark.parametrize(
    ("less", "said"),
    [
        (0, "100% of the increase is in f."),
        (90, "the largest increase is in f; other functions offset part of it."),
    ],
)
def test_a_part_is_no_more_than_the_whole(less: int, said: str) -> None:
    rows = {
        label: [
            ([frame("f")], "f", True, [f]),
            ([frame("g")], "g", True, [g]),
        ]
        for label, f, g in (("base", 100, 100), ("new", 200, 100 - less))
    }
    assert f"; {said}" in session.render(findings([compare(rows)]), Selection(), width=200)


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        (0, 0, "0%"),
        (0, 5, "new"),
        (5, 0, "vanished"),
        (100, 101, "+1.0%"),
        (100, 999, "+899.0%"),
        (100, 1000, "10 times"),
        (3, 1, "-66.7%"),
    ],
)
def test_changes(base: int, other: int, said: str) -> None:
    assert units.change(base, other) == said


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_long_labels_give_way_and_stay_apart(width: int) -> None:
    labels = [f"linux-next-2026-branch-{name}-of-the-tree" for name in ("old", "new", "fixed")]
    rows = {label: example()["new"] for label in labels}
    shown = session.render(findings([compare(rows)]), Selection(), width=width)
    _, _, table = shown.partition("\ninstructions\n")
    table, _, _ = table.partition("\ninstructions: each kernel against the one before\n")
    assert max(map(units.width, shown.splitlines())) <= width
    for head in (line for line in table.splitlines() if line.endswith("  function")):
        titles = [title for title in head.split()[:-1] if title != "change"]
        assert len(titles) == len(set(titles))
    # Numbers stay as they are, and there is one table for each part that fits.
    assert len(re.findall(r"\b1,100,000\b.*prot_commit_flush_ptes$", table, re.MULTILINE)) == (
        table.count("  function\n")
    )


def test_names_that_differ_in_their_middle_stay_apart() -> None:
    names = [f"drivers_subsystem_{kind}_operation_with_a_long_tail_{'x' * 40}" for kind in "abc"]
    rows = [([frame(name)], name, True, [n + 1]) for n, name in enumerate(names)]
    shown = session.render(findings([compare({"a": rows, "b": rows})]), Selection(), width=60)
    _, _, table = shown.partition("function\n")
    cut = [line.split("  ")[-1] for line in table.splitlines()[:3]]
    assert len(set(cut)) == 3
    for kind, name in zip("abc", sorted(cut), strict=True):
        assert f"_{kind}_" in name


def test_names_are_cut_after_columns_are_left_out() -> None:
    name = "set_write_prot_commit_flush_ptes"
    rows = {label: [([frame(name)], name, True, [n])] for label, n in (("a", 10**8), ("b", 2**30))}
    for width in (60, 80, 100):
        shown = session.render(findings([compare(rows)]), Selection(), width=width)
        assert re.search(rf"\+973,741,824 .* {name}$", shown, re.MULTILINE) or width == 60


def test_the_width_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "137")
    assert terminal.columns() == 137
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal.columns() == 100


def test_the_answer_names_its_point_and_counts_per_op() -> None:
    names = {"label": "new", "base": "base", "metric": "instructions", "verb": "executes"}
    for base, count, said in (
        (100, 150, "1.500 times the instructions of base in this workload at size 4: +50 "),
        (100, 100, "exactly as many instructions as base at size 4."),
        (0, 50, "50 instructions at size 4; base executes none."),
    ):
        found = Answer(
            **names, side=None, base_count=base, count=count, largest=None, at="size 4", ops=20
        )
        assert f"new executes {said}" in found.sentence
    assert Answer(
        **names, side=None, base_count=100, count=150, largest=None, ops=20
    ).sentence.endswith("in this workload: +50 (+50.0%), +2.50 per op.")


def test_a_table_says_which_columns_have_no_room() -> None:
    found = findings([compare(example(), ops=40_000)])
    narrow = session.render(found, Selection(top=4), width=60)
    (told,) = re.findall(r"^(.*) hidden; --width (\d+) shows them$", narrow, re.MULTILINE)
    assert told[0] == "change, share and total delta"
    wide = session.render(found, Selection(top=4), width=int(told[1]))
    assert " hidden; " not in wide
    assert re.search(r"delta +change +share +total delta +function$", wide, re.MULTILINE)


@pytest.mark.parametrize("columns", [2, 30])
def test_no_width_is_advised_that_does_not_help(columns: int) -> None:
    cells = [of_row(f"n{at}", "number", lambda _: 10**15, spare=1) for at in range(columns)]
    about: dict[str, Any] = {"name": "t", "title": "", "kernels": ["a"], "ops": None}
    table = tabulate([of_row("function", "name", lambda _: "f" * 40), *cells], ["row"], **about)
    (*_, last) = text.with_legend(table, 60, None, False, advise=True)
    told = " ".join(last.tail)
    assert told.endswith(f"n{columns - 1} hidden" + "; --width 100 shows them" * (columns == 2))


def test_numbers_stand_above_what_was_compared() -> None:
    shown = session.render(findings([compare(example(), failed=["new"])]), Selection(), width=100)
    order = ["new executes", "failed run", "instructions\n", "base  6.0.0", "counted by QEMU TCG"]
    places = [shown.index(one) for one in order]
    assert places == sorted(places)
