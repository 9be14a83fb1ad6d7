"""The page of several architectures, in a real Chromium: joint tables first, then what a page has,
of the architecture that is chosen."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page
from msgspec.structs import replace
from support import page_data, profdiff
from synthetic_experiment import boots, recorded
from synthetic_joint import POINTS, example, joint, part

from profdiff.evidence.parts import PartsFindings
from profdiff.reports import documents
from profdiff.reports.page import parts as parts_page
from profdiff.session import manifest as m
from profdiff.session import points as session_points
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.session.state import PointState, Shift, State
from profdiff.views.parts.results import grids
from profdiff.views.results.result import ABSENT

NAMES = ("x86_64", "arm64")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two kernels at two points on two architectures."""
    return Path(joint(tmp_path_factory.mktemp("joint") / "S").folder)


def findings(folder: Path, at: str | None = None) -> PartsFindings:
    """Of a recording."""
    return PartsFindings.of(Parts.open(folder), at)


def test_the_joint_tables_come_first(browser: Any, folder: Path, tmp_path: Path) -> None:
    shown = findings(folder)
    page = Page(browser, shown, tmp_path, 1200)
    assert page.page.inner_text("h1").startswith("The same change: +97.0% on x86_64")
    assert page.page.title() == "profdiff: base against new on x86_64, arm64"
    (grid,) = grids(shown.results, shown.setting, NAMES)
    table = page.page.locator("table.joint").first
    rows = [row.split("\t") for row in table.inner_text().splitlines()]
    assert [cell for cell in rows[0] if cell] == list(NAMES)
    assert [[*map(str.strip, row)] for row in rows[1:]] == [grid.table.header, *grid.table.rows]
    # Two columns of names and numbers stand below each architecture's.
    spans = table.locator("tr").first.locator("th").evaluate_all("all => all.map(x => x.colSpan)")
    assert spans == [1, 3, 3]
    functions = page.page.locator("table.joint").nth(1).inner_text().splitlines()
    (flush,) = [row.split("\t") for row in functions if row.startswith("flush")]
    assert [*map(str.strip, flush)] == ["flush", "+22.00", "+55.0%", "11.5%", *[ABSENT] * 3]
    foot = page.page.locator("table.joint tr.foot").evaluate_all(
        "rows => rows.map(row => getComputedStyle(row.cells[0]).borderTopWidth)"
    )
    assert foot == ["2px", *["0px"] * (len(foot) - 1)]
    assert page.page.locator("#joint-charts img").count() == 1
    top = page.page.locator("table.joint").first.bounding_box()
    below = page.page.locator("#place").bounding_box()
    assert top["y"] < below["y"]
    assert page.problems == []
    page.page.close()


def test_choosing_an_architecture(browser: Any, folder: Path, tmp_path: Path) -> None:
    page = Page(browser, findings(folder), tmp_path, 1200)
    options = page.page.locator("#point option").all_inner_texts()
    assert options == [f"{name}, folio_kib {size}" for name in NAMES for size in (4, 64)]
    assert page.page.input_value("#point") == "architecture=x86_64,folio_kib=4"
    names = "#functions tbody td.name"
    seen = {}
    for option in page.page.locator("#point option").evaluate_all("all => all.map(x => x.value)"):
        page.page.select_option("#point", option)
        seen[option] = page.page.locator(names).all_inner_texts()
        head = page.page.inner_text("h1")
        assert head.startswith("The same change: +97.0% on x86_64")
    assert "flush" in seen["architecture=x86_64,folio_kib=4"]
    assert "contpte" in seen["architecture=arm64,folio_kib=64"]
    assert "flush" not in seen["architecture=arm64,folio_kib=64"]
    told = page.page.inner_text("#part-answers")
    assert "0.411 times" in told
    assert page.page.locator("#functions tfoot").inner_text().split()[4:6] == ["285", "117"]
    # Its own tables and charts are those of the architecture.
    assert "203" in page.page.locator("#experiment-tables").inner_text()
    assert "x86_64" not in page.page.inner_text("#evidence").replace("x86_64, 1 vCPU", "")
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.page.input_value("#point") == "architecture=arm64,folio_kib=64"
    assert page.problems == []
    page.page.close()


def test_the_state_at_the_chosen_point(browser: Any, folder: Path, tmp_path: Path) -> None:
    made = findings(folder)
    parts = {}
    for name, found in made.parts.items():
        small, large = session_points.settings(found.manifest)
        differs = {"anon_huge_kib": {"base": "0", "new": "2048"}} if name == "arm64" else {}
        told = [PointState(small, {}, {"x": "1"}, (), ()), PointState(large, differs, {}, (), ())]
        shift = Shift("minor_faults", [small], {"base": "9", "new": "9"}, {"base": "8", "new": "8"})
        shifts = [shift] if name == "x86_64" else []
        parts[name] = replace(found, state=State(differences=differs, points=told, shifts=shifts))
    page = Page(browser, replace(made, parts=parts), tmp_path, 1200)
    other = "Their state differs from other points: minor faults."
    huge = "The kernels' state differs there: AnonHugePages of the workload (KiB)."
    for point, said in (
        ("architecture=x86_64,folio_kib=4", other),
        ("architecture=arm64,folio_kib=64", huge),
        ("architecture=arm64,folio_kib=4", ""),
    ):
        page.page.select_option("#point", point)
        assert page.page.inner_text("#place-state") == said
    assert page.problems == []
    page.page.close()


