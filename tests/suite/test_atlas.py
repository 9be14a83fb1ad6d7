"""An atlas: order, series, steps, what made them, and what is never joined."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsed_page import opened
from goldens import check_schema
from hypothesis import given
from hypothesis import strategies as st
from made_atlas import session, suite
from support import ROOT, error_line, profdiff
from synthetic import Row, frame
from synthetic_states import varied

from profdiff.evidence.atlas import release_key
from profdiff.reports import suite_document
from profdiff.reports.atlas import write
from profdiff.reports.page.site import cell_path, up
from profdiff.session import bisection as b
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite
from profdiff.views import atlas as views
from profdiff.views.atlas import Atlas, AtlasCell

OLD, MID, NEW = "6.1.170", "6.12.95", "7.3.4"


def made(tmp_path: Path, *folders: Path) -> Atlas:
    return write(tmp_path / "site", folders, 0.05, lambda line: None)


def shown(browser: Any, file: Path) -> str:
    """What a page of the site shows, as markup."""
    with opened(browser, file) as page:
        return str(page.inner_html("main"))


def line(atlas: Atlas, name: str) -> AtlasCell:
    (cell,) = [cell for one in atlas.series for cell in one.cells if cell.name == name]
    return cell


def releases(tmp_path: Path) -> tuple[Path, Path]:
    """Two suites that share a kernel."""
    suite(
        tmp_path / "one",
        {
            "mprotect": {
                MID: {"change_pte": 100, "walk": 50},
                NEW: {"change_pte": 190, "walk": 49},
            },
            "getpid": {MID: {"entry": 100}, NEW: {"entry": 102}},
        },
    )
    suite(
        tmp_path / "two",
        {
            "mprotect": {
                OLD: {"change_pte": 200, "walk": 50},
                MID: {"change_pte": 100, "walk": 50},
            },
            "getpid": {OLD: {"entry": 100}, MID: {"entry": 100}},
        },
    )
    return tmp_path / "one", tmp_path / "two"


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/atlas.schema.json", views.schema(), "suite")


def test_lines_go_over_sessions_in_the_order_of_versions(tmp_path: Path) -> None:
    atlas = made(tmp_path, *releases(tmp_path))
    (one,) = atlas.series
    assert [release.title for release in one.releases] == [OLD, MID, NEW]
    mprotect = line(atlas, "mprotect")
    assert [point.value for point in mprotect.points] == [250, 150, 239]
    assert [atlas.sources[point.source].name for point in mprotect.points] == ["two", "one", "one"]
    _, down, up_ = (point.step for point in mprotect.points)
    assert down is not None
    assert up_ is not None
    assert (down.delta, down.relative, down.verdict, down.relevant) == (-100, -0.4, "exact", True)
    assert [(one.name, one.delta, one.share) for one in down.functions] == [("change_pte", -100, 1)]
    assert up_.delta == 89
    assert [one.name for one in up_.functions] == ["change_pte"]
    assert up_.functions[0].share == pytest.approx(90 / 89)


def test_significant_is_told_apart_from_relevant(browser: Any, tmp_path: Path) -> None:
    atlas = made(tmp_path, *releases(tmp_path))
    old, mid, new = atlas.series[0].releases
    assert (old.more, old.less, old.sentence) == (0, 0, "")
    assert (mid.more, mid.less, mid.smaller, mid.same) == (0, 1, 0, 1)
    assert (new.more, new.less, new.smaller, new.same) == (1, 0, 1, 0)
    told = f"{NEW} against {MID}: 1 of 2 cells costs at least 5% more, 0 at least 5% less"
    assert new.sentence == told
    assert atlas.sentences == [told]
    assert atlas.banner == "Instructions, not time."
    page = shown(browser, tmp_path / "site/index.html")
    assert "1 smaller change, significant but below 5%" in page


def test_a_step_that_depends_on_state_is_none_of_the_release(browser: Any, tmp_path: Path) -> None:
    rows: dict[str, list[Row]] = {
        OLD: [([frame("mas_walk")], "mas_walk", True, (100_000, 400_000, 100_000))],
        NEW: [([frame("mas_walk")], "mas_walk", True, (390_000, 103_000, 105_000))],
    }
    counted = varied(tmp_path / "one", rows)
    kernels = [
        m.replace(one, release=one.label, build_id=f"{number:040x}")
        for number, one in enumerate(counted.manifest.kernels)
    ]
    counted.save(m.replace(counted.manifest, kernels=kernels))
    atlas = made(tmp_path, tmp_path / "one")
    (cell,) = atlas.series[0].cells
    step = cell.points[1].step
    assert step is not None
    assert (step.verdict, step.relevant, step.states) == ("depends on state", False, 3)
    assert (step.low, step.high) == (pytest.approx(-0.7425), pytest.approx(2.9))
    _, new = atlas.series[0].releases
    assert (new.more, new.less, new.same, new.depend, new.unsure) == (0, 0, 0, 1, 0)
    page = shown(browser, tmp_path / "site/index.html")
    assert "1 change depends on state: no step of the release alone" in page
    assert "depends on state: -74.2% to +290.0%" in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu", "neoverse-n1"),
        ("restored", True),
        ("append", "mitigations=off"),
        ("memory", 1024),
        ("settle", 9.0),
    ],
)
def test_other_machines_are_other_series(
    browser: Any, tmp_path: Path, field: str, value: object
) -> None:
    cell = {"mprotect": {OLD: {"a": 100}, MID: {"a": 150}}}
    suite(tmp_path / "one", cell)
    guest = m.replace(m.Guest(memory=512, append="", settle=5.0, timeout=600.0), **{field: value})
    suite(tmp_path / "two", {"mprotect": {MID: {"a": 300}, NEW: {"a": 300}}}, guest=guest)
    atlas = made(tmp_path, tmp_path / "one", tmp_path / "two")
    assert len(atlas.series) == 2
    for one, names in zip(atlas.series, ([OLD, MID], [MID, NEW]), strict=True):
        assert [release.title for release in one.releases] == names
        assert one.title
    said = "restored" if field == "restored" else str(value).removesuffix(".0")
    assert said in atlas.series[1].title
    assert said not in atlas.series[0].title
    assert "never joined in one line" in atlas.remarks[0]
    page = shown(browser, tmp_path / "site/cells/mprotect.html")
    assert page.count('class="line-chart"') == 2


def test_a_longer_timeout_is_no_other_machine(tmp_path: Path) -> None:
    suite(tmp_path / "one", {"x": {OLD: {"a": 100}}})
    guest = m.Guest(memory=512, append="", settle=5.0, timeout=9000.0)
    suite(tmp_path / "two", {"x": {NEW: {"a": 100}}}, guest=guest)
    assert len(made(tmp_path, tmp_path / "one", tmp_path / "two").series) == 1


def test_a_kernel_of_two_recordings_is_one_and_what_differs_is_said(
    browser: Any, tmp_path: Path
) -> None:
    suite(tmp_path / "one", {"x": {OLD: {"a": 100}, MID: {"a": 100}}})
    suite(tmp_path / "two", {"x": {MID: {"a": 101}, NEW: {"a": 101}}})
    atlas = made(tmp_path, tmp_path / "one", tmp_path / "two")
    points = line(atlas, "x").points
    assert [point.value for point in points] == [100, 100, 101]
    assert points[1].others == {"two": 101}
    # The step is of the recording that has both.
    step = points[2].step
    assert step is not None
    assert step.delta == 0
    # What it was computed from is shown beside it: not 100, the first recording's.
    assert (step.before.value, step.after.value) == (101, 101)
    assert (step.before.source, step.after.source) == (1, 1)
    assert "101 (two) to 101 (two)" in shown(browser, tmp_path / "site/cells/x.html")
    assert "1 value differs" in atlas.remarks[0]


def bisected(tmp_path: Path, release: str, name: str = "mprotect") -> Path:
    def revision(letter: str) -> b.Revision:
        return b.Revision(commit=letter * 40, subject="mm: batch <b>ptes</b>", value=1.0)

    found = b.Bisection(
        good=revision("a"),
        bad=revision("d"),
        parent=revision("b"),
        culprit=revision("c"),
        condition="instructions:total > +20%",
        what="instructions:total",
        revert="confirmed",
    )
    folder = tmp_path / f"{name}.profdiff"
    opened = session(folder, {b.PARENT: {"a": 1}, b.CULPRIT: {"a": 2}}, bisection=found)
    kernels = [m.replace(one, release=release) for one in opened.manifest.kernels]
    opened.save(m.replace(opened.manifest, kernels=kernels))
    return folder


def test_a_step_has_the_commit_of_a_bisection_between_its_releases(
    browser: Any, tmp_path: Path
) -> None:
    found = bisected(tmp_path, "6.19.0-rc1-00042-g1a2b3c4d5e6f")
    atlas = made(tmp_path, *releases(tmp_path), found)
    _, down, up_ = (point.step for point in line(atlas, "mprotect").points)
    assert down is not None
    assert up_ is not None
    assert down.commit is None
    assert up_.commit is not None
    assert up_.commit.commit == "c" * 40
    # Its kernels are on no line.
    assert [release.title for release in atlas.series[0].releases] == [OLD, MID, NEW]
    page = shown(browser, tmp_path / "site/cells/mprotect.html")
    assert "cccccccccccc" in page
    assert "&lt;b&gt;ptes" in page and "<b>ptes" not in page


def test_a_bisection_of_something_else_explains_nothing(tmp_path: Path) -> None:
    found = bisected(tmp_path, "6.19.0", "something-else")
    opened = m.Workload(argv=["./other"], guest_argv=["/work/other"], kind="program", files=[])
    path = found / "manifest.json"
    content = json.loads(path.read_text())
    content["workload"]["argv"] = opened.argv
    path.write_text(json.dumps(content))
    atlas = made(tmp_path, *releases(tmp_path), found)
    assert not any(
        point.step and point.step.commit for cell in atlas.series[0].cells for point in cell.points
    )


def test_every_number_leads_to_its_session_and_says_its_command(
    browser: Any, tmp_path: Path
) -> None:
    atlas = made(tmp_path, *releases(tmp_path))
    site = tmp_path / "site"
    for cell in atlas.series[0].cells:
        assert json.loads((site / cell.page.replace(".html", ".json")).read_text())["name"]
        page = shown(browser, site / cell.page)
        assert f'<a href="{Path(cell.page).stem}.json">' in (site / cell.page).read_text()
        for point in cell.points:
            assert (site / point.page).is_file()
            assert f'href="{up(cell.page)}{point.page}"' in page
            assert point.reproduce.startswith("profdiff record --suite")
            assert point.reproduce in page
    assert json.loads((site / "index.json").read_text())["schema"] == views.SCHEMA


def test_words_and_digits_agree(browser: Any, tmp_path: Path) -> None:
    """The change from the first release to the last is told as a step's is."""
    suite(tmp_path / "one", {"x": {OLD: {"a": 100}, NEW: {"a": 2000}}})
    made(tmp_path, tmp_path / "one")
    page = shown(browser, tmp_path / "site/index.html")
    assert page.count(">20 times<") == 2 and "+1,900.0%" not in page


