"""What record says at its end."""

from pathlib import Path

from synthetic import manifest

from profdiff.commands import record_summary
from profdiff.session import manifest as m
from profdiff.session.folder import Session


def test_runs_that_failed_alike_are_one_line(tmp_path: Path) -> None:
    described = manifest(["a", "b"], runs=0, failed=["a", "b"])
    other = m.replace(described.runs[0], id="a-9", failure=m.Failure("timeout", "too slow"))
    described = m.replace(described, runs=[*described.runs, other])
    session = Session.create(tmp_path / "s", described)
    assert record_summary.lines(session) == [
        "2 runs failed alike: the workload ended with exit status 3",
        "failed run a-9: too slow",
    ]
