"""Reports of several architectures: each number is that of the part's own report, and nothing of
two architectures is ever one number."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from extent import examples
from goldens import check_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, error_line, profdiff, unclaimed
from synthetic import Row, frame
from synthetic_experiment import ICOUNT, recorded
from synthetic_joint import POINTS, example, joint, part

from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.evidence.parts import PartsFindings, PartsResults
from profdiff.evidence.results import Results
from profdiff.forms.numbers import Numbers
from profdiff.reports import csv as reports_csv
from profdiff.reports import documents
from profdiff.reports.text import parts as text_parts
from profdiff.session import manifest as m
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts import results as parts_results
from profdiff.views.parts.claim import parts_claim
from profdiff.views.parts.functions import JointFunction, PartRest, parts_functions
from profdiff.views.parts.results import JointChange, JointTable, PartChange, changes, grids
from profdiff.views.results import experiment
from profdiff.views.results.result import ABSENT

NAMES = ("x86_64", "arm64")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two kernels at two points on two architectures."""
    return Path(joint(tmp_path_factory.mktemp("joint") / "S").folder)


@pytest.fixture(scope="module")
def findings(folder: Path) -> PartsFindings:
    """Of that recording."""
    return PartsFindings.of(Parts.open(folder))


def text(findings: PartsFindings, width: int = 100, **options: Any) -> str:
    """The report."""
    return text_parts.render(findings, Selection(top=20), width=width, **options)


def test_the_claim_and_the_trade_off(findings: PartsFindings) -> None:
    claim = parts_claim(findings.results, findings.setting, NAMES)
    assert claim is not None
    assert claim.sentence == (
        "The same change: +97.0% on x86_64, +33.0% on arm64 (instructions per op, new against base "
        "at folio_kib 4)."
    )
    assert claim.over == (
        "Over all points: more at folio_kib 4 (+97.0% on x86_64, +33.0% on arm64); less at "
        "folio_kib 64 (-16.7% on x86_64, -58.9% on arm64)."
    )


def test_the_table_is_what_the_issue_asks_for(findings: PartsFindings) -> None:
    lines = text(findings).splitlines()
    (group,) = [line for line in lines if "x86_64 -" in line and "arm64 -" in line][:1]
    (small,) = [line for line in lines if line.startswith("4 ")]
    (large,) = [line for line in lines if line.startswith("64 ")]
    assert small.split("  ")[0] == "4"
    assert " ".join(small.split()) == "4 198 -> 390 +97.0% exact 203 -> 270 +33.0% exact"
    assert " ".join(large.split()) == "64 198 -> 165 -16.7% exact 285 -> 117 -58.9% exact"
    # Each architecture's columns stand below its name.
    middle = group.index("arm64")
    assert small.index("198 -> 390") < group.index("x86_64") + 6 < small.index("203 -> 270")
    assert small.index("203 -> 270") < middle < len(small)


Boots = Mapping[str, Mapping[str, Sequence[Sequence[Sequence[float]]]]]
_VALUE = st.integers(1, 10**6).map(float)


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, m.Manifest]:
    """Sessions of the same kernels; each architecture has some of the points, and its own number
    of boots."""
    labels = draw(st.sampled_from([["base", "new"], ["base", "middle", "new"]]))
    every = [m.Point({"n": str(n), "way": way}, 1, 10) for n in (1, 2) for way in "ab"]
    made = {}
    for name in draw(st.sampled_from([NAMES, NAMES[::-1], NAMES[:1]])):
        points = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique_by=id))
        boots = draw(st.integers(1, 3))
        values = {
            label: [[[draw(_VALUE)] for _ in range(boots)] for _ in points] for label in labels
        }
        made[name] = recorded(
            values,
            points=points,
            collector="exact",
            is_total=True,
            qemu=ICOUNT,
            name="instructions",
            unit="instructions",
        )
    return made


