"""A sweep's points in one page: which of them it holds, and in a real Chromium, choosing them."""

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page, click
from msgspec.structs import replace
from support import profdiff
from synthetic import compare, frame
from synthetic_code import annotation, instruction, shown
from synthetic_experiment import boots, found, recorded
from tars import unpack_session

from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.findings import Findings
from profdiff.evidence.lengths import Fixed, Lengths
from profdiff.reports import documents
from profdiff.reports.page import points as page_points
from profdiff.session import manifest as m
from profdiff.session import points as session_points
from profdiff.session.state import PointState, Shift, State

SIZES = ("4", "40", "400", "4000")


def at_point(size: str, sizes: tuple[str, ...] = SIZES) -> Findings:
    """A sweep over sizes, with functions at one of them: their work grows with the size, and the
    smallest has a function of its own, so that numbers of functions differ."""
    described = recorded(
        {label: [boots(100.0 * (n + 1), 5, 0.01) for n in range(len(sizes))] for label in "ab"},
        points=[m.Point({"size_kib": one}, 1, 1000) for one in sizes],
    )
    entry, work = frame("entry"), frame("work")
    count = len(size) * 1000
    rows = {
        label: [
            ([frame("aaa_setup")] if size == "4" else [entry], "x", True, [7]),
            ([entry], "entry", True, [100]),
            ([entry, work], "work", True, [count]),
            ([entry, work, frame("helper")], "helper", True, [count * times]),
            # More stacks than functions.
            *(
                ([frame(name) for name in path], "x", True, [len(size)])
                for path in permutations("vwxyz")
            ),
        ]
        for label, times in (("a", 1), ("b", 3))
    }
    chosen = next(n for n, one in enumerate(sizes) if one == size)
    shown = found(described, at=f"size_kib={size}")
    comparison = replace(compare(rows, ops=1000), setting=shown.setting, manifest=shown.manifest)
    assert shown.setting.point == chosen
    return replace(shown, comparisons=[comparison])


def others(*sizes: str) -> Iterator[Findings]:
    """At the points that are not the page's own."""
    return (at_point(size) for size in sizes)


def made(findings: Findings, elsewhere: Iterator[Findings]) -> list[dict[str, Any]]:
    """The points of a page."""
    return page_points.page_points(findings, documents.session_document(findings), elsewhere)


def test_a_point_has_what_is_otherwise_there() -> None:
    own = at_point("4000")
    points = made(own, others(*SIZES[:-1]))
    assert [one.at for one in points] == [f"size_kib={size}" for size in SIZES]
    assert [one.own for one in points] == [False, False, False, True]
    assert [one.holds for one in points] == ["stacks"] * 4
    assert points[3].report == {}
    usual = documents.session_document(own)
    for size, point in zip(SIZES[:3], points, strict=False):
        whole = documents.session_document(at_point(size))
        report = point.report
        assert report["metrics"][0]["totals"] == whole.metrics[0].totals
        assert report["answers"] == whole.answers
        # What is the same everywhere is not there again.
        assert {"runs", "facts", "kernels", "schema", "base"} & report.keys() == set()
        assert usual.kernels == whole.kernels


def test_a_point_without_room_for_stacks_has_the_same_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = at_point("4000")
    (whole,) = [one for one in made(own, others("4")) if one.at == "size_kib=4"]
    size = page_points._size(whole.report)
    monkeypatch.setattr(page_points, "ROOM", size - 1)
    (flat,) = [one for one in made(own, others("4")) if one.at == "size_kib=4"]
    assert (whole.holds, flat.holds) == ("stacks", "functions")
    metric, usual = flat.report["metrics"][0], whole.report["metrics"][0]
    assert metric["functions"] == usual["functions"]
    assert metric["calls"] is None
    table = flat.report["stacks"][metric["stacks"]]
    assert set(table["parent"]) == {-1}
    for label, column in metric["counts"].items():
        assert sum(column) == sum(usual["counts"][label]) == usual["totals"][label]
        selfs = [function["self"][label] for function in usual["functions"]]
        assert column[: len(selfs)] == selfs
    monkeypatch.setattr(page_points, "ROOM", 10)
    (none,) = [one for one in made(own, others("4")) if one.at == "size_kib=4"]
    assert none.holds == "nothing"
    assert none.report["metrics"] == []


