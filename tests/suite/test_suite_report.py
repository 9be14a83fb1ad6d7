"""The report of a suite: its rows are those of the sessions' own reports."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import jsonschema
import pytest
from extent import examples
from hypothesis import assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support import ROOT, error_line, profdiff
from synthetic import Row, frame
from synthetic_joint import POINTS, joint, part
from synthetic_suite import ABSENT, large_suite

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.evidence.suite import SuiteResults
from profdiff.reports import csv as reports_csv
from profdiff.reports import suite_document
from profdiff.reports.text.suite import render
from profdiff.reports.text.suite_rows import rows
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload, located
from profdiff.views.suite import SuiteCell, SuiteDocument, parsed
from profdiff.views.suite_making import reproduce

COMMAND = ["profdiff", "record", "--suite", "s", "--only", "m*", "-o", "S", "--kernel", "base=x"]


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, counts)


def _suite(folder: Path, workloads: Sequence[str] = ("mprotect", "getpid", "io", "later")) -> Suite:
    described = [
        SuiteWorkload(name=name, tags=["mm"] if name == "mprotect" else ["floor"], op="call")
        for name in workloads
    ]
    return Suite.create(folder, "s", COMMAND, described)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``mprotect`` costs twice as much at 4 KiB and a fifth less at 64, ``getpid`` 1% more;
    the new kernel lacks ``io``, and ``later`` was not recorded yet."""
    folder = tmp_path_factory.mktemp("suites") / "S"
    suite = _suite(folder)
    kernels = {
        "base": [_row("walk", 80_000, 90_000), _row("flush", 20_000, 10_000)],
        "new": [_row("walk", 80_000, 70_000), _row("commit", 120_000, 10_000)],
    }
    part(suite.part("mprotect"), kernels, POINTS)
    one = [m.Point({}, 1, 1000)]
    part(suite.part("getpid"), {"base": [_row("enter", 1000)], "new": [_row("enter", 1010)]}, one)
    session = part(suite.part("io"), {"base": [_row("ring", 10)], "new": [_row("ring", 10)]}, one)
    runs = [
        m.replace(run, failure=ABSENT, measured=[], files={}) if run.kernel == "new" else run
        for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=runs))
    return folder


@pytest.fixture(scope="module")
def document(folder: Path) -> SuiteDocument:
    """The report of it."""
    return suite_document.build(Suite.open(folder))


def _cell(document: SuiteDocument, name: str) -> SuiteCell:
    return next(cell for cell in document.cells if cell.name == name)


def test_the_sentence_says_how_many_cells_cost_more(document: SuiteDocument) -> None:
    assert document.sentence == (
        "6.1.0 against 6.0.0: 1 of 3 cells costs at least 5% more, 1 at least 5% less; the "
        "functions that make most of it over all cells: commit, enter"
    )
    (summary,) = document.summaries
    assert (summary.more, summary.less, summary.other, summary.not_there) == (1, 1, 1, 1)
    lacking, ticks = document.remarks
    assert lacking == "1 workload is not recorded yet: later"
    # An earlier version recorded mprotect/4 and mprotect/64.
    assert ticks.startswith("how many timer ticks came is not known of 2 cells that changed")
    assert document.banner == "Instructions, not time." and document.noise is None


def test_a_cell_says_what_it_costs_and_why(document: SuiteDocument) -> None:
    cell = _cell(document, "mprotect/4")
    assert cell.values == {"base": 100.0, "new": 200.0} and cell.per_op
    change = cell.changes["new"]
    assert (change.relative, change.delta, change.verdict) == (1.0, 100.0, "exact")
    assert change.relevant and not cell.missing
    assert [(one.name, one.delta, one.share) for one in cell.functions["new"]] == [
        ("commit", 120.0, 1.2)
    ]
    less = _cell(document, "mprotect/64").functions["new"]
    assert [(one.name, one.delta) for one in less] == [("walk", -20.0), ("flush", -10.0)]
    assert (cell.at, cell.session, cell.tags) == ("folio_kib=4", "mprotect", ["mm"])