def test_a_search_leaves_the_cells_that_it_names(browser: Any, tmp_path: Path) -> None:
    made(tmp_path, *releases(tmp_path))
    with opened(browser, tmp_path / "site/index.html") as page:
        page.keyboard.press("/")
        page.keyboard.type("getp")
        assert page.inner_text("#atlas-status") == "2 of 5 rows"
        rows = page.locator("#cells-0 + .scroll tbody tr:visible")
        assert rows.all_inner_texts()[0].startswith("getpid") and rows.count() == 1
        assert page.url.endswith("?find=getp")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=All cells")
        assert page.url.endswith("/cells/getpid.html")


def test_sessions_of_one_name_have_pages_of_their_own(tmp_path: Path) -> None:
    suite(tmp_path / "a/same", {"x": {OLD: {"a": 100}}})
    suite(tmp_path / "b/same", {"x": {NEW: {"a": 100}}})
    atlas = made(tmp_path, tmp_path / "a/same", tmp_path / "b/same")
    assert [one.name for one in atlas.sources] == ["same", "same~2"]
    assert (tmp_path / "site/sessions/same~2/cells/x.html").is_file()


def test_the_command(tmp_path: Path) -> None:
    one, two = releases(tmp_path)
    result = profdiff("atlas", one, two, "-o", tmp_path / "out")
    assert result.stdout.splitlines()[-1] == str(tmp_path / "out/index.html")
    assert f"{NEW} against {MID}" in result.stdout
    wrong = profdiff("atlas", one, tmp_path, "-o", tmp_path / "out", status=2)
    assert "is not a session, but holds some" in error_line(wrong)
    full = profdiff("atlas", one, "-o", two, status=2)
    assert "is not a site of profdiff" in error_line(full)
    wide = profdiff("atlas", one, "-o", tmp_path / "wide", "--threshold", "60%")
    assert "0 of 2 cells cost at least 60% more" in wide.stdout


