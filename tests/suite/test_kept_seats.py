"""The seats of changes in what sessions keep, and in reports of suites and in atlases."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from browsed_page import opened
from support import profdiff
from synthetic import Row, frame
from synthetic_joint import part

from profdiff.profile.kept import keep
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

LABELS = ("6.1", "6.2", "6.3")


def _rows(each: int, more: int = 0) -> list[Row]:
    """mmap() calls ``store``, which calls ten functions, and munmap()."""
    paths = {f"do_syscall_64 mmap store f{n}": each + n for n in range(10)}
    paths["do_syscall_64 munmap"] = 1000 + more
    return [
        ([frame(name) for name in path.split()], "do_syscall_64", True, (10 * count,))
        for path, count in paths.items()
    ]


def _suite(folder: Path) -> Suite:
    """6.2 executes 1,000 more in ``store``; 6.3 1,100 more in munmap()."""
    made = Suite.create(
        folder, "maps", ["profdiff", "record"], [SuiteWorkload(name="mmap", op="call")]
    )
    kernels = {"6.1": _rows(100), "6.2": _rows(200), "6.3": _rows(200, 1100)}
    session = part(folder / "mmap", kernels, [m.Point({}, 1, 10)])
    named = [
        m.replace(one, release=one.label, build_id=f"{n:040x}")
        for n, one in enumerate(session.manifest.kernels)
    ]
    session.save(m.replace(session.manifest, kernels=named))
    keep(Session.open(session.folder))
    return made


def _run(*arguments: str | Path) -> str:
    return profdiff(*arguments).stdout


def test_they_are_kept_against_the_base_and_from_kernel_to_kernel(tmp_path: Path) -> None:
    session = Session.open(_suite(tmp_path / "S").folder / "mmap")
    counts = FunctionCounts.of(session)
    assert counts.kept
    found = counts.at(settings(session.manifest)[0])
    assert found is not None and found.seats is not None

    def seat(label: str, since: str) -> tuple[str, int] | None:
        one = found.seats and found.seats.seat(label, since)
        return (one.function.name, one.delta) if one else None

    assert seat("6.2", "6.1") == ("store", 10_000)
    assert seat("6.3", "6.2") == ("munmap", 11_000)
    assert seat("6.3", "6.1") == ("munmap", 11_000)
    assert seat("6.1", "6.2") == ("store", -10_000)
    assert seat("6.1", "6.1") is None
    assert seat("6.9", "6.1") is None


def test_suites_name_them(tmp_path: Path) -> None:
    folder = _suite(tmp_path / "S").folder
    (row,) = [one for one in _run("report", folder, "--width", 140).splitlines() if "+102" in one]
    assert row.endswith("munmap 52%")
    document = json.loads(_run("report", folder, "--json", "-"))
    seats = document["cells"][0]["seats"]
    assert seats["6.2"] == {
        "name": "store",
        "object": "vmlinux",
        "side": "kernel",
        "delta": 1000.0,
        "share": 1.0,
    }
    rows = list(csv.DictReader(io.StringIO(_run("report", folder, "--csv", "-"))))
    assert [(one["seat"], one["seat_delta"]) for one in rows] == [
        ("", ""),
        ("store", "1000.0"),
        ("munmap", "1100.0"),
    ]


def test_an_atlas_names_them(browser: Any, tmp_path: Path) -> None:
    folder = _suite(tmp_path / "S").folder
    _run("atlas", folder, "-o", tmp_path / "site")
    told = json.loads((tmp_path / "site/index.json").read_text())
    points = told["series"][0]["cells"][0]["points"]
    assert [one["step"] and one["step"]["seat"]["name"] for one in points] == [
        None,
        "store",
        "munmap",
    ]
    with opened(browser, tmp_path / "site/index.html") as page:
        assert "store" in page.locator("td code").all_inner_texts()


@pytest.mark.parametrize("form", ["text", "mail"])
def test_a_session_names_it(tmp_path: Path, form: str) -> None:
    folder = _suite(tmp_path / "S").folder / "mmap"
    said = " ".join(_run("report" if form == "text" else "mail", folder).split())
    assert "munmap" in said
    told = "100% of the increase (+1,000.00 per op) is in store and its callees (f0: 10%"
    assert form == "mail" or told in said