@pytest.mark.slow
def test_the_nearest_points_are_held_and_many_are_counted() -> None:
    described = recorded(
        {label: [boots(1.0, 2)] * 3000 for label in "ab"},
        points=[m.Point({"n": str(n)}, 1) for n in range(3000)],
    )
    every = session_points.settings(described)
    nearest = page_points.nearest(every, every[1000])
    assert sorted(one.point for one in nearest) == [*range(995, 1000), *range(1001, 1007)] or (
        sorted(one.point for one in nearest) == [*range(994, 1000), *range(1001, 1006)]
    )
    assert {one.point for one in page_points.nearest(every[:3], every[0])} == {1, 2}
    own = replace(found(described, at="n=2990"), comparisons=at_point("4").comparisons)
    points = made(own, iter(()))
    assert len(points) == 500
    assert points[-1].at == "n=2999"
    assert sum(one.own for one in points) == 1


def test_values_of_strangers_make_a_safe_command() -> None:
    sizes = ("4", HOSTILE[0], "$(reboot)")
    points = made(at_point("4", sizes), iter(()))
    assert points[2].command == "profdiff report SESSION --at 'size_kib=$(reboot)' --html"


def test_one_point_or_timed_runs_alone_have_nothing_to_choose() -> None:
    assert made(at_point("4", ("4",)), iter(())) == []
    timed = replace(at_point("4"), comparisons=[])
    assert made(timed, iter(())) == []


def test_choosing_a_point(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, at_point("4000"), tmp_path, 1200, others("4", "40"))
    assert page.page.input_value("#point") == "size_kib=4000"
    assert page.cells(0)[3:5] == ["4", "12"]
    # The frame and the function that are looked at stay, under whichever number.
    click(page, "work")
    page.page.click("#functions button.link:has-text('helper')")
    page.page.select_option("#point", "size_kib=4")
    assert "point=size_kib%3D4" in page.page.url
    assert page.cells(0)[3:5] == ["1", "3"]
    assert page.page.inner_text("#crumbs").split() == ["all", "entry", "work"]
    assert page.page.inner_text("#sandwich-name") == "helper"
    assert "size_kib 4:" in page.page.inner_text("#answers")
    assert "4 KiB" not in page.page.inner_text("#place")
    # As a link.
    link = page.page.url
    page.page.goto("about:blank")
    page.page.goto(link)
    page.page.wait_for_selector("html[data-ready]")
    assert page.page.input_value("#point") == "size_kib=4"
    assert page.cells(0)[3:5] == ["1", "3"]
    assert page.page.inner_text("#sandwich-name") == "helper"
    page.page.select_option("#point", "size_kib=4000")
    assert "point=" not in page.page.url
    assert page.cells(0)[3:5] == ["4", "12"]
    # One that the page does not hold has the command.
    page.page.select_option("#point", "size_kib=400")
    assert page.page.is_hidden("#profile")
    said = page.page.inner_text("#place-held")
    assert said.endswith("profdiff report SESSION --at size_kib=400 --html")
    assert "size_kib 400:" in page.page.inner_text("#answers")
    page.page.select_option("#point", "size_kib=40")
    assert page.page.is_visible("#profile")
    assert page.page.inner_text("#place-held") == ""
    page.page.evaluate("location.hash = '#point=size_kib%3D9&function=99'")
    page.wait_until("document.getElementById('point').value === 'size_kib=4000'")
    page.requests[:] = [page.url]
    page.close()