def test_each_architecture_is_its_own_report(folder: Path, tmp_path: Path) -> None:
    shown = findings(folder, "folio_kib=64")
    data = json.loads(page_data(written(shown, tmp_path)))
    for name in NAMES:
        whole = json.loads(documents.encode(documents.session_document(shown.parts[name])))
        held = {**data, **data["parts"].get(name, {})}
        for member in ("answers", "metrics", "stacks", "facts", "kernels", "runs", "experiment"):
            assert held[member] == whole[member], (name, member)
    own = [one["at"] for one in data["points"] if one["own"]]
    assert own == ["architecture=x86_64,folio_kib=64"]
    commands = {one["at"]: (one["command"], one["annotate"]) for one in data["points"]}
    assert commands["architecture=arm64,folio_kib=4"] == (
        "profdiff report SESSION/arm64 --at folio_kib=4 --html",
        "profdiff annotate SESSION/arm64 --at folio_kib=4 FUNCTION",
    )


def written(shown: PartsFindings, folder: Path) -> Path:
    """The page as a file."""
    file = folder / "page.html"
    file.write_text(parts_page.render(shown))
    return file


def test_one_point_and_one_architecture_that_is_missing(browser: Any, tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"])
    part(made.part("x86_64"), example()["x86_64"], POINTS[:1])
    page = Page(browser, findings(made.folder), tmp_path, 1200)
    assert page.page.inner_text("#joint-missing") == "arm64: not recorded yet"
    assert page.page.locator("#point option").all_inner_texts() == ["x86_64"]
    assert page.page.inner_text("h1").startswith("The change on one architecture alone")
    assert page.problems == []
    page.page.close()


def test_timed_runs_have_tables_alone(browser: Any, tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "S", NAMES, ["profdiff", "record"])
    for name, change in (("x86_64", 2.0), ("arm64", 0.5)):
        values = {"base": [boots(100.0)] * 2, "new": [boots(100.0 * change)] * 2}
        session = Session.create(made.part(name), recorded(values, points=POINTS))
        assert session.manifest.collectors == ["timed"]
    shown = findings(made.folder)
    page = Page(browser, shown, tmp_path, 1200)
    assert page.page.inner_text("h1").startswith(
        "The same change, in different directions: +100.0% on x86_64, -50.0% on arm64"
    )
    assert page.page.locator("table.joint").count() == 1
    assert page.page.is_hidden("#profile")
    page.page.select_option("#point", "architecture=arm64,folio_kib=64")
    assert page.page.inner_text("#place-held") == ""
    assert "-50.0%" in page.page.inner_text("#experiment-tables")
    assert page.problems == []
    page.page.close()
    text = profdiff("report", made.folder).stdout
    assert "minus base" not in text
    said = profdiff("report", made.folder, "--csv", "-", status=2).stderr
    assert "--csv needs a profile" in said


def test_what_strangers_wrote_is_text(browser: Any, tmp_path: Path) -> None:
    points = [m.Point({"mode": text}, 1, 1000) for text in HOSTILE[:2]]
    made = joint(tmp_path / "S", points=points)
    session = Session.open(made.part("arm64"))
    kernels = [m.replace(one, release=HOSTILE[0]) for one in session.manifest.kernels]
    session.save(m.replace(session.manifest, kernels=kernels))
    page = Page(browser, findings(made.folder), tmp_path, 1200)
    page.page.select_option("#point", index=3)
    assert page.page.title().startswith("profdiff: base against new")
    assert page.page.locator("table.joint img, table.joint script, #part img[src=x]").count() == 0
    assert page.problems == []
    page.page.close()


@pytest.mark.slow
def test_the_command_writes_page_and_charts(folder: Path, tmp_path: Path) -> None:
    said = profdiff("report", folder, "--html", "--charts", tmp_path / "charts", cwd=tmp_path)
    assert said.stdout == "S.html\n"
    assert "<!doctype html>" in (tmp_path / "S.html").read_text()
    names = sorted(file.name for file in (tmp_path / "charts").iterdir())
    assert names == ["architectures-instructions.png", "architectures-instructions.svg"]
    svg = (tmp_path / "charts/architectures-instructions.svg").read_text()
    for value in ("+97.0%", "+33.0%", "-16.7%", "-58.9%", "198 -&gt; 390", "285 -&gt; 117"):
        assert value in svg
    again = tmp_path / "again"
    profdiff("report", folder, "--charts", again)
    assert (again / "architectures-instructions.svg").read_text() == svg


@pytest.mark.slow
def test_charts_are_bounded(tmp_path: Path) -> None:
    points = [m.Point({"n": str(n)}, 1, 1000) for n in range(30)]
    parts = {
        name: {
            label: [(rows[0][0], rows[0][1], True, tuple(range(100, 130)))]
            for label, rows in kernels.items()
        }
        for name, kernels in example().items()
    }
    made = joint(tmp_path / "S", parts, points)
    profdiff("report", made.folder, "--charts", tmp_path / "charts")
    svg = (tmp_path / "charts/architectures-instructions.svg").read_text()
    assert "14 more settings or kernels are not shown" in svg
    assert ">n 15<" in svg
    assert ">n 16<" not in svg
