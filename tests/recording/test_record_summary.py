"""What record says at its end."""

from pathlib import Path

import synthetic_series
from synthetic import manifest
from synthetic_session import exact_session

from profdiff.commands import record_summary as record_summary
from profdiff.session import manifest as m
from profdiff.session.session import Session


def test_runs_that_failed_alike_are_one_line(tmp_path: Path) -> None:
    described = manifest(["a", "b"], runs=0, failed=["a", "b"])
    other = m.replace(described.runs[0], id="a-9", failure=m.Failure("timeout", "too slow"))
    described = m.replace(described, runs=[*described.runs, other])
    session = Session.create(tmp_path / "s", described)
    assert record_summary.lines(session) == [
        "2 runs failed the same way: the workload ended with exit status 3",
        "failed run a-9: too slow",
    ]


def test_a_failed_run_shows_its_output(tmp_path: Path) -> None:
    """The last lines of both streams, fit for a terminal, and where the rest is."""
    described = manifest(["a", "b"], runs=0, failed=["a", "b"])
    first = described.runs[0]
    files = {what: f"runs/{first.id}/{what}" for what in ("stdout", "stderr", "dmesg")}
    runs = [m.replace(first, files=files), *described.runs[1:]]
    session = Session.create(tmp_path / "s", m.replace(described, runs=runs))
    folder = session.run_folder(first.id)
    (folder / "stdout").write_text("one\ntwo\nthree\n\nfour\x1b[2J\n")
    (folder / "stderr").write_text("table 3 is damaged\n")
    assert record_summary.lines(session)[1:] == [
        "  stdout: two",
        "  stdout: three",
        "  stdout: four\\u{1b}[2J",
        "  stderr: table 3 is damaged",
        f"  output and logs of {first.id}: {folder} (stdout, stderr and dmesg)",
    ]


def test_a_series_says_what_its_steps_are_against(tmp_path: Path) -> None:
    """A heading, a unit, and the kernel before; a hole is no step."""
    lines = record_summary.lines(synthetic_series.series(tmp_path / "s.profdiff"))
    at = lines.index("Each kernel against the one before (instructions per op):")
    assert lines[at - 1] == ""
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["kernel", "delta", "change", "most", "function"],
        ["1-hoist", "-10.00", "-15.4%", "-20.00", "can_change_pte_writable"],
        ["3-helper", "+3.10", "+5.6%", "+11.00", "commit_protection"],
    ]
    assert lines[-1].startswith("2-broken: not built: ")


def test_two_kernels_say_which_is_the_base(tmp_path: Path) -> None:
    lines = record_summary.lines(exact_session(tmp_path / "s.profdiff"))
    at = lines.index("Functions that changed most, against base (instructions):")
    assert lines[at + 1].split() == ["kernel", "delta", "change", "function"]
    assert len(lines[at + 2 :]) == 3
    assert all(line.startswith("new ") for line in lines[at + 2 :])
