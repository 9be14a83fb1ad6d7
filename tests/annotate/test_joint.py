"""``profdiff annotate`` of several parts: source lines beside each other."""

import json
import re
from collections.abc import Mapping

import jsonschema
import pytest
from extent import examples
from goldens import check_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT
from synthetic_annotation import On, annotation, row

from profdiff.base import units
from profdiff.reports.annotation.parts_text import render
from profdiff.reports.documents import encode
from profdiff.reports.form import Layout, ReportOptions
from profdiff.views.annotation.records import Annotation
from profdiff.views.parts.annotation import JointAnnotation, parts_annotation, parts_lines, schema

FILE = ROOT / "profdiff/joint-annotation.schema.json"
NAMES = ["gcc-12", "clang-19"]
TEXTS = {10: "if (pte_none(pte))", 11: "continue;", 12: "commit(pte);", 20: "batch(pte);"}


def lines(*code: tuple[Mapping[str, int], Mapping[str, int]], file: str = "mm/x.c") -> Annotation:
    """The annotation of instructions, of each its line and count by label."""
    rows = [
        row(
            "same" if len(line) == 2 else "only",
            {label: On(16 * n, "nop", counted[label], line[label]) for label in line},
            file=file,
        )
        for n, (line, counted) in enumerate(code)
    ]
    return annotation(["base", "new"], rows, texts=TEXTS)


def both() -> JointAnnotation:
    """gcc has code of four lines; clang merged the second, and has the third on both kernels."""
    made = {
        "gcc-12": lines(
            ({"base": 10, "new": 10}, {"base": 100, "new": 100}),
            ({"base": 11, "new": 11}, {"base": 40, "new": 50}),
            ({"base": 12}, {"base": 300}),
            ({"new": 20}, {"new": 500}),
        ),
        "clang-19": lines(
            ({"base": 10, "new": 10}, {"base": 90, "new": 95}),
            ({"base": 12, "new": 13}, {"base": 280, "new": 10}),
            ({"new": 20}, {"new": 450}),
        ),
    }
    return parts_annotation("compiler", NAMES, made, {})


def test_lines_of_one_kernel_are_one_row() -> None:
    found = {one.line: one for one in both().lines}
    assert list(found) == [10, 11, 12, 20]
    assert found[10].parts == {
        "gcc-12": {"base": 100, "new": 100},
        "clang-19": {"base": 90, "new": 95},
    }
    assert found[11].parts["clang-19"] is None
    # gcc has code of it on the base alone; the line is the same one.
    assert found[12].lines == {"base": 12, "new": 13}
    assert found[12].parts == {"gcc-12": {"base": 300}, "clang-19": {"base": 280, "new": 10}}
    assert found[20].text == "batch(pte);"


def test_lines_that_parts_match_otherwise_stay_apart() -> None:
    """Without sources, lines of kernels are matched by their code, which compilers differ in."""
    one = lines(({"base": 10, "new": 11}, {"base": 1, "new": 1}))
    other = lines(({"base": 10, "new": 12}, {"base": 2, "new": 2}))
    found = parts_lines({"a": one, "b": other}, ["a", "b"])
    assert [line.lines for line in found] == [{"base": 10, "new": 11}, {"base": 10, "new": 12}]
    assert [line.parts["b"] for line in found] == [None, {"base": 2, "new": 2}]


def test_lines_of_other_files_are_others() -> None:
    code = ({"base": 10, "new": 10}, {"base": 1, "new": 1})
    made = {"a": lines(code), "b": lines(code, file="mm/y.c")}
    assert [one.file for one in parts_lines(made, ["a", "b"])] == ["mm/x.c", "mm/y.c"]