def test_what_a_kernel_lacks_is_no_change(document: SuiteDocument) -> None:
    cell = _cell(document, "io")
    assert cell.values == {"base": 0.01, "new": None}
    assert not cell.changes and not cell.functions
    assert cell.missing["new"].kind == "not there"
    assert cell.missing["new"].why == "not there: io_uring_setup (ENOSYS)"
    assert not any(one.name == "ring" for one in document.functions)


def test_functions_are_added_up_over_cells(document: SuiteDocument) -> None:
    found = {one.name: one for one in document.functions}
    assert found["commit"].points["new"] == pytest.approx(120 + 10)
    assert found["walk"].points["new"] == pytest.approx(-20)
    assert found["flush"].points["new"] == pytest.approx(-20 - 10)
    assert found["enter"].points["new"] == pytest.approx(1)
    assert (found["commit"].up["new"], found["commit"].down["new"]) == (2, 0)
    assert (found["flush"].up["new"], found["flush"].down["new"]) == (0, 2)
    sizes = [abs(one.points["new"]) for one in document.functions]
    assert sizes == sorted(sizes, reverse=True)


def test_the_text_sorts_increases_before_decreases(document: SuiteDocument) -> None:
    text = render(document, "S", width=100, top=20)
    lines = text.splitlines()
    assert lines[0].startswith("6.1.0 against 6.0.0: 1 of 3 cells")
    more = next(n for n, line in enumerate(lines) if line.startswith("mprotect/4 "))
    less = next(n for n, line in enumerate(lines) if line.startswith("mprotect/64"))
    assert more < less and "+100.0%" in lines[more] and "-20.0%" in lines[less]
    assert "commit 120%" in lines[more] and "walk 100%" in lines[less]
    assert "1 cell changes by less than 5%" in lines
    assert "not there on new: io: io_uring_setup (ENOSYS)" in lines
    assert lines[-1] == "one cell:  profdiff report S --cell mprotect/4"
    assert all(len(line) <= 100 for line in lines)
    user = render(document, "S", width=100, top=20, side="user")
    assert "functions over all cells" in text
    assert "functions over all cells\n" not in user


def test_top_says_what_it_leaves_out(document: SuiteDocument) -> None:
    text = render(document, "S", width=100, top=0)
    assert "not shown: 1 that cost more, 1 that cost less (--top 1)" in text
    assert "\nmprotect/4 " not in text


def test_a_threshold_decides_what_is_relevant(folder: Path) -> None:
    asked = suite_document.build(Suite.open(folder), parsed("30%"))
    assert (asked.summaries[0].more, asked.summaries[0].less) == (1, 0)
    every = suite_document.build(Suite.open(folder), parsed("1"))
    assert every.summaries[0].more == 2
    for wrong in ("x", "-1%", "nan", "inf"):
        with pytest.raises(InputError, match="give a percentage"):
            parsed(wrong)


