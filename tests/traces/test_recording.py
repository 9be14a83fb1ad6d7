"""Functions that are timed in guests, after exact counts have said which."""

import json
from pathlib import Path
from typing import Any

import pytest
import whole_run
from browsed_page import opened
from support import EXAMPLE, RESTORED, error_line, profdiff
from tables import rows, tables

from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest
# A function that the new kernel alone has, and inlines into this one.
INLINED, HOLDER = "commit_anon_folio_batch", "change_protection_range"


@pytest.fixture(scope="module")
def traced(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """A session with exact counts, then with the functions timed that these single out."""

    def make(folder: Path) -> None:
        kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
        command = ["record", *RESTORED, *kernels, "--ops", "20000", "-o", folder / "s.profdiff"]
        workload = ["--", EXAMPLE, "400", "100"]
        profdiff(*command, *workload)
        said = error_line(
            profdiff(
                *command, "--collector", "trace", "--trace-function", INLINED, *workload, status=2
            )
        )
        (folder / "refused").write_text(said)
        profdiff(*command, "--collector", "trace", *workload)

    return whole_run.once("traced", make)


def test_an_inlined_function_is_refused_with_its_holder(traced: Path) -> None:
    assert (traced / "refused").read_text() == (
        f"--trace-function {INLINED}: new inlines it into {HOLDER}, so it has no entry of its "
        f"own: name {HOLDER}"
    )


def test_calls_are_those_that_are_counted(traced: Path) -> None:
    """The window of exact counts is a part of the command; the program's start has a few calls."""
    manifest = json.loads((traced / "s.profdiff/manifest.json").read_text())
    names = manifest["options"]["trace_functions"]
    assert "mprotect_fixup" in names
    assert HOLDER in names
    assert INLINED not in names
    document = json.loads(profdiff("report", traced / "s.profdiff", "--json", "-").stdout)
    (counted,) = document["metrics"]
    stacks = document["stacks"][counted["stacks"]]
    number = {one["name"]: row for row, one in enumerate(counted["functions"])}
    runs = {run["kernel"]: run for run in manifest["runs"] if run["collector"] == "trace"}
    for label in ("base", "new"):
        values = {one["name"]: one["values"][0] for one in runs[label]["measured"]}
        for name in ("mprotect_fixup", HOLDER):
            of_function = [at == number[name] for at in stacks["function"]]
            calls = counted["calls"][label]
            exact = sum(n for mine, n in zip(of_function, calls, strict=True) if mine)
            assert exact <= values[f"{name}.calls"] <= exact + 30
            assert values[f"{name}.p50"] <= values[f"{name}.p90"] <= values[f"{name}.p99"]
        (cost,) = [text for text in runs[label]["remarks"] if text.startswith("tracing changes")]
        assert 0 < float(cost.rpartition("by +")[2].strip("%")) < 100
        # A function's time has that of what it calls.
        assert values[f"{HOLDER}.average"] < values["do_mprotect_pkey.average"]
        assert "trace" not in runs[label]["files"]


def test_the_report_has_histograms(traced: Path) -> None:
    document = json.loads(profdiff("report", traced / "s.profdiff", "--json", "-").stdout)
    manifest = json.loads((traced / "s.profdiff/manifest.json").read_text())
    known = {table["title"].partition(":")[0]: table for table in tables(document, "traces")}
    for run in manifest["runs"]:
        values = {one["name"]: one["values"][0] for one in run["measured"]}
        for name, one in known.items() if run["collector"] == "trace" else ():
            of_kernel = [row["calls"][run["kernel"]] for row in rows(one)]
            assert sum(of_kernel) == values[f"{name}.calls"]
            assert "from so many instructions (guest clock) on" in one["title"]
            lows = [row["from"] for row in rows(one)]
            assert lows == [lows[0] << at for at in range(len(lows))]
    text = profdiff("report", traced / "s.profdiff", "--ascii").stdout
    assert "mprotect_fixup: calls by how long each took, from so many instructions" in text
    assert "by ftrace, whole command" in text
    assert "mprotect_fixup.p99, instructions" in text
    condition = ["--fail-if", '"mprotect_fixup.p50" > +900%']
    profdiff("check", traced / "s.profdiff", *condition)


def test_the_page_has_histograms(traced: Path, browser: Any, tmp_path: Path) -> None:
    profdiff("report", traced / "s.profdiff", "--html", tmp_path / "page.html")
    document = json.loads(profdiff("report", traced / "s.profdiff", "--json", "-").stdout)
    with opened(browser, tmp_path / "page.html") as page:
        for one in tables(document, "traces"):
            table = page.locator(f"#traces h3:text-is('{one['title']}') + * table")
            lines = [row.split("\t") for row in table.inner_text().splitlines()]
            assert lines[0] == ["from", "calls base", "calls new", "base", "new"]
            shown = [[int(cell.replace(",", "")) for cell in row[:3]] for row in lines[1:]]
            assert shown == [[row["from"], *row["calls"].values()] for row in rows(one)]
            assert max(len(row[at].strip()) for row in lines[1:] for at in (3, 4)) == 20
