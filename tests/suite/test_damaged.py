"""A suite with a workload that cannot be read: the rest is reported, and the reader is told."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import error_line, page_data, profdiff
from synthetic import Row, frame
from synthetic_joint import part

from profdiff.session import manifest as m
from profdiff.session.suite import Suite, SuiteWorkload

ONE = [m.Point({}, 1, 1000)]


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, counts)


def _recorded(folder: Path) -> None:
    kernels = {"base": [_row("walk", 80_000)], "new": [_row("walk", 120_000)]}
    part(folder, kernels, ONE)


def _cut(part: Path) -> None:
    manifest = part / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:200])


def _newer(part: Path) -> None:
    manifest = part / "manifest.json"
    manifest.write_text(manifest.read_text().replace(m.SCHEMA, "profdiff.session/99"))


def _elsewhere(part: Path) -> None:
    shutil.move(part, part.parent.parent / "moved")
    part.symlink_to(part.parent.parent / "moved")


def _other_base(part: Path) -> None:
    manifest = part / "manifest.json"
    manifest.write_text(manifest.read_text().rstrip().replace('"base"', '"other"'))


def _fifo(part: Path) -> None:
    shutil.rmtree(part)
    os.mkfifo(part)


HARM = {
    "cut": (_cut, "damaged"),
    "newer": (_newer, "schema"),
    "elsewhere": (_elsewhere, "leads out of the session folder"),
    "other-base": (_other_base, "its base is other"),
    "fifo": (_fifo, "neither a file nor a folder"),
}


@pytest.fixture(params=HARM)
def suite(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """``mprotect`` and ``getpid`` with a change of 50% each, between them ``io``, which is damaged;
    and what is said of it."""
    folder = tmp_path / "S"
    names = ["mprotect", "io", "getpid"]
    made = Suite.create(folder, "s", ["profdiff"], [SuiteWorkload(name=one) for one in names])
    for name in names:
        _recorded(made.part(name))
    harm: Callable[[Path], None]
    harm, why = HARM[request.param]
    harm(folder / "io")
    return folder, why


def test_each_form_has_the_rest_and_names_it(suite: tuple[Path, str], tmp_path: Path) -> None:
    folder, why = suite
    text = profdiff("report", folder, status=1)
    assert why in text.stderr
    assert "io is left out: " in text.stderr
    assert "2 of 2 cells cost at least 5% more" in " ".join(text.stdout.split())
    assert "io is damaged, and left out" in " ".join(text.stdout.split())
    assert "not recorded yet" not in text.stdout

    document = json.loads(profdiff("report", folder, "--json", "-", status=1).stdout)
    assert [one["name"] for one in document["cells"]] == ["mprotect", "getpid"]
    (damaged,) = document["damaged"]
    assert damaged["name"] == "io"
    assert why in damaged["why"]

    rows = list(
        csv.DictReader(io.StringIO(profdiff("report", folder, "--csv", "-", status=1).stdout))
    )
    assert [row["cell"] for row in rows if row["missing"] == "damaged"] == ["io"]
    assert {row["cell"] for row in rows if row["value"]} == {"mprotect", "getpid"}

    page, site = tmp_path / "page.html", tmp_path / "site"
    profdiff("report", folder, "--html", page, "--site", site, status=1)
    assert why in page_data(page)
    (told,) = json.loads((site / "index.json").read_text())["damaged"]
    assert why in told["why"]


def test_other_cells_open(suite: tuple[Path, str]) -> None:
    folder, why = suite
    assert "walk" in profdiff("report", folder, "--cell", "getpid").stdout
    # With another base it is a session like any other.
    if why != HARM["other-base"][1]:
        assert why in error_line(profdiff("report", folder, "--cell", "io", status=2))


def test_a_check_does_not_pass_over_it(suite: tuple[Path, str]) -> None:
    folder, why = suite
    words = ("check", folder, "--fail-if", "instructions > +90%")
    if why == HARM["other-base"][1]:
        # It compares each session with its own base.
        assert "3 of 3 pass" in profdiff(*words).stdout
    else:
        assert why in error_line(profdiff(*words, status=125))


def test_an_atlas_has_the_rest(suite: tuple[Path, str], tmp_path: Path) -> None:
    folder, why = suite
    whole, lost = tmp_path / "whole", tmp_path / "lost"
    _recorded(whole)
    _recorded(lost)
    _cut(lost)
    site = tmp_path / "site"
    said = profdiff("atlas", folder, whole, lost, "--site", site, status=1)
    assert f"{lost} is left out: " in said.stderr
    assert "S: io is left out: " in said.stderr
    record = json.loads((site / "index.json").read_text())
    assert [one["name"] for one in record["sources"]] == ["S", "whole"]
    assert [one["name"] for one in record["damaged"]] == [str(lost), "S: io"]
    assert why in record["damaged"][1]["why"]
    assert "damaged" in error_line(profdiff("atlas", lost, "--site", site, status=2))
