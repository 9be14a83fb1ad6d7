"""A series from a repository to a report: built in order, one hole, and one commit more later."""

import json
from pathlib import Path

import pytest
import small_linux
from made_repository import Made, make
from support import RESTORED, error_line, profdiff, shared_states

from profdiff.session.session import Session

pytestmark = pytest.mark.guest

TIMED = ["--collector", "timed", "--no-observe", *RESTORED]


def test_a_series_is_recorded_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_linux.kernels(monkeypatch)
    cache = shared_states(tmp_path / "cache")
    monkeypatch.setenv("PROFDIFF_CACHE", str(cache))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    commits = {
        "v1": Made(small_linux.tree("v6.12.107"), subject="Linux 6.12"),
        "broken": Made(small_linux.tree("broken"), ["v1"], "mm/mprotect: hoist a check"),
        "slow": Made(small_linux.tree("v6.18.15"), ["broken"], "mm: mprotect: use a helper"),
        "fast": Made(small_linux.tree("v7.1.8"), ["slow"], "mm: a fast path"),
    }
    repository = make(tmp_path / "linux", commits)
    folder = tmp_path / "s.profdiff"
    hoist, helper, path = (
        f"{repository.commits[name][:7]}-{words}"
        for name, words in (
            ("broken", "hoist-a-check"),
            ("slow", "use-a-helper"),
            ("fast", "a-fast-path"),
        )
    )

    def record(tip: str, *more: str, status: int = 0) -> str:
        words = ["record", "--series", f"git:{repository.folder}@v1..{tip}", *more, "-o", folder]
        done = profdiff(*words, *TIMED, "--", "true", status=status)
        return error_line(done) if status else done.stdout + done.stderr

    # Nothing is recorded of a series whose commits all fail to build.
    assert f"no commit of the series builds; the first, {hoist}: " in record("broken", status=2)
    assert not folder.exists()

    told = record("slow")
    # When it happens, and at the end.
    hole_told = told.index(f"{hoist}: not built; recording the others: mm/mprotect.c")
    assert hole_told < told.index(f"{helper}: building")
    assert f"{hoist}: not built: " in told
    labels = ["base", hoist, helper]
    manifest = Session.open(folder).manifest
    assert [kernel.label for kernel in manifest.kernels] == labels
    base, hole, slow = manifest.kernels
    assert (hole.image_sha256, hole.source) == (None, None)
    assert "mm/mprotect.c:" in hole.hole
    assert "there_is_no_such" in hole.hole
    assert "\n" not in hole.hole
    assert str(tmp_path) not in hole.hole
    assert base.source
    assert slow.source
    assert (base.source.commit, slow.source.built) == (
        repository.commits["v1"],
        repository.commits["slow"],
    )
    assert [(run.kernel, run.failure) for run in manifest.runs if run.kernel != "base"] == [
        (helper, None)
    ]

    # One more commit: what was recorded stays as it is.
    told = record("fast")
    assert f"adds {path} to {folder}" in told
    again = Session.open(folder).manifest
    assert again.runs[: len(manifest.runs)] == manifest.runs
    assert [run.kernel for run in again.runs[len(manifest.runs) :]] == [path]
    assert [kernel.label for kernel in again.kernels] == [*labels, path]
    assert again.kernels[2].release == "6.18.15-profdiff"

    document = json.loads(profdiff("report", folder, "--json", "-").stdout)
    assert [one["label"] for one in document["holes"]] == [hoist]
    assert [one["source"]["subject"] for one in document["kernels"]] == [
        "Linux 6.12",
        "mm: mprotect: use a helper",
        "mm: a fast path",
    ]
    report = profdiff("report", folder).stdout
    rows = [line.split() for line in report.splitlines()]
    assert [hoist, "not", "built"] in rows

    # After a rebase that drops a commit: nothing is built, nothing is appended.
    dropped = make(
        tmp_path / "rebased",
        {"v1": commits["v1"], "slow": Made(small_linux.tree("v6.18.15"), ["v1"], "mm: a helper")},
    )
    words = ["--series", f"git:{dropped.folder}@v1..slow"]
    refused = profdiff("record", *words, "-o", folder, *TIMED, "--", "true", status=2)
    assert (
        f"where it has {hoist}, kernel 2 of 4, the series now has {dropped.commits['slow'][:7]}"
        in (error_line(refused))
    )
    assert "building" not in refused.stderr
    assert Session.open(folder).manifest == again

    # A kernel of the same label from another history is another kernel.
    words = ["--kernel", f"base=git:{repository.folder}@v1"]
    words += ["--kernel", f"{helper}=git:{repository.folder}@fast"]
    refused = profdiff("record", *words, "-o", folder, *TIMED, "--", "true", status=2)
    assert f"another kernel called {helper}" in error_line(refused)