def test_csv_has_a_row_for_each_cell_and_kernel(document: SuiteDocument) -> None:
    read = list(csv.DictReader(io.StringIO(reports_csv.suite(document))))
    assert len(read) == len(document.cells) * 2
    for row in read:
        cell = _cell(document, row["cell"])
        value = cell.values[row["kernel"]]
        assert row["value"] == ("" if value is None else repr(value))
        assert (row["missing"] == "not there") == (value is None)
        change = cell.changes.get(row["kernel"])
        assert row["relative"] == (repr(change.relative) if change else "")


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    """Text, JSON by its schema, --cell as the session's own report, and filters."""
    assert "1 of 3 cells costs" in profdiff("report", folder).stdout
    profdiff("report", folder, "--json", tmp_path / "S.json")
    data = json.loads((tmp_path / "S.json").read_text())
    schema = json.loads((ROOT / "profdiff/suite-report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)
    own = profdiff("report", folder / "mprotect", "--at", "folio_kib=4").stdout
    assert profdiff("report", folder, "--cell", "mprotect/4").stdout == own
    assert profdiff("report", folder, "--cell", "getpid").stdout.startswith("new executes 1.010")
    only = profdiff("report", folder, "--only", "mprotect/*", "--tag", "mm").stdout
    assert "1 of 2 cells" in only and "getpid" not in only
    assert "walk" in profdiff("annotate", folder, "--cell", "mprotect/4", "walk").stdout
    said = error_line(profdiff("report", folder, "--cell", "mprotet/4", status=2))
    assert "no such cell; did you mean mprotect/4" in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["report", "--at", "folio_kib=4"], "is a suite: name one of its cells with --cell"),
        (["report", "--folded", "x"], "--folded works only on a session: "),
        (["report", "--sort", "total"], "--sort total works only on a session or "),
        (["report", "--absolute"], "--absolute works only on a session or a folder of parts: "),
        (["report", "--cell", "mprotect/4", "--at", "folio_kib=4"], "is one point already"),
        (
            ["report", "--cell", "mprotect/4", "--threshold", "2%"],
            "--threshold works only on a suite",
        ),
        (["report", "--only", "nothing*"], "no cell of"),
        (["blame"], "is a suite: name one of its cells with --cell (profdiff report "),
        (["mail"], "is a suite: name one of its cells with --cell (profdiff report "),
    ],
)
def test_what_is_of_one_cell_is_refused(folder: Path, words: list[str], expected: str) -> None:
    command, *options = words
    assert expected in error_line(profdiff(command, folder, *options, status=2))


def test_cell_of_what_is_no_suite_is_refused(folder: Path) -> None:
    said = error_line(profdiff("report", folder / "getpid", "--cell", "getpid", status=2))
    assert said == (
        f"--cell works only on a suite: {folder}/getpid is a session: --at names a point of a sweep"
    )
    assert located(Suite.open(folder), "mprotect") == (folder / "mprotect", None)


def test_check_judges_every_cell(folder: Path, tmp_path: Path) -> None:
    """What a kernel lacks is no change; a cell that never executes the function is passed over; of
    ``later``, which was not recorded yet, nobody knows."""
    junit = tmp_path / "junit.xml"
    words = ("check", folder, "--fail-if", "instructions > +5%", "--junit", junit)
    said = profdiff(*words, status=1).stdout
    assert "  new in mprotect/4: +100.00%, 100.00 to 200.00 per op" in said
    assert said.splitlines()[-1] == "2 of 4 pass" and " in io:" not in said
    cases = ElementTree.parse(junit).getroot().findall("testsuite/testcase")  # noqa: S314
    names = ["new in mprotect/4", "new in mprotect/64", "new in getpid", "new in later"]
    assert [case.get("classname") for case in cases] == names
    assert [case.find("failure") is not None for case in cases] == [True, False, False, False]
    assert [case.find("skipped") is not None for case in cases] == [False, False, False, True]
    words = ("check", folder, "--fail-if", "instructions:flush > +0")
    assert profdiff(*words, status=125).stdout.endswith("\n2 of 3 pass\n")
    missing = profdiff("check", folder, "--fail-if", "instructions:flash > +0", status=2)
    assert "did you mean 'flush'" in error_line(missing)
    own = profdiff("check", folder, "--cell", "getpid", "--fail-if", "instructions > +2%").stdout
    assert "new: +1.00%" in own


def test_check_knows_nothing_of_a_failed_run(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "S", ["a"])
    made = part(suite.part("a"), {"base": [_row("f", 9)], "new": [_row("f", 9)]}, [m.Point({}, 1)])
    failure = m.Failure("panic", "the kernel panicked")
    runs = [
        m.replace(one, failure=failure, measured=[]) if one.kernel == "new" else one
        for one in made.manifest.runs
    ]
    made.save(m.replace(made.manifest, runs=runs))
    words = ("check", suite.folder, "--fail-if", "instructions > +5%")
    assert "new in a: failed: the kernel panicked" in profdiff(*words, status=125).stdout