def test_a_point_with_functions_alone_says_so(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = at_point("4000")
    report = made(own, others("4"))[0].report
    monkeypatch.setattr(page_points, "ROOM", page_points._size(report) - 1)
    page = Page(browser, own, tmp_path, 1200, others("4"))
    page.page.select_option("#point", "size_kib=4")
    assert page.cells(0)[3:5] == ["1", "3"]
    assert "does not hold the stacks there" in page.page.inner_text("#missing")
    assert "--at size_kib=4 --html" in page.page.inner_text("#place-held")
    page.page.click("#functions button.link:has-text('helper')")
    assert "No callers are known" in page.page.inner_text("#sandwich")
    page.close()


def test_a_recorded_sweep_from_the_command_line(browser: Any, tmp_path: Path) -> None:
    """What the page says of a point is what ``report --at`` says, of a session that was recorded
    with real kernels."""
    session = tmp_path / "old.profdiff"
    unpack_session(session)
    shown = tmp_path / "page.html"
    profdiff("report", session, "--html", shown)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(shown.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.select_option("#unit", "absolute")
    points = page.eval_on_selector_all("#point option", "all => all.map(one => one.value)")
    assert points == ["size_kib=4", "size_kib=40"]
    for point in points:
        page.select_option("#point", point)
        told = json.loads(profdiff("report", session, "--at", point, "--json", "-").stdout)
        (metric, *_) = told["metrics"]
        base, other = (kernel["label"] for kernel in told["kernels"][:2])
        counts = {one["name"]: one["self"] for one in metric["functions"]}
        page.click("#more")
        rows = page.eval_on_selector_all(
            "#functions tbody tr",
            "rows => rows.map(row => [row.children[0].firstChild.textContent,"
            " row.children[5].textContent, row.children[6].textContent])",
        )
        assert len(rows) > 50
        for name, *numbers in rows[:50]:
            assert [int(one.replace(",", "")) for one in numbers] == [
                counts[name][base],
                counts[name][other],
            ]
        assert (
            page.eval_on_selector_all("#answers span", "all => all.map(one => one.textContent)")
            == (told["answers"])
        )
    assert problems == []
    page.close()


def test_the_state_of_a_point_and_what_its_lengths_leave_out(browser: Any, tmp_path: Path) -> None:
    settings = session_points.settings(at_point("4000").manifest)
    values = {"a": "0", "b": "2048"}
    state = State(
        differences={"anon_huge_kib": values},
        points=[
            PointState(one, {"anon_huge_kib": values} if n == 2 else {}, {"x": "1"}, (), ())
            for n, one in enumerate(settings)
        ],
        shifts=[Shift("minor_faults", settings[:1], {"a": "9", "b": "9"}, {"a": "8", "b": "8"})],
    )
    lengths = Lengths(
        {"n": ("1", "2")}, (1, 2), [Fixed("b", "exact", INSTRUCTIONS, 250.0, 1000.0)], ()
    )
    own, *elsewhere = (
        replace(at_point(size), state=state, lengths=lengths) for size in ("4000", "400", "4")
    )
    page = Page(browser, own, tmp_path, 1200, elsewhere)
    assert page.page.inner_text("#place-state") == ""
    page.page.select_option("#point", "size_kib=400")
    said = "The kernels' state differs there: AnonHugePages of the workload (KiB)."
    assert page.page.inner_text("#place-state") == said
    page.page.select_option("#point", "size_kib=4")
    said = "Their state differs from other points: minor faults."
    assert page.page.inner_text("#place-state") == said
    line = "tr:has(th:has-text('Does not grow with ops: instructions, exact'))"
    page.unfold()
    assert page.page.inner_text(f"#kernels {line}").split("\t")[1:] == [
        "-",
        "250 (25.0%), left out",
    ]
    page.close()


def test_code_is_that_of_the_page_s_own_point(browser: Any, tmp_path: Path) -> None:
    code = annotation([instruction(0x1000, {"a": 3, "b": 4})], ["a", "b"])
    with shown({"helper": code}):
        page = Page(browser, at_point("400"), tmp_path, 1280, others("4"))
    page.page.click("#functions button.link:text-is('helper')")
    page.wait_until("document.querySelectorAll('#code-list .code').length === 1")
    page.page.select_option("#point", "size_kib=4")
    assert page.page.inner_text("#sandwich-name") == "helper"
    assert page.page.inner_text("#code-none") == (
        "The page holds the code at size_kib=400; profdiff annotate SESSION --at size_kib=4 "
        "FUNCTION shows it here."
    )
    assert page.page.is_hidden("#code-list")
    page.page.select_option("#point", "size_kib=400")
    page.wait_until("!document.getElementById('code-list').hidden")
    assert page.page.inner_text("#code-none") == ""
    assert page.page.locator("#code-list .code").count() == 1
    page.close()
