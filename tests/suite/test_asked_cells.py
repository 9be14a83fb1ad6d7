"""What of a suite was asked for: the rest of it is not missing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import profdiff
from synthetic import Row, frame
from synthetic_joint import part

from profdiff.recording.merge import merge
from profdiff.session import manifest as m
from profdiff.session.suite import Choice, Suite, SuiteWorkload

WORKLOADS = [
    SuiteWorkload(name="mprotect", tags=["mm"], op="call"),
    SuiteWorkload(name="mmap", tags=["mm"], op="call"),
    SuiteWorkload(name="getpid", tags=["misc"], op="call"),
]
POINTS = (m.Point({"size": "4k"}, 1, 10), m.Point({"size": "64k"}, 1, 10))


def _suite(
    folder: Path, choices: Sequence[Choice], begun: Sequence[str] = ("mprotect",), point: int = 0
) -> Suite:
    """With runs of the workloads that were ``begun``, at one of their two points."""
    made = Suite.create(folder, "calls", ["profdiff", "record"], WORKLOADS, choices)
    for name in begun:
        rows: list[Row] = [([frame("f")], "f", True, (1000, 2000))]
        session = part(folder / name, {"base": rows, "new": rows}, POINTS)
        runs = [run for run in session.manifest.runs if run.point == point]
        session.save(m.replace(session.manifest, runs=runs))
    return made


def _report(folder: Path) -> tuple[list[str], str]:
    """The names of its cells, and its remarks."""
    document = json.loads(profdiff("report", folder, "--json", "-").stdout)
    return [cell["name"] for cell in document["cells"]], " ".join(document["remarks"])


@pytest.mark.parametrize(
    ("choices", "cells", "lacking"),
    [
        pytest.param([Choice(only=["mprotect/4k"])], 1, "", id="one cell"),
        pytest.param([Choice(only=["mprotect/*"])], 2, "", id="a cell that is still missing"),
        pytest.param([Choice(tags=["mm"])], 2, "mmap", id="a tag"),
        pytest.param([Choice(tags=["mm"], only=["m*/4k"])], 1, "mmap", id="both"),
        pytest.param(
            [Choice(only=["mprotect/4k"]), Choice(only=["getpid"])], 1, "getpid", id="another later"
        ),
        pytest.param([Choice(only=["mprotect/4k"]), Choice()], 2, "mmap, getpid", id="all later"),
    ],
)
def test_what_was_not_asked_for_is_not_missing(
    tmp_path: Path, choices: Sequence[Choice], cells: int, lacking: str
) -> None:
    names, remarks = _report(_suite(tmp_path / "S", choices).folder)
    assert names == ["mprotect/4k", "mprotect/64k"][:cells]
    assert remarks.partition("not recorded yet: ")[2] == lacking
    assert "shard" not in remarks


def test_what_has_a_value_is_shown(tmp_path: Path) -> None:
    """Whatever was asked for."""
    names, _ = _report(_suite(tmp_path / "S", [Choice(only=["getpid"])]).folder)
    assert names == ["mprotect/4k"]


def test_a_shard_says_so_and_what_is_merged_does_not(tmp_path: Path) -> None:
    first = _suite(tmp_path / "1", [Choice(only=["mprotect*"], shard="1/2")])
    other = _suite(tmp_path / "2", [Choice(only=["mprotect*"], shard="2/2")], point=1)
    _, remarks = _report(first.folder)
    assert "only shard 1 of 2: the other runs are elsewhere" in remarks
    assert "not recorded yet" not in remarks
    merge(tmp_path / "S", [first.folder, other.folder])
    names, remarks = _report(tmp_path / "S")
    assert names == ["mprotect/4k", "mprotect/64k"]
    assert not remarks.count("shard")
    assert not remarks.count("not recorded yet")


def test_record_keeps_what_it_was_asked_for(tmp_path: Path) -> None:
    made = _suite(tmp_path / "S", [Choice(only=["mprotect/4k"])])
    again = made.with_workloads(WORKLOADS, ["profdiff"], [Choice(only=["mprotect/4k"])])
    assert list(again.choices) == [Choice(only=["mprotect/4k"])]
    assert list(Suite.open(made.folder).choices) == list(again.choices)