def test_parts_are_cells_of_their_own(tmp_path: Path) -> None:
    """Of a folder of several architectures: a cell for each, named behind an @."""
    suite = _suite(tmp_path / "S", ["mprotect"])
    joint(suite.part("mprotect"))
    document = suite_document.build(suite)
    assert [cell.name for cell in document.cells] == [
        "mprotect/4@x86_64",
        "mprotect/64@x86_64",
        "mprotect/4@arm64",
        "mprotect/64@arm64",
    ]
    cell = _cell(document, "mprotect/4@arm64")
    assert cell.part == "arm64" and cell.session == "mprotect/arm64"
    own = Results.gather(Session.open(tmp_path / "S/mprotect/arm64").manifest)
    assert cell.values["new"] == own.every[0].cells[1].medians[0]
    place, at = located(suite, "mprotect/4@arm64")
    assert (place, at) == (tmp_path / "S/mprotect/arm64", "folio_kib=4")
    assert located(suite, "mprotect/4") == (tmp_path / "S/mprotect", at)
    shown = profdiff("report", tmp_path / "S", "--cell", "mprotect/4").stdout
    assert "x86_64" in shown and "arm64" in shown


def test_a_twin_shows_whether_cells_differ_from_themselves(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "S", ["same", "other"])
    for name, twin in (("same", 1000), ("other", 1100)):
        rows = {"base": [_row("f", 1000)], "base.aa": [_row("f", twin)], "new": [_row("f", 2000)]}
        session = part(suite.part(name), rows, [m.Point({}, 1, 1000)])
        kernels = [
            m.replace(one, twin_of="base") if one.label == "base.aa" else one
            for one in session.manifest.kernels
        ]
        session.save(m.replace(session.manifest, kernels=kernels, twin_repeat=1))
    document = suite_document.build(suite)
    assert [cell.noise for cell in document.cells] == [0.0, pytest.approx(0.1)]
    assert document.noise is not None
    assert document.noise.sentence == "A/A: 1 of 2 cells differs"
    assert [one.label for one in document.kernels] == ["base", "new"]
    assert document.summaries[0].more == 2


def test_other_bases_and_nothing_recorded_are_one_line(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "S", ["a", "b"])
    with pytest.raises(SessionError, match="nothing has been recorded yet"):
        suite_document.build(suite)
    part(suite.part("a"), {"base": [_row("f", 1)], "new": [_row("f", 1)]}, [m.Point({}, 1)])
    part(suite.part("b"), {"new": [_row("f", 1)], "base": [_row("f", 1)]}, [m.Point({}, 1)])
    (damaged,) = suite_document.build(suite).damaged
    assert damaged.name == "b"
    assert "its base is new, and that of the suite base" in damaged.why


def test_the_command_that_records_a_cell_alone() -> None:
    assert reproduce(COMMAND, "mprotect/anon,4k@arm64") == (
        "profdiff record --suite s --kernel base=x --only mprotect/anon,4k@arm64 "
        "-o mprotect-anon-4k-arm64.profdiff"
    )
    assert reproduce(["profdiff", "record", "--shard=1/3", "--tag", "x", "--suite", "s"], "a") == (
        "profdiff record --suite s --only a -o a.profdiff"
    )
    # click takes a value without a space, too.
    assert reproduce(["profdiff", "record", "--ops", "5", "-oS"], "a", alone=True) == (
        "profdiff record --ops 5 -o a.profdiff"
    )


def test_many_kernels_are_shown_as_the_base_and_the_last(tmp_path: Path) -> None:
    document = suite_document.build(large_suite(tmp_path / "S", 60, 21, 2, functions=20))
    text = render(document, "S", width=100, top=3)
    said = "60 kernels; the cells below are those that changed on the last one; of all: --csv"
    assert said in text and "v0059" in text
    assert "v0030" not in text
    assert len(document.cells) == 42 and len(document.summaries) == 59
    missing = [cell.name for cell in document.cells if "v0050" in cell.missing]
    assert missing == ["w000/4", "w000/8", "w020/4", "w020/8"]
    assert document.summaries[49].not_there == 4 and document.summaries[49].compared == 38