@st.composite
def annotations(draw: st.DrawFn) -> dict[str, Annotation]:
    made = {}
    for name in ["a", "b", "c"][: draw(st.integers(1, 3))]:
        code = []
        for number in draw(st.lists(st.integers(1, 6), unique=True, min_size=1)):
            on = draw(st.sampled_from([["base", "new"], ["base"], ["new"]]))
            shift = draw(st.integers(0, 1))
            line = {label: number + (shift if label == "new" else 0) for label in on}
            code.append((line, {label: draw(st.integers(0, 10**6)) for label in on}))
        # A line of a kernel is one line.
        seen: set[tuple[str, int]] = set()
        kept = []
        for line, counted in code:
            if not seen & set(line.items()):
                kept.append((line, counted))
                seen |= set(line.items())
        made[name] = lines(*kept)
    return made


@settings(max_examples=examples(80))
@given(annotations(), st.integers(60, 200))
def test_nothing_is_lost_and_all_of_it_fits(made: dict[str, Annotation], width: int) -> None:
    names = list(made)
    joint = parts_annotation("compiler", names, made, {})
    for name, one in made.items():
        counted = [line.parts[name] or {} for line in joint.lines]
        for label in one.labels:
            assert sum(line.get(label, 0) for line in counted) == one.self[label]
    for label in ("base", "new"):
        places = [(line.file, line.lines[label]) for line in joint.lines if label in line.lines]
        for name, one in made.items():
            own = [(line.file, line.lines[label]) for line in one.lines if label in line.lines]
            assert set(own) <= set(places), name
    for by in ("line", "instruction"):
        drawn = render(joint, ReportOptions(width=width, layout=Layout(by)))  # type: ignore[arg-type]
        assert all(units.width(line.text) <= width for line in drawn)
        shown = ReportOptions(width=width, ascii_only=True, layout=Layout(by))  # type: ignore[arg-type]
        ascii_only = render(joint, shown)
        assert all(line.text.isascii() for line in ascii_only)


def test_the_text_by_line() -> None:
    text = [line.text for line in render(both(), ReportOptions(width=120, layout=Layout("line")))]
    assert text[0] == "f: instructions, compilers side by side"
    cells = {
        found[1]: line.split() for line in text if (found := re.search(r" line ([^:,]+)", line))
    }
    assert cells["10"][:5] == ["100", "100", "90", "95", "+5"]
    assert cells["11"][:4] == ["40", "50", "+10", "—"]
    assert cells["12/13"][:5] == ["300", "-300", "280", "10", "-270"]
    assert text[-1].startswith("counts: instructions; delta: instructions, relative to base under")
    (whole,) = [line.split() for line in text if line.endswith("  all")]
    assert whole == ["440", "650", "+210", "370", "555", "+185", "all"]


def test_the_text_by_instruction_follows_compiler_by_compiler() -> None:
    joint = both()
    drawn = [line.text for line in render(joint, ReportOptions(width=100))]
    assert [line for line in drawn if line.startswith("under ")] == [
        "under gcc-12:",
        "under clang-19:",
    ]


def test_what_is_missing_is_said() -> None:
    made = {"gcc-12": both().parts["gcc-12"]}
    why = {"clang-19": "nothing executes f"}
    joint = parts_annotation("compiler", NAMES, made, why)
    for by in ("line", "instruction"):
        drawn = [line.text for line in render(joint, ReportOptions(width=100, layout=Layout(by)))]  # type: ignore[arg-type]
        assert "clang-19: nothing executes f" in drawn
    assert all(line.parts["clang-19"] is None for line in joint.lines)


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(FILE, schema(), "annotate")


def test_a_document_is_valid_and_a_wrong_one_is_not() -> None:
    known = json.loads(FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(known)
    data = json.loads(encode(both()))
    jsonschema.validate(data, known)
    data["kind"] = "colour"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, known)


def test_its_fields_are_documented() -> None:
    text = (ROOT / "docs/annotate.md").read_text().partition("profdiff.joint-annotation/1`\n")[2]
    for field in schema()["$defs"]["JointAnnotation"]["properties"]:
        assert f"`{field}" in text, field