@settings(max_examples=examples(60))
@given(experiments())
def test_each_number_is_that_of_the_parts_own_report(made: dict[str, m.Manifest]) -> None:
    parts = {name: Results.gather(one) for name, one in made.items()}
    both = PartsResults.of(parts)
    names = ["arm64", "x86_64"]
    several = len(both.labels) > 2
    cells: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for grid in grids(both, both.choose(None), names):
        table = grid.table
        assert len({len(row) for row in [table.header, table.groups, *table.rows]}) == 1
        for row in table.rows:
            point = tuple(row[: len(both.swept)])
            label = row[len(both.swept)] if several and both.swept else both.labels[1]
            label = row[table.names - 1] if several else label
            for name in names:
                own = [cell for cell, of in zip(row, table.groups, strict=True) if of == name]
                cells[name, point, label] = own
    told = {
        (one.kernel, tuple(one.parameters.items()), name): found
        for one in changes(both, names)
        for name, found in one.parts.items()
    }
    seen = 0
    for name, results in parts.items():
        for result in results.every:
            point = tuple(result.setting.value(one) for one in both.swept)
            for label, cell, change in list(
                zip(results.labels, result.cells, result.changes, strict=True)
            )[1:]:
                assert change is not None
                base = str(experiment.Median.of(result.cells[0]))
                other = str(experiment.Median.of(cell))
                delta = str(experiment.result.delta(change))
                verdict = str(experiment.result.judged(change))
                assert cells[name, point, label] == [f"{base} -> {other}", delta, verdict]
                record = told[label, tuple(result.setting.parameters.items()), name]
                assert record is not None
                assert (record.base, record.other) == change.medians
                assert record.change == experiment.changed(change)
                seen += 1
    # What no architecture measured is no number.
    assert seen == sum(ABSENT not in own for own in cells.values())
    assert all(set(own) == {ABSENT} for own in cells.values() if ABSENT in own)
    claim = parts_claim(both, both.choose(None), names)
    assert claim is not None
    absent = [name for name in names if name not in both.choose(None).parts]
    assert all(f"no result on {name}" in claim.sentence for name in absent)


@pytest.mark.parametrize(
    ("x86", "arm", "lead"),
    [
        ((100, 150), (100, 130), "The same change: +50.0% on x86_64, +30.0% on arm64"),
        (
            (100, 150),
            (100, 80),
            "The same change, in different directions: +50.0% on x86_64, -20.0% on arm64",
        ),
        (
            (100, 150),
            (100, 100),
            "A change on some architectures, none on others: +50.0% on x86_64, unchanged on arm64",
        ),
        (
            (100, 100),
            (90, 90),
            "No change on any architecture: unchanged on x86_64, unchanged on arm64",
        ),
        ((100, 2000), (100, 50), "The same change, in different directions: 20 times on x86_64"),
    ],
)
def test_what_changes_have_in_common(x86: tuple[int, int], arm: tuple[int, int], lead: str) -> None:
    made = {
        name: recorded(
            {"base": [[[float(base)]]], "new": [[[float(other)]]]},
            collector="exact",
            is_total=True,
            qemu=ICOUNT,
            name="instructions",
            unit="instructions",
        )
        for name, (base, other) in (("x86_64", x86), ("arm64", arm))
    }
    both = PartsResults.of({name: Results.gather(one) for name, one in made.items()})
    claim = parts_claim(both, both.settings[0], NAMES)
    assert claim is not None
    assert claim.sentence.startswith(lead)
    assert claim.over == ""


@pytest.mark.parametrize(
    ("x86", "arm", "told"),
    [
        (("6.12.95+deb12-cloud-amd64", "7.3.4"), ("6.12.95+deb12-cloud-arm64", "7.3.4-x"), ""),
        (("6.1.0-50-cloud-amd64", "6.2"), ("6.1.0-50-cloud-arm64", "6.2-y"), ""),
        (("7.0.0-rc3-00012-gabc", "7.0.0-rc4"), ("7.0.0-rc3-00012-gabc", "7.0.0-rc4"), ""),
        (("6.1", None), ("6.1", "6.2"), ""),
        (("", "strange"), ("6.1", "other"), ""),
        (
            ("6.12.107-profdiff", "6.18.15-profdiff"),
            ("6.1.0-50-cloud-arm64", "6.18.15+deb13-arm64"),
            "Not the same kernels: base is 6.12.107 on x86_64 and 6.1.0-50 on arm64; "
            "new is 6.18.15 on x86_64 and 6.18.15+deb13 on arm64.",
        ),
        (
            ("7.0", "7.1.0-rc1-a"),
            ("7.0", "7.1.0-rc2-a"),
            "Not the same kernels: new is 7.1.0-rc1 on x86_64 and 7.1.0-rc2 on arm64.",
        ),
    ],
)
def test_a_label_of_different_versions_is_not_the_same_change(
    x86: tuple[str | None, ...], arm: tuple[str | None, ...], told: str
) -> None:
    made = {}
    for name, releases in (("x86_64", x86), ("arm64", arm)):
        described = recorded({"base": [[[100.0]]], "new": [[[150.0]]]}, qemu=ICOUNT)
        kernels = [
            msgspec.structs.replace(kernel, release=release)
            for kernel, release in zip(described.kernels, releases, strict=True)
        ]
        made[name] = Results.gather(msgspec.structs.replace(described, kernels=kernels))
    both = PartsResults.of(made)
    claim = parts_claim(both, both.settings[0], NAMES)
    assert claim is not None
    assert claim.unlike == told
    assert claim.sentences == [claim.sentence, *([told] if told else [])]
    assert ("same change" in claim.sentence) == (not told)