def scattered(folder: Path, values: dict[str, list[int]]) -> None:
    """Give each kernel a run for each value, in thousands of instructions."""
    opened = Session.open(folder)
    runs = [
        m.replace(
            run,
            id=f"{run.id}-{number}",
            repetition=number,
            measured=[m.Measured("instructions", "instructions", "lower", True, [1000.0 * value])],
        )
        for run in opened.manifest.runs
        for number, value in enumerate(values[run.kernel], 1)
    ]
    opened.save(m.replace(opened.manifest, runs=runs, repeat=len(next(iter(values.values())))))


def test_counts_that_scatter_are_not_exact(browser: Any, tmp_path: Path) -> None:
    """The atlas says of a step from the base what the suite's report says."""
    suite(tmp_path / "one", {"x": {one: {"f": 100} for one in (OLD, MID, NEW)}})
    scattered(
        tmp_path / "one/x",
        {OLD: [100, 130, 90, 120], MID: [107, 125, 128, 122], NEW: [90, 99, 151, 170]},
    )
    own = suite_document.build(Suite.open(tmp_path / "one")).cells[0].changes
    atlas = made(tmp_path, tmp_path / "one")
    _, first, second = (point.step for point in line(atlas, "x").points)
    assert first is not None
    assert second is not None
    assert (first.verdict, first.relevant) == (own[MID].verdict, own[MID].relevant)
    assert (first.verdict, second.verdict, second.relevant) == ("unsure", "unsure", False)
    assert [(one.more, one.unsure) for one in atlas.series[0].releases] == [(0, 0), (0, 1), (0, 1)]
    assert not line(atlas, "x").points[0].exact
    page = shown(browser, tmp_path / "site/index.html")
    assert '<td class="change">-1.0% ?</td>' in page and ">1 cell<" in page


