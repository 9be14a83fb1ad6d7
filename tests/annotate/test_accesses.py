"""What instructions access, behind them in an annotation."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_accesses import LOAD, STORE, Layout, Site, session
from msgspec.structs import replace
from support import profdiff
from synthetic_annotation import On, annotation, row
from tables import rows, tables

from profdiff.base import units
from profdiff.reports.annotation.text import render
from profdiff.reports.form import Layout as Shape
from profdiff.reports.form import ReportOptions
from profdiff.views.annotation.records import Access, Annotation, title

A, B = 0xFFFF_FFFF_8110_0000, 0xFFFF_FFFF_8120_0000
BOTH = frozenset({LOAD, STORE})


def access(kind: str = "field", **more: Any) -> Access:
    plain = {"type": "", "symbol": "", "field": "", "alternatives": [], "reason": ""}
    return Access(**{"load": True, "store": False, "size": 8, "kind": kind, **plain, **more})


FLAGS = access(type="vma", field="flags")
UNION = access(type="page", field="mapping", alternatives=["lru.next"])
CANARY, SLOT, PUSH = access("canary"), access("spill"), access("push")
LOCAL = access("stack-variable", type="long", symbol="end")
UNKNOWN = access("unresolved", reason="void-pointer")
USER = access("unresolved", reason="user-memory")


def text(shown: Annotation, width: int = 100, **asked: Any) -> list[str]:
    asked_for = ReportOptions(
        width=width, ascii_only=asked.pop("ascii_only", False), layout=Shape(**asked)
    )
    return [line.text for line in render(shown, asked_for)]


def example() -> Annotation:
    """An instruction of each kind."""

    def both(at: int, text: str, *accesses: Access, line: int = 10) -> Any:
        on = [On(start + at, text, 10, line, accesses=accesses) for start in (A, B)]
        return row("same", dict(zip(("base", "new"), on, strict=True)))

    moved = access(type="vma", field="flags.bits")
    renamed = {
        "base": On(A + 28, "mov    (%rcx),%edx", 10, 12, accesses=[FLAGS]),
        "new": On(B + 28, "mov    (%rcx),%edx", 10, 12, accesses=[moved]),
    }
    return annotation(
        ["base", "new"],
        [
            both(0, "push   %rbp", PUSH),
            both(4, "mov    0x20(%rdi),%rax", FLAGS),
            both(8, "cmpq   $0x0,0x18(%rsi)", UNION),
            both(12, "sub    %gs:0x28,%rax", CANARY),
            both(16, "mov    %rax,0x8(%rsp)", SLOT, line=11),
            both(20, "add    %rax,0x10(%rsp)", LOCAL, line=11),
            both(24, "mov    (%rax),%rbx", UNKNOWN, line=11),
            row("same", renamed),
            both(
                32, "call   *0x10(%rax)", access(type="ops", field="get"), access("call"), line=13
            ),
            both(36, "movsb  (%rsi),(%rdi)", FLAGS, USER, line=13),
            both(40, "ret", access("call"), line=14),
        ],
        texts={13: "x = get(y);"},
    )


def test_behind_each_instruction_stands_what_it_accesses() -> None:
    every = [re.fullmatch(r" +10 +10 +([a-z].*)", line) for line in text(example())]
    shown = [found[1] for found in every if found]
    assert shown == [
        "push   %rbp",
        "mov    0x20(%rdi),%rax  ; vma.flags",
        "cmpq   $0x0,0x18(%rsi)  ; page.mapping | lru.next",
        "sub    %gs:0x28,%rax    ; stack canary",
        "mov    %rax,0x8(%rsp)",
        "add    %rax,0x10(%rsp)  ; end",
        "mov    (%rax),%rbx      ; ?",
        "mov    (%rcx),%edx      ; vma.flags / vma.flags.bits",
        "call   *0x10(%rax)      ; ops.get",
        "movsb  (%rsi),(%rdi)    ; vma.flags, user memory",
        "ret",
    ]
    legend = " ".join(text(example())).partition("behind a semicolon: ")[2]
    assert legend.startswith(
        "the data that is accessed (? not known which, a | b names of one place in a union, a / b "
        "names on each kernel)"
    )
    plain = annotation(["a"], [row("same", {"a": On(A, "ret", 3, 3)})])
    assert "semicolon" not in " ".join(text(plain))


def test_where_there_is_no_room_names_are_shorter_and_then_gone() -> None:
    long = access(type="a_struct_with_a_long_name", field="and_a_field_with_a_long_name")
    code = {"a": On(A, "mov    0x20(%rdi),%rax", 10, 10, accesses=[long])}
    short = {"a": On(A + 4, f"mov    {'0x20' * 9}(%rdi),%rax", 10, 10, accesses=[long])}
    shown = annotation(["a"], [row("same", code), row("same", short)])

    def lines(width: int) -> list[str]:
        return [line for line in text(shown, width) if "mov " in line]

    assert all(
        "; a_struct_with_a_long_name.and_a_field_with_a_long_name" in one for one in lines(130)
    )
    first, second = lines(75)
    assert "; a_st" in first and "long_name" in first and ".." in first
    assert "; a_st" not in second and "0x20(%rdi),%rax" in second


def test_a_line_has_what_its_code_accesses_most_often() -> None:
    more = row(
        "same", {one: On(A + 44, "nop", 5, 10, accesses=[CANARY]) for one in ("base", "new")}
    )
    shown = replace(example(), rows=[*example().rows, more])
    code = [line.partition("line ")[2] for line in text(shown, by="line") if "line 1" in line]
    assert [re.split(r" +; ", line) for line in code] == [
        ["10", "stack canary, page.mapping | lru.next, vma.flags"],
        # Of the others nothing is known, or the code says it.
        ["11", "end"],
        ["12", "vma.flags / vma.flags.bits"],
        ["13: x = get(y);", "ops.get, vma.flags, user memory"],
        ["14"],
    ]
    many = [access(type="t", field=name) for name in "abcde"]
    rows = [
        row("same", {"a": On(A, "nop", 9 - n, 7, accesses=[one])}) for n, one in enumerate(many)
    ]
    (line,) = (one for one in text(annotation(["a"], rows), by="line") if "line 7" in one)
    assert line.endswith("; t.a, t.b, t.c and 2 more")


_names = st.text(min_size=1, max_size=60)


@given(st.lists(_names, min_size=1, max_size=6), st.integers(60, 170), st.booleans())
def test_lines_fit_and_show_no_control_characters(
    names: list[str], width: int, ascii_only: bool
) -> None:
    rows = [
        row(
            "same",
            {
                "base": On(A + 4 * n, f"mov    {'%rax,' * n}%rbx", 5, 3, accesses=[one]),
                "new": On(B + 4 * n, "mov    %rax,%rbx", 5, 3, accesses=[one, LOCAL]),
            },
        )
        for n, one in enumerate(access(type=name, field=name) for name in names)
    ]
    shown = annotation(["base", "new"], rows)
    for by in ("instruction", "line"):
        for line in text(shown, width, ascii_only=ascii_only, by=by):
            assert units.width(line) <= width and units.printable(line) == line
            assert line.isascii() or not ascii_only


def test_several_accesses_have_one_name_each() -> None:
    assert title([FLAGS, replace(FLAGS, store=True), PUSH, CANARY]) == "vma.flags, stack canary"
    assert title([]) == title([PUSH, SLOT]) == ""
    array = access("variable", type="long", symbol="table", field="[]")
    assert title([array]) == "table[]"
    assert title([access("pointed", type="long")]) == "(long *)"


LAYOUTS: dict[str, Layout] = {"vma": (128, {"flags": (32, 8)})}


def kernels() -> dict[str, list[Site]]:
    """Two instructions that access one field, one that loads and stores, and what is hidden."""
    flags = Site("flags", 560, "work", type="vma", offset=32)
    return {
        "base": [
            flags,
            flags._replace(count=7),
            Site("x", 5, "work", does=BOTH),
            Site("x", 3, "other"),
        ],
        "new": [flags._replace(count=900), Site("x", 4, "work").hidden(), Site("x", 3, "other")],
    }


def summed(folder: Path, function: str) -> Counter[tuple[str, ...]]:
    """From an annotation: how often a function accesses each thing on each kernel."""
    found: Counter[tuple[str, ...]] = Counter()
    for one in json.loads(profdiff("annotate", folder, function, "--json", "-").stdout)["rows"]:
        for label, accesses in one["accesses"].items():
            for own in accesses:
                name = tuple(own[part] for part in ("kind", "symbol", "field", "reason"))
                for does in (LOAD, STORE):
                    if own[does]:
                        found[(label, does, *name)] += one["count"][label]
    return +found


def reported(folder: Path, function: str) -> Counter[tuple[str, ...]]:
    """The same of the report of types."""
    found: Counter[tuple[str, ...]] = Counter()
    document = json.loads(profdiff("report", folder, "--types", "--json", "-").stdout)
    known = {table["name"]: rows(table) for table in tables(document, "types")}
    for group in ("data", "stack", "unresolved"):
        for part in known[f"types-{group}-functions"]:
            one = known[f"types-{group}"][part["row"]]
            if part["function"] == function and not one.get("also") and not one.get("alternatives"):
                what = (one.get("kind", group), one.get("symbol", ""), one.get("field", ""))
                for label, count in part["count"].items():
                    found[(label, part["access"], *what, one.get("reason", ""))] += count
    return +found


def test_the_counts_are_those_of_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "made.profdiff"
    session(folder, kernels(), LAYOUTS)
    for function in ("work", "other"):
        assert summed(folder, function) == reported(folder, function) != Counter()
    flags = ("load", "field", "", "flags", "")
    assert summed(folder, "work")["base", *flags] == 567


@pytest.mark.guest
def test_the_counts_of_a_recorded_session_are_those_of_the_report(recorded: Path) -> None:
    for function in ("change_pte_range", "do_mprotect_pkey"):
        mine, whole = summed(recorded, function), reported(recorded, function)
        assert whole
        assert {key: mine[key] for key in whole} == whole