_count = st.integers(0, 10**7)
_Counts = Mapping[str, Sequence[int]]


@given(
    st.lists(
        st.fixed_dictionaries(
            {name: st.lists(_count, min_size=3, max_size=3) for name in ("a", "b", "c")}
        ),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.01, 0.05, 0.5]),
)
@example([{"a": [0, 0, 0], "b": [0, 0, 0], "c": [1, 0, 1]}], [False] * 3, 0.0)
@hypothesis_settings(max_examples=examples(25))
def test_rows_are_what_the_sessions_say(
    workloads: list[_Counts], lacking: list[bool], threshold: float
) -> None:
    """Values, changes and verdicts are those of each session's own results; functions add up to
    the delta of their cell, and points to the sum of all relative changes; rows are sorted."""
    labels = ("base", "mid", "new")
    assume(all(sum(one[name][0] for name in one) for one in workloads))
    with TemporaryDirectory() as temporary:
        suite = _suite(Path(temporary) / "S", [f"w{n}" for n in range(len(workloads))])
        for number, (counts, lacks) in enumerate(zip(workloads, lacking, strict=False)):
            kernels = {
                label: [*(_row(name, counts[name][k]) for name in counts), _row("entry", 7)]
                for k, label in enumerate(labels)
            }
            made = part(suite.part(f"w{number}"), kernels, [m.Point({}, 1, 10)])
            if lacks:
                runs = [
                    m.replace(one, failure=ABSENT, measured=[]) if one.kernel == "mid" else one
                    for one in made.manifest.runs
                ]
                made.save(m.replace(made.manifest, runs=runs))
        results = SuiteResults.gather(suite, tell=lambda _: None)
        document = suite_document.of_results(results, threshold)
        points = dict.fromkeys(labels[1:], 0.0)
        for (_, _, session), cell in zip(suite.recorded(), document.cells, strict=True):
            (setting,) = settings(session.manifest)
            own = Results.gather(session.manifest)
            (result,) = own.every
            for label, boots, change in zip(own.labels, result.cells, result.changes, strict=True):
                assert cell.values[label] == (boots.medians[0] if boots.boots else None)
                assert (label in cell.missing) == (not boots.boots)
                assert (label in cell.changes) == (change is not None)
                if change is None:
                    continue
                shown = cell.changes[label]
                assert shown.verdict == change.verdict == "exact"
                assert shown.relative == change.median.estimate
                relevant = abs(change.median.estimate) >= threshold and shown.delta != 0
                assert shown.relevant == relevant
                points[label] += 100 * change.median.estimate
            comparison = Findings.of(session, setting, own).comparisons[0]
            deltas = comparison.deltas()
            for column, label in enumerate(comparison.labels[1:], 1):
                whole = int(deltas[:, column].sum())
                sign = -1 if whole < 0 else 1
                way = deltas[:, column] * sign if whole else abs(deltas[:, column])
                wanted = sorted((v for v in way.tolist() if v > 0), reverse=True)[:3]
                found = [abs(one.delta) * 10 for one in cell.functions[label]]
                assert found == pytest.approx(wanted)
        for label, sum_ in points.items():
            told = sum(one.points[label] for one in document.functions)
            assert told == pytest.approx(sum_, abs=1e-6)
        shown_rows = rows(document, ["new"])
        more = [one.changes["new"].relative for one in shown_rows.more]
        less = [one.changes["new"].relative for one in shown_rows.less]
        assert more == sorted(more, reverse=True) and less == sorted(less)
        (summary,) = (one for one in document.summaries if one.kernel == "mid")
        assert summary.compared + summary.not_there == len(document.cells)
        assert summary.more + summary.less + summary.other == summary.compared
