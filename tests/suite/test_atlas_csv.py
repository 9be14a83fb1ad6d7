"""The lines of an atlas as CSV, as Apache Otava's importer reads a file: names of columns, a time,
numbers only, and one branch at a time."""

import csv
from datetime import datetime
from pathlib import Path

from made_atlas import session, suite
from support import profdiff

from profdiff.session import manifest as m

OLD, MID, NEW = "6.1.170", "6.12.95", "7.3.4"
HEAD = ["time", "branch", "release", "build_id", "compiler"]


def written(tmp_path: Path, *folders: Path) -> list[dict[str, str]]:
    profdiff("atlas", *folders, "-o", tmp_path / "site", "--csv", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_for_each_release_and_a_column_for_each_cell(tmp_path: Path) -> None:
    suite(tmp_path / "one", {"mprotect": {MID: {"walk": 100}, NEW: {"walk": 190}}})
    both = {"mprotect": {OLD: {"walk": 90}, MID: {"walk": 100}}, "getpid": {OLD: {"entry": 7}}}
    suite(tmp_path / "two", both)
    rows = written(tmp_path, tmp_path / "one", tmp_path / "two")
    assert list(rows[0]) == [*HEAD, "mprotect", "getpid"]
    assert [row["release"] for row in rows] == [OLD, MID, NEW]
    assert [float(row["mprotect"]) for row in rows] == [90, 100, 190]
    assert [row["getpid"] for row in rows] == ["7.0", "nan", "nan"]
    assert {row["branch"] for row in rows} == {"instructions"}
    assert all(datetime.fromisoformat(row["time"]).tzinfo for row in rows)
    assert len({row["build_id"] for row in rows}) == 3


def test_series_that_cannot_be_compared_are_branches(tmp_path: Path) -> None:
    session(tmp_path / "a.profdiff", {OLD: {"walk": 1}, NEW: {"walk": 2}})
    made = session(tmp_path / "b" / "a.profdiff", {OLD: {"walk": 5}, NEW: {"walk": 9}})
    runs = [
        m.replace(run, qemu=m.replace(run.qemu, version="QEMU 11"))
        for run in made.manifest.runs
        if run.qemu
    ]
    made.save(m.replace(made.manifest, runs=runs))
    rows = written(tmp_path, tmp_path / "a.profdiff", tmp_path / "b" / "a.profdiff")
    branches = list(dict.fromkeys(row["branch"] for row in rows))
    assert len(branches) == 2
    values = [[float(row["a"]) for row in rows if row["branch"] == one] for one in branches]
    assert sorted(values) == [[1, 2], [5, 9]]