def test_counts_that_repeat_are_exact(tmp_path: Path) -> None:
    suite(tmp_path / "one", {"x": {OLD: {"f": 100}, MID: {"f": 100}}})
    scattered(tmp_path / "one/x", {OLD: [100, 100], MID: [120, 120]})
    step = line(made(tmp_path, tmp_path / "one"), "x").points[1].step
    assert step is not None
    assert (step.verdict, step.relevant, step.delta) == ("exact", True, 20)


def test_other_work_of_the_same_name_is_never_joined(tmp_path: Path) -> None:
    """Another command, and counts of whole runs beside counts per op."""
    for number, change in enumerate(("argv", "ops")):
        place = tmp_path / str(number)
        suite(place / "one", {"x": {OLD: {"a": 100}, MID: {"a": 100}}})
        suite(place / "two", {"x": {MID: {"a": 500}, NEW: {"a": 500}}})
        opened = Session.open(place / "two/x")
        man = opened.manifest
        other = m.replace(man, workload=m.replace(man.workload, argv=["other", "prog"]))
        if change == "ops":
            other = m.replace(man, points=[m.replace(man.points[0], ops=None)])
        opened.save(other)
        atlas = made(place, place / "one", place / "two")
        assert [[one.title for one in each.releases] for each in atlas.series] == [
            [OLD, MID],
            [MID, NEW],
        ]
        assert atlas.series[1].machine["workload"] == "as in two"
        assert "workload" not in atlas.series[0].machine
        steps = [p.step for each in atlas.series for p in each.cells[0].points if p.step]
        assert [step.delta for step in steps] == [0, 0]


def test_a_program_elsewhere_is_the_same_work_and_other_files_are_told(
    browser: Any, tmp_path: Path
) -> None:
    suite(tmp_path / "one", {"x": {OLD: {"a": 100}}})
    suite(tmp_path / "two", {"x": {MID: {"a": 200}}})
    suite(tmp_path / "three", {"x": {NEW: {"a": 200}}})
    for name, digest in (("one", "11"), ("two", "22"), ("three", "22")):
        opened = Session.open(tmp_path / name / "x")
        work = opened.manifest.workload
        file = m.WorkloadFile(guest_path="/work/x", sha256=digest * 32, executable=True)
        argv = [f"/{name}/x", *work.argv[1:]]
        opened.save(m.replace(opened.manifest, workload=m.replace(work, argv=argv, files=[file])))
    atlas = made(tmp_path, tmp_path / "one", tmp_path / "two", tmp_path / "three")
    assert len(atlas.series) == 1
    _, first, second = (point.step for point in line(atlas, "x").points)
    assert first is not None
    assert second is not None
    assert (first.programs_differ, second.programs_differ) == (True, False)
    assert "program differs" in shown(browser, tmp_path / "site/cells/x.html")


def test_a_session_without_a_run_makes_no_machine(tmp_path: Path) -> None:
    """It takes that of the others of its recording; alone it is left out and named."""
    for name in ("one", "two"):
        suite(tmp_path / name, {"x": {OLD: {"a": 100}}, "y": {OLD: {"a": 100}}})
        for cell in ("x", "y") if name == "two" else ("y",):
            opened = Session.open(tmp_path / name / cell)
            opened.save(m.replace(opened.manifest, runs=[]))
    atlas = made(tmp_path, tmp_path / "one", tmp_path / "two")
    (one,) = atlas.series
    assert [cell.name for cell in one.cells] == ["x", "y"]
    assert [cell.points[0].value for cell in one.cells] == [100, None]
    assert atlas.remarks == ["two: left out, as nothing ran: x, y"]


