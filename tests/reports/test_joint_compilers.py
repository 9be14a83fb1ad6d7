"""Reports of several compilers: under which of them a function changed, in every form."""

import csv
import io
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from extent import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import ROOT, error_line, profdiff
from synthetic import compare, frame
from synthetic_joint import by_compiler, joint

from profdiff.evidence.parts import PartsFindings
from profdiff.mail import parts as mail
from profdiff.mail.content import MailOptions
from profdiff.profile.function_identity import match
from profdiff.reports import charts, documents
from profdiff.reports import csv as reports_csv
from profdiff.reports.page import parts as parts_page
from profdiff.reports.page import points
from profdiff.reports.text.parts import render
from profdiff.session import manifest as m
from profdiff.session.held import COMPILER
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts.claim import function_sentences
from profdiff.views.parts.functions import extents, parts_functions, verdicts

NAMES = ["gcc-12", "gcc-14", "clang-19"]
EXPECTED = {
    "change_pte_range": ("all", NAMES),
    "commit": ("all", NAMES),
    "flush": ("one", NAMES[:1]),
    "walk": ("opposed", NAMES[:2]),
    "note": ("some", NAMES[:2]),
    "same": ("none", []),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two kernels at two points under three compilers."""
    return Path(joint(tmp_path_factory.mktemp("joint") / "S", kind=COMPILER).folder)


@pytest.fixture(scope="module")
def findings(folder: Path) -> PartsFindings:
    """Of that recording."""
    return PartsFindings.of(Parts.open(folder))


def test_each_function_has_its_verdict(findings: PartsFindings) -> None:
    found = parts_functions(findings, Selection())
    assert found is not None
    told = {one.name: (v.extent, v.under) for one in found.rows for v in [one.verdicts["new"]]}
    assert told == EXPECTED
    (of_new,) = found.extents
    assert of_new.functions == {"all": 2, "some": 1, "one": 1, "opposed": 1}
    # Of 195 differences under gcc-12, 170 are of the two functions.
    assert of_new.shares["gcc-12"]["all"] == pytest.approx(170 / 195)
    assert of_new.shares["clang-19"] == {
        "all": 1.0,
        **dict.fromkeys(["some", "one", "opposed", "none"], 0.0),
    }


def test_the_sentences(findings: PartsFindings) -> None:
    found = parts_functions(findings, Selection())
    assert found is not None
    assert function_sentences(found) == [
        "Under all compilers: commit and change_pte_range (of what differs: 87.2% under gcc-12, "
        "96.8% under gcc-14, 100.0% under clang-19).",
        "Only or mostly under one compiler, so that compiler's code and not the algorithm: flush "
        "(gcc-12; hardly under gcc-14) (of what differs: 11.3% under gcc-12, 0.6% under gcc-14, "
        "0.0% under clang-19).",
        "Only or mostly under some compilers: note (gcc-12, gcc-14) (of what differs: 0.5% under "
        "gcc-12, 0.6% under gcc-14, 0.0% under clang-19).",
        "More under some compilers and less under others: walk (of what differs: 1.0% under "
        "gcc-12, 1.9% under gcc-14, 0.0% under clang-19).",
    ]
    # Functions that are not shown are counted.
    one = parts_functions(findings, Selection(top=1))
    assert one is not None
    assert function_sentences(one)[:2] == [
        "Under all compilers: commit and 1 more (of what differs: 87.2% under gcc-12, 96.8% under "
        "gcc-14, 100.0% under clang-19).",
        "Only or mostly under one compiler, so that compiler's code and not the algorithm: 1 "
        "function (of what differs: 11.3% under gcc-12, 0.6% under gcc-14, 0.0% under clang-19).",
    ]


COUNTS = st.integers(0, 10**5)
FUNCTIONS = ("f", "g", "h")


@st.composite
def parts(draw: st.DrawFn) -> dict[str, dict[str, dict[str, int]]]:
    """By compiler and label, the counts of functions; some functions are not there at all."""
    made = {}
    for name in NAMES[: draw(st.integers(2, 3))]:
        some = draw(st.lists(st.sampled_from(FUNCTIONS), min_size=1, unique=True))
        made[name] = {
            label: {"main": draw(st.integers(1, 10**6)), **{one: draw(COUNTS) for one in some}}
            for label in ("base", "new")
        }
    return made


def expected(made: Mapping[str, Mapping[str, Mapping[str, int]]], function: str) -> str:
    """The extent, by the rule as the documentation has it, in fractions."""
    signed = []
    for one in made.values():
        delta = one["new"].get(function, 0) - one["base"].get(function, 0)
        signed.append(Fraction(delta, sum(one["base"].values())))
    largest = max(map(abs, signed))
    assume(all(10 * abs(one) != largest for one in signed))
    there = [one for one in signed if one and 10 * abs(one) > largest]
    if {one > 0 for one in there} == {True, False}:
        return "opposed"
    if not there:
        return "none"
    if len(there) == len(signed):
        return "all"
    without = [one for one in made.values() if all(function not in own for own in one.values())]
    if len(there) + len(without) == len(signed):
        return "elsewhere"
    return "one" if len(there) == 1 else "some"


@settings(max_examples=examples(60))
@given(parts())
def test_the_rule(made: dict[str, dict[str, dict[str, int]]]) -> None:
    compared = {
        name: compare(
            {
                label: [([frame(one)], one, True, [count]) for one, count in counts.items()]
                for label, counts in kernels.items()
            }
        )
        for name, kernels in made.items()
    }
    matched = match([one.functions for one in compared.values()])
    own = {}
    for name, numbers in zip(compared, matched.numbers, strict=True):
        own[name] = np.full(len(matched.functions), -1, np.int64)
        own[name][numbers] = np.arange(len(numbers))
    told = verdicts(compared, own, "new")
    for function, one in zip(matched.functions, told, strict=True):
        assert one.extent == expected(made, function.name), function.name
        # Each that differs is under or hardly there; no other is.
        differs = {
            name
            for name, own_counts in made.items()
            if own_counts["base"].get(function.name, 0) != own_counts["new"].get(function.name, 0)
        }
        assert {*one.under, *one.hardly} == differs
        assert not set(one.under) & set(one.hardly)
    # Neither order nor scale of one part decides.
    turned = dict(reversed(compared.items()))
    assert [one.extent for one in verdicts(turned, own, "new")] == [one.extent for one in told]
    of_new = extents(compared, own, "new", told, [*made, "none"])
    assert of_new.unmeasured == ["none"]
    for name, shares in of_new.shares.items():
        changed = made[name]["base"] != made[name]["new"]
        assert sum(shares.values()) == pytest.approx(1.0 if changed else 0.0)
    assert sum(of_new.functions.values()) == sum(one.extent != "none" for one in told)


def test_a_function_that_others_have_no_code_of_is_no_ones(tmp_path: Path) -> None:
    """Under clang-19, ``flush`` was merged into its callers."""
    kernels = by_compiler()
    merged = {
        label: [row for row in rows if row[1] != "flush"]
        for label, rows in kernels["clang-19"].items()
    }
    made = joint(tmp_path / "S", {"gcc-12": kernels["gcc-12"], "clang-19": merged}, kind=COMPILER)
    found = parts_functions(PartsFindings.of(Parts.open(made.folder)), Selection())
    assert found is not None
    (flush,) = [one.verdicts["new"] for one in found.rows if one.name == "flush"]
    assert (flush.extent, flush.under) == ("elsewhere", ["gcc-12"])
    assert flush.told == "gcc-12, else no code"
    assert any(
        text.startswith("No code under the other compilers, ") and "flush (gcc-12)" in text
        for text in function_sentences(found)
    )


def test_one_compiler_alone_has_no_verdict(tmp_path: Path) -> None:
    made = joint(tmp_path / "S", kind=COMPILER)
    for name in NAMES[1:]:
        (made.part(name) / "manifest.json").unlink()
    found = PartsFindings.of(Parts.open(made.folder))
    told = parts_functions(found, Selection())
    assert told is not None
    assert told.extents == []
    assert not any(one.verdicts for one in told.rows)
    text = render(found, Selection(), width=100)
    assert text.startswith("The change under one compiler alone")
    assert "changed under" not in text
    assert "gcc-14: not recorded yet" in text


def test_what_was_not_measured_is_named(tmp_path: Path) -> None:
    """Under clang-19, the kernel does not build."""
    made = joint(tmp_path / "S", kind=COMPILER)
    session = Session.open(made.part("clang-19"))
    base, new = session.manifest.kernels
    hole = m.Kernel(label=new.label, spec="git:x@new", hole="mm/x.c:1: error")
    runs = [run for run in session.manifest.runs if run.kernel == "base"]
    session.save(m.replace(session.manifest, kernels=[base, hole], runs=runs))
    found = PartsFindings.of(Parts.open(made.folder))
    functions = parts_functions(found, Selection())
    assert functions is not None
    assert [one.unmeasured for one in functions.extents] == [["clang-19"]]
    text = " ".join(render(found, Selection(), width=120).split())
    assert "Under all measured compilers: " in text
    assert "Not measured under clang-19." in text
    assert "Under all compilers" not in text
    assert "(not clang-19)" in text
    assert "clang-19: new: not built: mm/x.c:1: error" in text


def test_architectures_have_no_verdicts(tmp_path: Path) -> None:
    found = PartsFindings.of(joint(tmp_path / "S"))
    told = parts_functions(found, Selection())
    assert told is not None
    assert told.extents == []
    assert "changed under" not in render(found, Selection(), width=200)


def test_the_text(findings: PartsFindings) -> None:
    text = render(findings, Selection(top=20), width=140)
    lines = text.splitlines()
    assert lines[0].startswith(
        "The same change: +86.7% under gcc-12, +69.0% under gcc-14, +67.8% under clang-19"
    )
    cells = {line.split()[-1]: line for line in lines if len(line.split()) > 9}
    assert "  mostly gcc-12  flush" in cells["flush"]
    assert "  gcc-12, gcc-14  note" in cells["note"]
    assert cells["change_pte_range"].split()[-2] == "all"
    assert cells["walk"].split()[-2] == "opposed"
    assert "architecture" not in text
    folder = findings.recording.folder
    assert f"  profdiff report {folder}/clang-19" in lines
    assert max(map(len, render(findings, Selection(), width=75).splitlines())) <= max(
        75, len(f"  profdiff report {folder}/clang-19")
    )


def test_json_and_csv_say_the_same(findings: PartsFindings) -> None:
    data = json.loads(documents.encode(documents.joint_document(findings)))
    jsonschema.validate(data, json.loads((ROOT / "profdiff/joint-report.schema.json").read_text()))
    assert (data["kind"], data["names"]) == ("compiler", NAMES)
    by_json = {
        row["name"]: (row["verdicts"]["new"]["extent"], row["verdicts"]["new"]["under"])
        for row in data["functions"]["rows"]
    }
    table = list(csv.DictReader(io.StringIO(reports_csv.parts_functions(findings, Selection()))))
    by_csv = {row["name"]: (row["extent new"], row["under new"].split()) for row in table}
    assert by_json == by_csv == EXPECTED
    experiment = csv.DictReader(io.StringIO(reports_csv.parts_experiment(findings)))
    assert {row["compiler"] for row in experiment} == set(NAMES)


def test_the_page_and_the_charts(findings: PartsFindings, tmp_path: Path) -> None:
    made = parts_page.joint(findings)
    assert made.where == "under gcc-12, gcc-14, clang-19"
    assert any(text.startswith("Only or mostly under one compiler") for text in made.sentences)
    table = made.tables[-1]
    assert table.header[0] == "function"
    assert table.header[-1] == "changed under"
    assert {row[0]: row[-1] for row in table.rows}["flush"] == "mostly gcc-12"
    part = findings.parts["clang-19"]
    small, large = points.part_points(
        part, documents.session_document(part), [], COMPILER, "clang-19", own=False
    )
    assert small.at == "compiler=clang-19,folio_kib=4"
    assert large.title == "clang-19, folio_kib 64"
    assert small.command == "profdiff report SESSION/clang-19 --at folio_kib=4 --html"
    charts.write_parts(findings, tmp_path)
    assert (tmp_path / "compilers-instructions.svg").is_file()


def test_the_mail(findings: PartsFindings) -> None:
    letter = mail.letter(findings, MailOptions(command=["profdiff", "mail"]))
    assert letter.subject.startswith("mm/x: work: instructions per op +86.7% under gcc-12")
    text = " ".join(letter.render().split())
    assert (
        "so that compiler's code and not the algorithm: flush (gcc-12; hardly under gcc-14)" in text
    )
    assert max(map(len, letter.render().splitlines())) <= 75
    assert "architecture" not in text.replace("profdiff --arch", "")


def test_check_names_the_compiler(folder: Path) -> None:
    condition = ("--fail-if", "instructions:flush > +10%", "--at", "folio_kib=4")
    said = profdiff("check", folder, *condition, status=1).stdout.splitlines()
    assert [line for line in said if line.startswith("  new")] == [
        "  new under gcc-12 at folio_kib 4: +55.00%, 40.00 to 62.00 per op",
        "  new under gcc-14 at folio_kib 4: +2.50%, 40.00 to 41.00 per op",
        "  new under clang-19 at folio_kib 4: +0.00%, 38.00 to 38.00 per op",
    ]


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["report"], 2),
        (["annotate", "flush"], 2),
        (["check", "--fail-if", "instructions > +1%"], 125),
    ],
)
def test_nothing_recorded_names_compilers(tmp_path: Path, command: list[str], status: int) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"], COMPILER)
    name, *more = command
    said = error_line(profdiff(name, made.folder, *more, status=status))
    assert "recorded yet: finish the recording" in said
    assert "architecture" not in said


def test_what_is_of_one_compiler_is_refused(folder: Path) -> None:
    for command in (["report", folder, "--svg", "-"], ["mail", folder, "--repo", "."]):
        said = error_line(profdiff(*command, status=2))
        assert "works only on a session: " in said
        assert str(folder / "clang-19") in said