def test_what_is_not_certain_is_said() -> None:
    scattered = [[[100.0], [140.0], [90.0]]], [[[101.0], [93.0], [141.0]]]
    made = {
        "x86_64": recorded({"base": scattered[0], "new": scattered[1]}),
        "arm64": recorded({"base": [[[1.0]] * 3], "new": [[[2.0]] * 3]}),
    }
    both = PartsResults.of({name: Results.gather(one) for name, one in made.items()})
    claim = parts_claim(both, both.settings[0], NAMES)
    assert claim is not None
    assert claim.sentence.startswith("The same change, not certain on x86_64")
    assert "(unsure) on x86_64" in claim.sentence
    (grid,) = grids(both, both.settings[0], NAMES)
    # Where verdicts are no formality, no width leaves them out.
    lines = [line for block in text_parts.draw(grid, 60) for line in block.lines]
    assert any("verdict" in line for line in lines)
    assert any("unsure" in line for line in lines)


def test_functions_are_those_of_the_parts_own_reports(findings: PartsFindings) -> None:
    found = parts_functions(findings, Selection())
    assert found is not None
    for name, one in findings.parts.items():
        (comparison,) = one.comparisons
        own = {
            (function.name, function.object): comparison.self_[row].tolist()
            for row, function in enumerate(comparison.functions)
        }
        mine = {
            (row.name, row.object): list(counts.self.values())
            for row in found.rows
            if (counts := row.parts[name]) is not None
        }
        assert mine == own
        rest = found.rest[name]
        assert list(rest.totals.values()) == comparison.totals().tolist()
    only = {row.name: [name for name, one in row.parts.items() if one] for row in found.rows}
    assert only["flush"] == ["x86_64"]
    assert only["contpte"] == ["arm64"]
    assert only["change_pte_range"] == list(NAMES)


def test_rows_add_up_on_each_architecture(findings: PartsFindings) -> None:
    for top in range(6):
        found = parts_functions(findings, Selection(top=top))
        assert found is not None
        assert len(found.rows) == min(top, 5)
        for name, rest in found.rest.items():
            for label, total in rest.totals.items():
                shown = sum(row.parts[name].self[label] for row in found.rows if row.parts[name])  # type: ignore[union-attr]
                unresolved = sum(one.self[label] for one in rest.unresolved)
                assert shown + rest.hidden[label] + unresolved == total


def test_rows_stand_in_each_architectures_own_order(findings: PartsFindings) -> None:
    found = parts_functions(findings, Selection())
    assert found is not None
    names = [row.name for row in found.rows]
    # x86-64: prot_commit 120, change 50, flush 22; arm64: prot_commit 70, contpte 23, change 20.
    assert names[0] == "prot_commit_flush_ptes"
    assert set(names[1:3]) == {"change_pte_range", "contpte"}
    assert names[3:] == ["flush", "main"]


def test_what_an_architecture_does_not_have_is_no_zero(findings: PartsFindings) -> None:
    lines = text(findings).splitlines()
    (flush,) = [line for line in lines if line.endswith("  flush")]
    assert flush.split() == ["+22.00", "+55.0%", "11.5%", ABSENT, ABSENT, ABSENT, "flush"]
    (main,) = [line for line in lines if line.endswith("main (work)")]
    assert main.split()[:6] == ["0", "0%", "0.0%", "0", "0%", "0.0%"]
    rows = list(csv.DictReader(io.StringIO(reports_csv.parts_functions(findings, Selection()))))
    (row,) = [row for row in rows if row["name"] == "flush"]
    assert row["self arm64 base"] == row["delta arm64 new"] == ""
    assert (row["self x86_64 base"], row["delta x86_64 new"]) == ("40000", "22000")


@pytest.mark.parametrize("width", [60, 75, 100, 140])
def test_it_fits(findings: PartsFindings, width: int) -> None:
    for options in ({}, {"ratios": True}, {"per_op": False}):
        lines = text(findings, width, **options).splitlines()
        table = [line for line in lines if not line.startswith("  profdiff report ")]
        assert max(map(units.width, table)) <= width
    assert units.ascii_only(text(findings)).isascii()