@pytest.mark.parametrize("change", ["machine", "sign"])
def test_a_bisection_elsewhere_is_only_said(browser: Any, tmp_path: Path, change: str) -> None:
    """Of another machine, or of a commit that changed the cell the other way."""
    found = bisected(tmp_path, "6.19.0-rc1-00042-g1a2b3c4d5e6f")
    opened = Session.open(found)
    man = opened.manifest
    if change == "machine":
        guest = m.Guest(memory=512, append="", settle=5.0, timeout=600.0, cpu="max")
        opened.save(m.replace(man, guest=guest))
    else:
        scattered(found, {b.PARENT: [2], b.CULPRIT: [1]})
    atlas = made(tmp_path, *releases(tmp_path), found)
    step = line(atlas, "mprotect").points[2].step
    assert step is not None
    assert step.commit is None
    assert [one.commit for one in step.suspects] == ["c" * 40]
    page = shown(browser, tmp_path / "site/cells/mprotect.html")
    assert "a bisection found in this range: " in page


ORDERED = [
    "5.10.0-8-amd64",
    "6.1.0",
    "6.1.170+deb12-cloud-amd64",
    "6.12.0-rc1",
    "6.12.0-rc2",
    "6.12.0-rc2-00042-g1a2b3c4d5e6f",
    "6.12-rc10",
    "6.12.0",
    "6.12.9-profdiff",
    "6.12.95+deb12-cloud-amd64",
    "6.18.15-profdiff",
    "7.3~rc4+1-cloud-amd64",
    "7.3.0",
    "7.3.4",
    "linux-next",
]


@given(st.permutations(ORDERED))
def test_candidates_stand_before_their_release(mixed: list[str]) -> None:
    assert sorted(mixed, key=release_key) == ORDERED


def test_any_release_can_be_sorted() -> None:
    odd = [
        None,
        "",
        "6",
        "6.",
        "v6.1",
        "６.１",
        "6.1\x00",
        "a.b",
        "6.1.x",
        "9" * 400 + ".1",
        "6.1-" + "9" * 5000,
    ]
    assert len(sorted([*odd, *ORDERED], key=release_key)) == len(odd) + len(ORDERED)


@given(st.text(st.characters(whitelist_categories=["Lu", "Nd"]), min_size=1, max_size=400))
def test_a_page_has_a_name_that_fits(name: str) -> None:
    assert len(cell_path(f"{name}/{name}")) <= 2 * 170


def given(folder: Path, kernels: dict[str, tuple[str, str, int]]) -> Path:
    """A recording of kernels by label: a release, its guest's own arguments, thousands of
    instructions."""
    made_ = session(folder, {label: {"work": count} for label, (_, _, count) in kernels.items()})
    described = [
        m.replace(
            one,
            release=kernels[one.label][0],
            build_id=f"{int(kernels[one.label][0].replace('.', '')):040x}",
            variant=m.Variant(append=kernels[one.label][1]),
        )
        for one in made_.manifest.kernels
    ]
    made_.save(m.replace(made_.manifest, kernels=described))
    return folder


def test_what_a_guest_is_given_is_part_of_its_kernel(tmp_path: Path) -> None:
    """Recordings of one build are joined by it, and a step leads from the same."""
    one = given(tmp_path / "1/work", {"a": (MID, "k=on", 20), "b": (MID, "k=off", 10)})
    other = given(
        tmp_path / "2/work", {"x": (MID, "k=off", 10), "y": (NEW, "k=off", 11), "z": (NEW, "", 30)}
    )
    third = given(tmp_path / "3/work", {"a": (MID, "k=on", 20), "c": (NEW, "k=on", 25)})
    atlas = made(tmp_path, one, other, third)
    (series,) = atlas.series
    titles = [release.title for release in series.releases]
    assert titles == [f"{MID} k=on", f"{MID} k=off", f"{NEW} k=off", NEW, f"{NEW} k=on"]
    assert [release.variant.append for release in series.releases] == [
        *("k=on", "k=off", "k=off", "", "k=on")
    ]
    steps = {
        titles[point.release]: (titles[point.step.since], point.step.delta)
        for cell in series.cells
        for point in cell.points
        if point.step
    }
    assert steps == {
        f"{MID} k=off": (f"{MID} k=on", -10),
        f"{NEW} k=off": (f"{MID} k=off", 1),
        NEW: (f"{NEW} k=off", 19),
        f"{NEW} k=on": (f"{MID} k=on", 5),
    }
