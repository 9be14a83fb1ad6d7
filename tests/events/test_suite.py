"""Events and items of the inventory in what sessions keep, in reports of suites and in atlases."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import kept_events
import made_suite
import msgspec
import numpy as np
import pytest
from browsed_page import opened
from msgspec.structs import replace
from support import profdiff
from synthetic import KERNEL_BASE, Row, frame
from synthetic_states import OPS, varied

from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.evidence.kept_events import cell_changes
from profdiff.profile import kept
from profdiff.profile.kept_events import KeptEvents
from profdiff.reports.text import suite
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.views.suite import SuiteCellEvent, SuiteEvent

FAULT, FREE = "asm_exc_page_fault", "__kfree_rcu_sheaf"


def _suite(folder: Path, session: Path) -> Path:
    """A suite of one workload, which ``session`` is of."""
    described = [SuiteWorkload(name="happened", op="round")]
    made = Suite.create(folder, "s", ["profdiff", "record", "--suite", "s"], described)
    shutil.copytree(session, made.part("happened"))
    return folder


@pytest.mark.guest
def test_a_suites_cells_have_the_events_of_their_reports(happened: Path, tmp_path: Path) -> None:
    found = kept_events.check(_suite(tmp_path / "S", happened))
    assert set(found["happened/maps", "new"]) == {"rcu-frees", "kmalloc"}
    assert "rcu-frees" in found["happened/maps", "newest"]
    assert not found["happened/faults", "newest"]


@pytest.mark.guest
def test_each_form_of_a_suites_report_has_them(happened: Path, tmp_path: Path) -> None:
    folder = _suite(tmp_path / "S", happened)
    profdiff("report", folder, "--json", tmp_path / "S.json")
    shown = json.loads((tmp_path / "S.json").read_text())
    cells = {cell["name"]: cell["events"] for cell in shown["cells"]}
    (freed,) = (one for one in cells["happened/maps"]["new"] if one["event"] == "rcu-frees")
    assert freed == {"event": "rcu-frees", "base": 0.0, "value": 4.0, "states": 1}
    items = {cell["name"]: cell["items"] for cell in shown["cells"]}
    assert {one["event"] for one in shown["items"]} == {
        one["event"] for by_label in items.values() for some in by_label.values() for one in some
    }
    (over,) = (one for one in shown["events"] if one["event"] == "rcu-frees")
    assert (over["more"], over["fewer"]) == ({"new": 1, "newest": 1}, {"new": 0, "newest": 0})
    for summary in shown["summaries"]:
        changed = sum(bool(one[summary["kernel"]]) for one in cells.values())
        assert (summary["events"], summary["events_known"]) == (changed, 6)
        changed = sum(bool(one[summary["kernel"]]) for one in items.values())
        assert (summary["items"], summary["items_known"]) == (changed, 6) != (0, 6)
    said = profdiff("report", folder, "--width", "100").stdout
    table = said.split("events of the workload that changed by more than the instructions")[1]
    table, ran = table.split("items of the inventory that changed more than twice as far")
    assert (
        f"new: items changed by much more than the instructions in {_items_of(shown)} of 6" in ran
    )
    assert "rcu-frees         happened/maps  0.00  4.00    2.00  round" in table
    assert "new: events changed by more than the instructions in 1 of 6 cells: " in table
    assert "events of the workload" not in profdiff("report", folder, "--user-only").stdout
    profdiff("report", folder, "--csv", tmp_path / "S.csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "S.csv").read_text())))
    written = {
        (one["cell"], one["kernel"], *one["metric"].split(":"), float(one["value"]))
        for one in lines
        if ":" in one["metric"]
    }
    assert written == {
        (name, label, topic, one["event"], one["value"])
        for topic, of_cells in (("events", cells), ("inventory", items))
        for name, by_label in of_cells.items()
        for label, some in by_label.items()
        for one in some
    }


def _items_of(shown: Any) -> int:
    """In how many cells items changed on the new kernel."""
    (summary,) = (one for one in shown["summaries"] if one["kernel"] == "new")
    return int(summary["items"])


@pytest.mark.guest
def test_the_pages_of_suites_and_atlases_have_them(
    happened: Path, browser: Any, tmp_path: Path
) -> None:
    folder = _suite(tmp_path / "S", happened)
    profdiff("report", folder, "--html", tmp_path / "S.html")
    with opened(browser, tmp_path / "S.html") as page:
        rows = page.eval_on_selector_all(
            "#over-events tbody tr", "lines => lines.map(line => line.textContent)"
        )
        items = page.locator("#over-items tbody tr").count()
    assert "rcu-frees1010happened/maps 0 to 4 on new" in rows
    profdiff("report", folder, "--json", tmp_path / "S.json")
    assert items == len(json.loads((tmp_path / "S.json").read_text())["items"]) > 0
    profdiff("atlas", folder, "--site", tmp_path / "A")
    atlas = json.loads((tmp_path / "A/index.json").read_text())
    (cell,) = (one for one in atlas["series"][0]["cells"] if one["name"] == "happened/maps")
    first, second = (one["step"]["events"] for one in cell["points"][1:])
    assert {"event": "rcu-frees", "base": 0.0, "value": 4.0, "states": 1} in first
    assert {"event": "kmalloc", "base": 2.0, "value": 0.0, "states": 1} in second
    with opened(browser, tmp_path / "A/cells/happened/maps.html") as page:
        assert "rcu-frees0 to 4" in page.text_content("body")


def test_a_text_has_three_cells_of_each_event() -> None:
    made = made_suite.suite(("base", "new"))
    names = ("page-faults", "kmalloc")
    cells = [
        replace(one, events={"new": [SuiteCellEvent(name, 1.0, 2.0 + n, 1) for name in names]})
        for n, one in enumerate(made.cells[:5])
    ]
    over = [SuiteEvent(name, "it happens", {"new": 5}, {"new": 0}) for name in names]
    summary = replace(made.summaries[0], events=5, events_known=9)
    made = replace(made, cells=cells, events=over, summaries=[summary])
    said = "\n".join(suite.event_lines(made, ["new"], 100, 20))
    largest = [one.name for one in cells[:1:-1]]
    rows = [line.split() for line in said.splitlines() if line.startswith(names)]
    assert [row[:4] for row in rows] == [
        [name, cell, "1.00", f"{6 - n}.00"] for name in names for n, cell in enumerate(largest)
    ]
    assert "in 5 of 9 cells: page-faults 5, kmalloc 5" in said
    assert "not shown: 4 more of these rows" in said
    assert "not shown: 1 event (--top 2)" in "\n".join(suite.event_lines(made, ["new"], 100, 1))
    made = replace(
        made,
        cells=[replace(one, events={}, items=one.events) for one in cells],
        items=over,
        events=[],
        summaries=[replace(summary, events_known=0, items=5, items_known=9)],
    )
    said = "\n".join(suite.event_lines(made, ["new"], 100, 20))
    rows = [line.split()[:4] for line in said.splitlines() if line.startswith(names)]
    assert rows == [[name, largest[0], "1.00", "6.00"] for name in names]
    assert "items changed by much more than the instructions in 5 of 9 cells" in said
    for width in (60, 80):
        assert all(
            units.width(line) <= width for line in suite.event_lines(made, ["new"], width, 20)
        )
    assert not suite.event_lines(made_suite.suite(("base", "new")), ["new"], 100, 20)


def _varied(folder: Path, before: list[int], after: list[int]) -> Session:
    """A session in which page faults happen so often in each state, on both kernels; all that they
    execute differs far less."""

    def rows(faults: list[int]) -> list[Row]:
        others = [10_000_000] * len(faults)
        return [([frame(FAULT)], FAULT, True, faults), ([frame("f")], "f", True, others)]

    session = varied(folder, {"base": rows(before), "new": rows(after)})
    (folder / "kallsyms").write_text(f"{KERNEL_BASE:016x} T {FAULT}\n{KERNEL_BASE + 4:016x} T f\n")
    runs = [
        m.replace(run, files={**run.files, "kallsyms": "kallsyms"}) for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=runs))
    kept.keep(session)
    return session


def _found(session: Session) -> dict[str, tuple[float, float, int]]:
    """Of the new kernel."""
    read = KeptEvents.of(Session.open(session.folder))
    assert read is not None
    (setting,) = settings(session.manifest)
    totals = dict.fromkeys(("base", "new"), 10_000_000)
    found = cell_changes(read, setting, totals, "base", OPS)
    return {one.event.name: (one.base, one.other, one.states) for one in found["new"]}


def test_varied_states_decide(tmp_path: Path) -> None:
    same = _varied(tmp_path / "same", [1000, 900, 1100], [2000, 1800, 2200])
    assert _found(same) == {"page-faults": (1.0, 2.0, 3)}
    assert not _found(_varied(tmp_path / "other", [1000, 1000], [2000, 500]))
    # What other addresses can make, and less than one in a hundred ops.
    assert not _found(_varied(tmp_path / "few", [1000], [1003]))
    assert not _found(_varied(tmp_path / "seldom", [0], [9]))
    assert _found(_varied(tmp_path / "often", [0], [10])) == {"page-faults": (0.0, 0.01, 1)}


def test_ticks_and_states_decide_of_items(tmp_path: Path) -> None:
    def found(name: str, before: list[int], after: list[int], ticks: float | None) -> list[str]:
        session = _varied(tmp_path / name, before, after)
        read = KeptEvents.of(Session.open(session.folder))
        assert read is not None
        # What is a page fault of the made-up session is a load, which ran as often.
        names = {"page-faults": "loads", "loads": "page-faults"}
        read = replace(read, events=[names.get(one, one) for one in read.events])
        (setting,) = settings(session.manifest)
        totals = {"base": 10_000_000, "new": 11_000_000}
        floors = {"base": 0.0, "new": ticks}
        of_label = cell_changes(read, setting, totals, "base", OPS, floors=floors)
        return [one.event.name for one in of_label["new"]]

    assert found("much", [1000], [2000], 0.0) == ["loads"]
    assert found("unknown", [1000], [2000], None) == ["loads"]
    # 10% more instructions: not twice as far.
    assert not found("little", [1000], [1150], 0.0)
    assert not found("ticks", [1000], [2000], 1.0)
    assert found("states", [1000, 900], [2000, 1800], 1.0) == ["loads"]
    assert not found("depends", [1000, 1000], [2000, 500], 0.0)


def test_other_runs_have_other_events(tmp_path: Path) -> None:
    session = _varied(tmp_path / "S", [1000], [2000])
    assert KeptEvents.of(session) is not None
    failed = [
        m.replace(run, failure=m.Failure("panic", "it panicked")) if run.kernel == "new" else run
        for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=failed))
    assert KeptEvents.of(session) is None
    session.save(m.replace(session.manifest, events=None))
    assert KeptEvents.of(session) is None


def test_where_none_are_known_none_are_kept(tmp_path: Path) -> None:
    """Without kallsyms, or where it is damaged: a report has none, and says nothing of them."""
    rows: list[Row] = [([frame(FAULT)], FAULT, True, (5,))]
    bare = varied(tmp_path / "bare", {"base": rows, "new": rows})
    kept.keep(bare)
    assert bare.manifest.events is None
    (bare.folder / "kallsyms.gz").write_bytes(b"no gzip")
    runs = [
        m.replace(one, files={**one.files, "kallsyms": "kallsyms.gz"}) for one in bare.manifest.runs
    ]
    bare.save(m.replace(bare.manifest, runs=runs))
    kept.keep(bare)
    assert bare.manifest.events is None
    folder = _suite(tmp_path / "S", bare.folder)
    assert "events" not in profdiff("report", folder).stdout


def test_hostile_columns_are_refused(tmp_path: Path) -> None:
    session = _varied(tmp_path / "S", [1000], [2000])
    path = session.path(str(session.manifest.events))
    good = KeptEvents.load(path)
    for change in (
        {"point": good.point[:0]},
        {"state": good.state[:0]},
        {"labels": ["base", "base"]},
        {"events": [*good.events[1:], good.events[1]]},
        {"events": good.events[1:]},
        {"known": good.known[:, :1]},
        {"counts": good.counts[..., :2]},
        {"counts": good.counts.astype(np.float64)},
        {"interrupts": good.interrupts[:0]},
        {"way": good.way[:, :1]},
        {"way": good.way + np.uint8(100)},
        {"beside": good.beside[..., :2]},
    ):
        replace(good, **change).save(path)  # type: ignore[arg-type]
        with pytest.raises(SessionError, match="damaged"):
            KeptEvents.load(path)
        assert KeptEvents.of(session) is None


def test_sessions_of_other_versions_open(tmp_path: Path) -> None:
    session = _varied(tmp_path / "S", [1000], [2000])
    manifest = json.loads((session.folder / "manifest.json").read_text())
    del manifest["events"]
    (session.folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    assert KeptEvents.of(Session.open(session.folder)) is None