def test_numbers_of_the_text_are_whole_counts_if_asked(findings: PartsFindings) -> None:
    lines = text(findings, per_op=False).splitlines()
    (flush,) = [line for line in lines if line.endswith("  flush")]
    assert flush.split()[0] == Numbers().delta(22_000) == "+22,000"


def test_kernels_beside_the_base_are_rows(tmp_path: Path) -> None:
    parts = {name: {**kernels, "newest": kernels["base"]} for name, kernels in example().items()}
    both = PartsFindings.of(joint(tmp_path / "S", parts))
    (grid,) = grids(both.results, both.setting, NAMES)
    table = grid.table
    assert table.header[:2] == ["folio_kib", "kernel"]
    assert [row[:2] for row in table.rows] == [
        ["4", "new"],
        ["4", "newest"],
        ["64", "new"],
        ["64", "newest"],
    ]
    assert table.rows[1][2:] == ["198 -> 198", "0%", "exact", "203 -> 203", "0%", "exact"]


def test_a_kernel_alone_has_values_and_no_change(tmp_path: Path) -> None:
    parts = {name: {"base": kernels["base"]} for name, kernels in example().items()}
    both = PartsFindings.of(joint(tmp_path / "S", parts))
    (grid,) = grids(both.results, both.setting, NAMES)
    assert grid.table.header == ["folio_kib", "value", "value"]
    assert grid.table.rows == [["4", "198", "203"], ["64", "198", "285"]]
    assert text(both).startswith("workload: ./work 1 (1,000 ops")
    assert "\nx86_64: base (6.0.0" in text(both)
    assert "minus" not in text(both)
    json.loads(documents.encode(documents.joint_document(both)))


def test_namesakes_are_told_apart_by_their_files(tmp_path: Path) -> None:
    def rows(*files: str) -> dict[str, list[Row]]:
        made: list[Row] = [
            ([frame("flush", file=file)], "flush", True, (100 + n, 100))
            for n, file in enumerate(files)
        ]
        return {"base": made, "new": made}

    common, own = "mm/flush.c", ("arch/x86/flush.c", "arch/arm64/flush.c")
    parts = {"x86_64": rows(common, own[0]), "arm64": rows(common, own[1])}
    found = parts_functions(PartsFindings.of(joint(tmp_path / "S", parts)), Selection())
    assert found is not None
    by_file = {row.file: [name for name, one in row.parts.items() if one] for row in found.rows}
    assert by_file[common] == list(NAMES)
    assert all("flush.c" in row.title for row in found.rows)


