"""``report --layout`` and conditions about data: what they show of a session, and what they say
where nothing is known."""

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest
from goldens import check_golden, check_schema
from layout.made_data import Variable, kernel, session
from made_accesses import LOAD, STORE, Layout, Site
from support import ROOT, error_line, profdiff

from profdiff.base import units
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.views import recorded_layout

_BASE: Layout = (
    128,
    {"lock.count": (0, 8), "lock.owner": (8, 8), "total": (56, 8), "flags": (64, 8)},
)
_NEW: Layout = (
    192,
    {"lock.count": (64, 8), "lock.owner": (72, 8), "total": (128, 8), "seq": (136, 4)},
)
_SAME: Layout = (16, {"a": (0, 8), "b": (8, 8)})
_SITES = [
    Site("lock.count", 100, does=frozenset({LOAD, STORE}), type="mm"),
    Site("total", 40, type="mm", offset=56),
    Site("a", 10, type="same"),
    Site("", 30, kind="global", type="", symbol="hot"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session whose second kernel moved the lock to another line, and has another neighbour."""
    before = [Variable("hot", 0x100, 8, True), Variable("cold", 0x108, 4)]
    after = [Variable("hot", 0x138, 8, True), Variable("busy", 0x130, 8)]
    base = kernel([*_SITES, Site("flags", 5, type="mm")], {"mm": _BASE, "same": _SAME}, before)
    new = kernel([*_SITES, Site("seq", 7, type="mm")], {"mm": _NEW, "same": _SAME}, after)
    folder = tmp_path_factory.mktemp("layout") / "made.profdiff"
    return session(folder, {"base": base, "new": new})


def test_the_text(made: Path) -> None:
    said = profdiff("report", made, "--layout", "--width", "90").stdout
    check_golden(ROOT / "tests/layout/recorded.txt", said, "tests/layout -k recorded")
    assert "miss" not in said
    for width in (60, 100, 160):
        shown = profdiff("report", made, "--layout", "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in shown.splitlines())


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/recorded-layout.schema.json", recorded_layout.schema(), "layout")


def test_json_and_csv_have_all(made: Path, tmp_path: Path) -> None:
    schema = json.loads((ROOT / "profdiff/recorded-layout.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    files = ["--json", tmp_path / "layout.json", "--csv", tmp_path / "layout.csv"]
    assert not profdiff("report", made, "--layout", *files).stdout
    document = json.loads((tmp_path / "layout.json").read_text())
    jsonschema.validate(document, schema)
    types = {one["name"]: one for one in document["types"]}
    changes = {one["name"]: one["changes"] for one in types["mm"]["fields"]}
    assert changes == {
        "lock.count": {"new": "line"},
        "total": {"new": "line"},
        "flags": {"new": "gone"},
        "seq": {"new": "new"},
    }
    # lock.count and total in line 0, flags in line 1; lock.count in 1, total and seq in 2.
    assert types["mm"]["lines"] == {"base": 2, "new": 2}
    (hot,) = document["variables"]
    assert (hot["came"], hot["went"]) == ({"new": ["busy"]}, {"new": ["cold"]})
    assert {label: place["at"] for label, place in hot["places"].items()} == {"base": 0, "new": 56}
    rows = list(csv.DictReader(io.StringIO((tmp_path / "layout.csv").read_text())))
    kinds = [row["kind"] for row in rows]
    assert {kind: kinds.count(kind) for kind in ("type", "field", "variable", "neighbour")} == {
        "type": 4,
        "field": 3 + 3 + 2,
        "variable": 2,
        "neighbour": 2,
    }


@pytest.mark.parametrize(
    ("condition", "status", "words"),
    [
        ("layout:mm.lock moved", 1, "new: mm.lock in line 1 (base: line 0)"),
        ("layout:mm.lock.count moved", 1, "new: mm.lock.count in line 1 (base: line 0)"),
        ("layout:mm.flags moved", 1, "new: mm.flags is not there (base: line 1)"),
        ("layout:same.b moved", 0, "new: same.b in line 0 (base: line 0)"),
        ("layout:mm.seq moved", 125, "mm has no seq on base"),
        ("layout:mm.totl moved", 125, "did you mean total?"),
        ("layout:mmm.lock moved", 125, "no kernel accesses a type mmm; did you mean mm?"),
        ("lines:mm > +0", 0, "2 to 2"),
        ("lines:mm >= +0", 1, "2 to 2; lines, if objects are aligned to one"),
        ("lines:other > +0", 125, "no kernel accesses a type other"),
        ("loads:mm.total > +0", 0, "40 to 40"),
        ("stores:mm.lock > -1", 1, "100 to 100"),
        ("stores:mm.total > -1", 1, "none, 0 to 0"),
        ("loads:mm.seq > +6", 1, "new, 0 to 7"),
        ("loads:mm.nothing > +0", 125, "no kernel accesses mm.nothing"),
    ],
)
def test_conditions_about_data(made: Path, condition: str, status: int, words: str) -> None:
    assert words in profdiff("check", made, "--fail-if", condition, status=status).stdout


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("layout:mm moved", "layout:TYPE.FIELD"),
        ("layout:mm.lock > +0", "'layout:mm.lock moved'"),
        ("layout:total moved", "layout:TYPE.FIELD"),
        ("lines:mm.lock > +0", "whole type"),
        ("lines:mm > +1/op", "not per op"),
        ("lines:mm moved", "'lines:mm > +0'"),
        ("loads:mm.total moved", "'loads:mm.total > +0'"),
        ("loads:total:mm.total > +0", "write loads:mm.total"),
        ("instructions moved", "no bound"),
        ("loads:f0.isra.0 > +0", "no function 'f0.isra.0'"),
        ("layot:mm.lock moved", "did you mean 'layout'"),
    ],
)
def test_conditions_that_mean_nothing(made: Path, condition: str, words: str) -> None:
    assert words in error_line(profdiff("check", made, "--fail-if", condition, status=2))


def test_where_nothing_is_known_of_data(tmp_path: Path) -> None:
    known = kernel(_SITES, {"mm": _BASE, "same": _SAME})
    folder = session(tmp_path / "s.profdiff", {"base": known, "new": None})
    said = profdiff("report", folder, "--layout", "--width", "300").stdout
    assert said.startswith("Accessed data is not known (new: ")
    assert "profdiff layout base=kernels/base new=kernels/new TYPE... tells" in said
    for condition in ("layout:mm.lock moved", "lines:mm > +0", "loads:mm.total > +0"):
        shown = profdiff("check", folder, "--fail-if", condition, status=125).stdout
        assert "is not known" in shown


def test_cells_of_a_suite_that_do_not_access_the_type_are_passed_over(tmp_path: Path) -> None:
    described = [SuiteWorkload(name=name, tags=[], op="call") for name in ("with", "without")]
    suite = Suite.create(tmp_path / "suite", "suite", ["profdiff"], described)
    for name, sites in (("with", _SITES), ("without", _SITES[2:])):
        kernels = {
            label: kernel(sites, {"same": _SAME, **({"mm": layout} if name == "with" else {})})
            for label, layout in (("base", _BASE), ("new", _NEW))
        }
        session(suite.part(name), kernels)
    condition = ("check", suite.folder, "--fail-if")
    said = profdiff(*condition, "layout:mm.lock moved", status=1).stdout
    assert "mm.lock in line 1" in said and "without" not in said
    assert "2 of 2 pass" in profdiff(*condition, "layout:same.a moved").stdout
    missing = profdiff(*condition, "layout:mmm.lock moved", status=2)
    assert "no kernel accesses a type mmm" in error_line(missing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--user-only"], "--layout shows the kernel alone"),
        (["--html", "page.html"], "--layout cannot be written with --html"),
        (["--svg", "-"], "use --csv, --json and --text"),
    ],
)
def test_what_is_refused(made: Path, options: list[str], words: str) -> None:
    assert words in error_line(profdiff("report", made, "--layout", *options, status=2))
