"""Experiments from the command line, in real guests: timed runs, sweeps, A/A, varied boots, two
lengths, and what is observed beside what is measured."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLE, LIGHT, RESTORED, error_line, profdiff

from profdiff.session.points import settings
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

# Touches so many pages and says what it did; each makes one fault.
TOUCH = """\
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	long pages = atol(argv[1]);
	char *region = mmap(0, pages * 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || region == MAP_FAILED)
		return 1;
	madvise(region, pages * 4096, MADV_NOHUGEPAGE);
	for (long page = 0; page < pages; page++)
		region[page * 4096] = 1;
	printf("touched: %ld pages\\nlatency: %ld.5 us\\n", pages, pages * 3);
	return 0;
}
"""


def data(session: Path, *options: str) -> Any:
    return json.loads(profdiff("report", session, *options, "--json", "-").stdout)


@pytest.fixture
def kernels(old_kernel: Path, new_kernel: Path, qemu: object) -> list[str]:
    return ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]


@pytest.fixture
def restored(kernels: list[str]) -> list[str]:
    return [*kernels, *RESTORED]


def test_timed_runs_of_a_sweep_and_more_repetitions_later(
    restored: list[str], tmp_path: Path
) -> None:
    program, session = tmp_path / "touch.c", tmp_path / "s.profdiff"
    program.write_text(TOUCH)
    options = [
        *("--collector", "timed", "--boot-runs", "3", "--sweep", "pages=10,400"),
        *("--metric", "latency:us:lower=values:latency", "--ops", "{pages}", "-o", session),
    ]
    command = ["--", program, "{pages}"]
    plan = profdiff("plan", *restored, *options, *command).stdout
    assert "4 to do" in plan
    assert "assumed" in plan
    profdiff("record", *restored, *options, *command)
    # What was not made yet hides nothing: here, exact runs.
    manifest = session / "manifest.json"
    text = manifest.read_text().rstrip()
    manifest.write_text(text.replace('"timed"\n ],', '"timed",\n  "exact"\n ],', 1))
    assert Session.open(session).manifest.collectors == ["timed", "exact"]
    shown = profdiff("report", session).stdout
    assert "no functions are shown: base has no finished profile at this point" in shown
    assert "latency, thousand instructions (guest clock" in shown
    manifest.write_text(text)
    first = Session.open(session).manifest.runs
    assert len(first) == 4
    for run in first:
        pages = int(Session.open(session).manifest.points[run.point].parameters["pages"])
        wall, latency = run.measured
        assert len(wall.values) == 3
        assert latency.values == [pages * 3 + 0.5] * 3
        assert (latency.unit, latency.is_total, wall.is_total) == ("us", False, True)
    again = [*options, "--repeat", "2"]
    assert "4 runs done, 0 failed, 4 to do" in profdiff("plan", *restored, *again, *command).stdout
    profdiff("record", *restored, *again, *command)
    assert Session.open(session).manifest.runs[:4] == first
    shown = profdiff("report", session).stdout
    assert "latency, thousand instructions (guest clock" in shown
    assert "same state" in shown
    found = data(session)["experiment"]["results"]
    by_size = {
        (one["parameters"]["pages"], one["metric"]): one["kernels"][0]["boots"] for one in found
    }
    assert by_size["400", "latency"] == [[1200.5] * 3] * 2
    # One fault a page: 390 pages more are that many faults more.
    usage = {
        point: Session.open(session).read(run, "usage") or b""
        for run in first
        if run.kernel == "base"
        for point in [run.point]
    }
    faults = [int(usage[point].split()[7]) for point in (0, 1)]
    assert faults[1] - faults[0] == pytest.approx(390, abs=4)
    profdiff("report", session, "--html", tmp_path / "page.html")
    assert "--csv needs a profile" in error_line(
        profdiff("report", session, "--csv", "-", status=2)
    )


def test_a_metric_that_is_not_there_fails_the_run(restored: list[str], tmp_path: Path) -> None:
    program, session = tmp_path / "touch.c", tmp_path / "s.profdiff"
    program.write_text(TOUCH)
    result = profdiff(
        *("record", *restored, "--metric", "values:latncy", "-o", session, "--", program, "3"),
        status=2,
    )
    assert "latncy" in error_line(result)
    assert "latency" in error_line(result)
    runs = Session.open(session).manifest.runs
    assert {run.failure.kind for run in runs if run.failure} == {"metric"}
    # Nothing is lost: what it printed is there.
    assert all(
        b"touched: 3 pages" in (Session.open(session).read(r, "stdout") or b"") for r in runs
    )


BOOTED = ["--no-restore", "--settle", "0", "--append", LIGHT]


@pytest.mark.parametrize("how", [RESTORED, pytest.param(BOOTED, marks=pytest.mark.nightly)])
def test_boots_that_vary_and_the_base_against_itself(
    old_kernel: Path, qemu: object, tmp_path: Path, how: list[str]
) -> None:
    session = tmp_path / "s.profdiff"
    vary = ["--vary-boots", "--repeat", "2", "--aa", "2", "--ops", "400"]
    profdiff(
        *("record", "--kernel", f"base={old_kernel}", *how, *vary, "--no-call-tree"),
        *("--no-observe", "-o", session, "--", EXAMPLE, "400", "1000"),
    )
    opened = Session.open(session)
    assert [kernel.twin_of for kernel in opened.manifest.kernels] == [None, "base"]
    totals = [
        run.measured[0].values[0]
        for label in ("base", "base.aa")
        for run in opened.finished(label, "exact")
    ]
    assert len(totals) == 4
    # Four boots of one kernel; what the twin shared with the base would be no noise.
    assert len(set(totals)) > 1
    assert max(totals) / min(totals) < 1.05
    if how == BOOTED:
        runs = [run.qemu for run in opened.manifest.runs if run.qemu]
        appended = [one.arguments[one.arguments.index("-append") + 1] for one in runs]
        assert all("profdiff.settle=" in text and "norandmaps" not in text for text in appended)
        assert len(set(appended)) == 4
    report = profdiff("report", session).stdout
    assert "varied on purpose" in report
    assert "NOT reproduced" not in report
    assert "A/A" in report
    assert "base.aa" not in report.split("profdiff", 1)[0]
    (result,) = data(session)["experiment"]["results"]
    assert [one["label"] for one in result["kernels"]] == ["base"]
    assert result["noise_floor"] is not None


def test_two_lengths_cancel_the_start(
    restored: list[str], counted_and_sampled: Path, tmp_path: Path
) -> None:
    """mprotect-toggle's own marks are left out of the picture: the whole command is counted at two
    lengths without being asked, and the difference has what the marks would have shown."""
    source = tmp_path / "unmarked.c"
    marked = EXAMPLE.read_text()
    plain = marked.replace("PROFDIFF_START();", "").replace("PROFDIFF_STOP();", "")
    assert plain != marked
    source.write_text(plain)
    session = tmp_path / "s.profdiff"
    command = ["--", source, "400", "{ops}"]
    said = profdiff("record", *restored, "--ops", "400", "-o", session, *command).stderr
    assert "each point also runs with half of {ops}" in said
    assert "(ops 200): restoring" in said
    assert "3 runs left, " in said
    (setting,) = settings(Session.open(session).manifest)
    assert setting.ops == 200
    report = data(session)
    rows = {row["name"]: row["self"] for row in report["metrics"][0]["functions"]}
    # Each call changes 100 PTEs.
    ptes = 200 * 100
    assert rows["commit_anon_folio_batch"]["new"] / ptes == pytest.approx(15.5, rel=0.001)
    assert rows["change_pte_range"]["new"] / ptes == pytest.approx(33.59, rel=0.01)
    # The same program with marks, and 2,000 calls: the calls, and all with what ran beside them.
    metric, with_marks = report["metrics"][0], data(counted_and_sampled)["metrics"][0]
    for label in ("base", "new"):
        ours, theirs = (
            next(row["total"][label] for row in one["functions"] if row["name"] == "do_syscall_64")
            for one in (metric, with_marks)
        )
        assert ours / 200 == pytest.approx(theirs / 2000, rel=0.005)
        each = with_marks["totals"][label] / 2000
        assert metric["totals"][label] / 200 == pytest.approx(each, rel=0.02)
    # Start-up has gone: execve() ran in both.
    assert abs(rows.get("load_elf_binary", {"new": 0})["new"]) < 100
    assert "ops 400 minus ops 200" in report["workload"]["description"]
    for fixed in report["lengths"]["fixed"]:
        assert 10**5 < fixed["count"] < report["metrics"][0]["totals"][fixed["label"]]
        assert 0 < fixed["share"] < 0.5
    assert report["lengths"]["growth"] == []
    assert any("excluded: fixed instructions (start-up" in s for s in report["evidence"])
    # The session is found complete by the same command, and not without its second length.
    assert "0 to do" in profdiff("plan", *restored, "--ops", "400", "-o", session, *command).stdout
    alone = [*restored, "--ops", "400", "--difference", "none", "-o", session, *command]
    assert "another sweep" in error_line(profdiff("plan", *alone, status=2))


def test_what_is_observed_is_not_counted(
    old_kernel: Path, new_kernel: Path, qemu: object, recorded: Path
) -> None:
    """The agent runs a marked program once more: its windows are not ours."""
    run = Session.open(recorded).finished("base", "exact")[0]
    assert run.window
    assert (run.window.kind, run.window.count) == ("marks", 2)
    observed = (Session.open(recorded).read(run, "observed") or b"").decode()
    assert "complete 1\n" in observed
    assert int(observed.split("syscall_mprotect ")[1].split()[0]) >= 220
    names = {row["name"] for row in data(recorded)["metrics"][0]["functions"]}
    assert not {name for name in names if name in ("ptrace_stop", "ptrace_report_syscall_entry")}