def test_a_part_that_was_not_recorded_is_said(tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"])
    part(made.part("x86_64"), example()["x86_64"])
    both = PartsFindings.of(Parts.open(tmp_path / "S"))
    lines = text(both).splitlines()
    assert "arm64: not recorded yet" in lines
    assert any("no result on arm64" in line for line in lines)
    (small,) = [line for line in lines if line.startswith("4 ")]
    assert small.split()[-3:] == [ABSENT] * 3
    assert not any("report" in line and line.endswith("arm64") for line in lines)
    assert text_parts.summary(Parts.open(tmp_path / "S"), 100)[0].startswith("The change")


def test_a_part_without_a_point_is_said(tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"])
    kernels = example()
    part(made.part("x86_64"), kernels["x86_64"])
    part(made.part("arm64"), kernels["arm64"], POINTS[:1])
    opened = Parts.open(tmp_path / "S")
    at_large = PartsFindings.of(opened, "folio_kib=64")
    assert at_large.missing == {"arm64": "it does not have this point"}
    assert "arm64: it does not have this point" in text(at_large)
    assert PartsFindings.of(opened, "folio_kib=4").missing == {}


def test_nothing_recorded_is_one_line(tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"])
    assert text_parts.summary(made, 100) == []
    assert "finish the recording" in error_line(profdiff("report", made.folder, status=2))


def test_bases_that_differ_are_refused(tmp_path: Path) -> None:
    kernels = example()
    arm = dict(zip(("old", "new"), kernels["arm64"].values(), strict=True))
    made = joint(tmp_path / "S", {"x86_64": kernels["x86_64"], "arm64": arm})
    with pytest.raises(SessionError, match=r"different bases: base on x86_64, old on arm64"):
        PartsFindings.of(made)


def test_a_point_that_a_session_has_twice_is_refused(tmp_path: Path) -> None:
    made = joint(tmp_path / "S", points=[POINTS[0], POINTS[0]])
    said = error_line(profdiff("report", made.folder, status=2))
    assert "x86_64 has the same point twice" in said
    condition = ("--fail-if", "instructions > +1%")
    said = error_line(profdiff("check", made.part("arm64"), *condition, status=125))
    assert "the session has the same point twice" in said
    mixed = joint(tmp_path / "M")
    session = Session.open(mixed.part("arm64"))
    session.save(m.replace(session.manifest, points=[*POINTS, POINTS[1]]))
    with pytest.raises(SessionError, match="arm64 has the same point twice: folio_kib 64"):
        PartsFindings.of(mixed)


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/joint-report.schema.json", parts_results.schema(), "reports")


def test_the_document_is_valid_and_holds_the_parts(folder: Path, tmp_path: Path) -> None:
    schema = json.loads((ROOT / "profdiff/joint-report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    file, own = tmp_path / "joint.json", tmp_path / "own.json"
    assert profdiff("report", folder, "--json", file).stdout == ""
    data = json.loads(file.read_text())
    jsonschema.validate(data, schema)
    profdiff("report", folder / "arm64", "--at", "folio_kib=4", "--json", own)
    alone = json.loads(own.read_text())
    mine = data["parts"]["arm64"]
    for document_ in (alone, mine):
        del document_["report_command"]
    assert mine == alone
    assert data["commands"] == {
        name: f"profdiff report {folder / name}" for name in ("x86_64", "arm64")
    }


def test_the_summary_is_the_sentences_and_the_table(folder: Path) -> None:
    said = text_parts.summary(Parts.open(folder), 100)
    assert said[0].startswith("The same change: +97.0% on x86_64, +33.0% on arm64")
    assert any(line.startswith("64 ") for line in said)
    assert not any("change_pte_range" in line for line in said)


def test_the_command_prints_it(folder: Path) -> None:
    shown = profdiff("report", folder).stdout
    assert "The same change: +97.0% on x86_64" in shown
    at_large = profdiff("report", folder, "--at", "folio_kib=64", "--csv", "-").stdout
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(at_large))}
    assert rows["contpte"]["delta arm64 new"] == str(19_000 - 77_000)
    made = list(
        csv.DictReader(io.StringIO(profdiff("report", folder, "--csv-experiment", "-").stdout))
    )
    alone = profdiff("report", folder / "arm64", "--csv-experiment", "-").stdout
    mine = [dict(row) for row in made if row.pop("architecture") == "arm64"]
    assert mine == list(csv.DictReader(io.StringIO(alone)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--svg", "-"], "--svg works only on a session: "),
        (["--inventory"], "--inventory works only on a session"),
        (["--at", "folio_kib=5"], "--at folio_kib=5 matches no point; try folio_kib=4"),
        (["--json", "-", "--csv", "-"], "only one file can go to standard output"),
    ],
)
def test_errors_are_one_line(folder: Path, options: list[str], said: str) -> None:
    assert said in error_line(profdiff("report", folder, *options, status=2))


def test_a_report_per_op_needs_ops(tmp_path: Path) -> None:
    made = joint(tmp_path / "S", points=[m.Point({"folio_kib": "4"}, 1)])
    assert "--per-op: the number of ops is unknown" in error_line(
        profdiff("report", made.folder, "--per-op", status=2)
    )
    shown = profdiff("report", made.folder).stdout
    assert "198,000 -> 390,000" in shown


def test_a_damaged_part_is_said(tmp_path: Path) -> None:
    made = joint(tmp_path / "S")
    for file in (unclaimed(made.part("arm64")) / "runs").glob("*/counts"):
        file.write_bytes(b"PDCOUNTS")
    assert "is not a counts file" in PartsFindings.of(made).missing["arm64"]
    shown = profdiff("report", made.folder).stdout
    # What the manifest has is still there.
    assert "203 -> 270" in shown
    assert Session.open(made.part("arm64")).manifest.runs


def test_every_field_is_documented() -> None:
    written = (ROOT / "docs/report-data.md").read_text()
    section = written.partition("profdiff.joint-report/2`\nSchema")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name.strip(" `").removesuffix("[]") for row in rows for name in row.split(", ")]
    assert named == list(parts_results.JointDocument.__struct_fields__)
    for record in (JointChange, PartChange, JointTable, JointFunction, PartRest):
        assert all(f"`{name}" in section for name in record.__struct_fields__), record
