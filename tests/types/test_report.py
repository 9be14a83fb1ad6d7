"""``profdiff report --types``: what it prints and writes, and what it refuses."""

import csv
import io
import json
import shutil
from pathlib import Path

import jsonschema
import pytest
import synthetic_joint
from goldens import check_golden
from made_accesses import LOAD, STORE, Layout, Site, session
from support import ROOT, error_line, profdiff, unclaimed
from synthetic_session import exact_session
from tables import rows, tables

from profdiff.base import units
from profdiff.profile.data.table import WORDS
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import REASONS

BOTH, STORES = frozenset({LOAD, STORE}), frozenset({STORE})
LAYOUTS: dict[str, Layout] = {
    "page": (64, {"flags": (0, 8), "mapping": (24, 8), "pp_magic": (8, 8)}),
    "folio": (64, {"flags": (0, 8), "mapping": (24, 8)}),
    "vm_area_struct": (128, {"vm_flags": (32, 8), "vm_file": (96, 8)}),
}


def _vma(count: int, path: str = "vm_flags", offset: int = 32, **more: object) -> Site:
    site = Site(path, count, "change_pte_range", type="vm_area_struct", offset=offset)
    return site._replace(**more)  # type: ignore[arg-type]


def kernels() -> dict[str, list[Site]]:
    """In the manner of mprotect."""
    stack = Site("", 0, "change_pte_range", kind="spill", type="")
    copied = Site("x", 40, "memcpy", file="").hidden("assembly")
    base = [
        _vma(560),
        _vma(90, "vm_file", 96),
        Site("flags", 600, "vm_normal_page", type="page"),
        stack._replace(count=3148),
        Site("", 700, "work", kind="push", type="", does=STORES),
        copied,
        Site("", 30, "copy", does=BOTH).hidden("user-memory"),
    ]
    new = [
        _vma(1937, function="vma_test", inlined="change_pte_range", file="include/linux/mm.h"),
        _vma(90, "vm_file", 56),
        Site("flags", 550, "vm_normal_page", type="folio"),
        Site("mapping", 275, "vm_normal_page", type="folio", offset=24),
        Site("owner", 80, "lock", type="mutex", does=BOTH),
        Site("owner", 80, "lock", does=STORES).hidden("void-pointer"),
        Site("", 275, "vm_normal_page", kind="global", type="long", symbol="highest_memmap_pfn"),
        Site(
            "pp_magic",
            40,
            "compound_head",
            type="page",
            offset=8,
            alternatives=["mapping", "lru.next"],
            flags=int(known.AMBIGUOUS),
        ),
        stack._replace(count=9630),
        stack._replace(count=1650, kind="canary", function="vm_normal_page"),
        Site("bits", 2518, "pte_flags", kind="stack-variable", symbol="f", type="vma_flags_t"),
        copied,
    ]
    return {"base": base, "new": new}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with these kernels."""
    folder = tmp_path_factory.mktemp("types") / "made.profdiff"
    session(folder, kernels(), LAYOUTS, ops=10)
    return folder


def test_the_text(recorded: Path) -> None:
    for by in ("field", "type", "line"):
        said = profdiff("report", recorded, "--types", "--by", by).stdout
        check_golden(ROOT / f"tests/types/by_{by}.txt", said, "tests/types -k the_text")
    for width in (60, 80, 140):
        said = profdiff("report", recorded, "--types", "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in said.splitlines())
    assert said.startswith("new executes 1,724.50 loads and stores per op, base 519.80: +207.70")
    assert "new loads vm_area_struct.vm_flags 193.70 times per op, base 56.00" in said


def test_what_options_of_tables_do(recorded: Path) -> None:
    def lines(*options: str) -> list[str]:
        return profdiff("report", recorded, "--types", *options).stdout.splitlines()

    # Nothing else has such digits.
    assert any("vm_file" in line for line in lines())
    assert not any("vm_file" in line for line in lines("--min-delta", "1"))
    few = lines("--top", "1")
    # One of data, and one of the stack.
    assert sum(" load  " in line for line in few) == 2
    assert any(line.split()[:2] == ["560", "1,937"] for line in lines("--absolute"))
    assert any("3.46x" in line for line in lines("--ratio"))
    assert lines("--kernel-only") == lines()
    assert "\n".join(lines("--ascii")).isascii()


def test_an_unsure_difference_has_no_number(recorded: Path) -> None:
    said = profdiff("report", recorded, "--types").stdout
    (row,) = (line for line in said.splitlines() if "mutex.owner" in line and "store" in line)
    assert row.split()[:4] == ["0.00", "8.00", "~+8.00", "new"]
    found = kernels()
    found["base"].append(Site("", 90, "lock", does=STORES).hidden())
    session(recorded.parent / "unsure.profdiff", found, LAYOUTS, ops=10)
    said = profdiff("report", recorded.parent / "unsure.profdiff", "--types").stdout
    (row,) = (line for line in said.splitlines() if "mutex.owner" in line and "store" in line)
    assert row.split()[:4] == ["0.00", "8.00", "?", "?"]
    assert "?: unresolved or ambiguous" in said


def test_folios_are_folded_where_that_is_asked_for(recorded: Path) -> None:
    apart = profdiff("report", recorded, "--types").stdout
    folded = profdiff("report", recorded, "--types", "--fold-folios").stdout
    assert "--fold-folios counts" in apart.replace("\n", " ")
    assert "--fold-folios counts" not in folded.replace("\n", " ")
    (row,) = (line for line in folded.splitlines() if "page.flags" in line)
    assert row.split()[:3] == ["60.00", "55.00", "-5.00"]


@pytest.mark.parametrize("by", ["field", "type", "line"])
def test_json_has_everything(recorded: Path, tmp_path: Path, by: str) -> None:
    words = ("--types", "--by", by, "--json", tmp_path / "types.json")
    assert not profdiff("report", recorded, *words).stdout
    document = json.loads((tmp_path / "types.json").read_text())
    schema = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    sections = schema["$defs"]["Document"]["properties"]["sections"]
    jsonschema.validate(document["sections"], {"$defs": schema["$defs"], **sections})
    known = {table["name"]: table for table in tables(document, "types")}
    sums = dict.fromkeys(("base", "new"), 0)
    for group in ("data", "stack", "unresolved"):
        parts = rows(known[f"types-{group}-functions"])
        for number, row in enumerate(rows(known[f"types-{group}"], "rows")):
            for label in sums:
                sums[label] += row["count"][label]
                own = [one for one in parts if one["row"] == number]
                assert sum(one["count"][label] for one in own) == row["count"][label]
    wanted = {
        label: sum(site.count * len(site.does) for site in sites)  # type: ignore[operator]
        for label, sites in kernels().items()
    }
    assert sums == wanted
    whole = rows(known["types-unresolved"], "sums")[-1]
    assert (whole["unresolved"], whole["count"]) == ("all loads and stores", wanted)
    assert whole["share"] == {"base": 1, "new": 1}
    changed = rows(known["types-data"])[0]
    assert changed["verdict"] == {"new": "exact"} and changed["causes"] == {"new": []}
    unsure = next(row for row in rows(known["types-data"]) if row["causes"]["new"])
    assert unsure["low"]["new"] < unsure["high"]["new"]
    if by == "field":
        moved = next(row for row in rows(known["types-data"]) if row["field"] == "vm_file")
        assert moved["line"] == {"base": 1, "new": 0} and moved["offset"] == {"base": 96, "new": 56}


@pytest.mark.parametrize("by", ["field", "type", "line"])
def test_csv_adds_up(recorded: Path, by: str) -> None:
    said = profdiff("report", recorded, "--types", "--by", by, "--csv", "-").stdout
    lines = list(csv.DictReader(io.StringIO(said)))
    for label, sites in kernels().items():
        whole = sum(site.count * len(site.does) for site in sites)  # type: ignore[operator]
        assert sum(int(row[f"count {label}"]) for row in lines) == whole
    if by == "field":
        lines = [row for row in lines if (row["type"], row["field"]) == ("folio", "flags")]
    flags = lines[0]
    assert flags["verdict new"] == "exact"
    assert int(flags["delta new"]) == int(flags["low new"]) == int(flags["high new"])


def test_three_kernels_and_one(tmp_path: Path) -> None:
    several = {**kernels(), "third": kernels()["base"]}
    session(tmp_path / "three.profdiff", several, LAYOUTS, ops=10)
    said = profdiff("report", tmp_path / "three.profdiff", "--types", "--width", "160").stdout
    assert "third: no certain difference from base" in said
    (row,) = (
        line
        for line in said.splitlines()
        if "vm_area_struct.vm_flags" in line and "times" not in line
    )
    assert row.split()[:4] == ["56.00", "193.70", "+137.70", "+245.9%"]
    session(tmp_path / "one.profdiff", {"base": kernels()["base"]}, LAYOUTS)
    said = profdiff("report", tmp_path / "one.profdiff", "--types").stdout
    assert "560    load  vm_area_struct.vm_flags" in said


@pytest.mark.parametrize(
    ("words", "due"),
    [
        (["--types", "--pprof", "-"], "--types cannot be written with --pprof: use"),
        (["--types", "--html"], "--types cannot be written with --html"),
        (["--types", "--user-only"], "--types shows the kernel alone"),
        (["--types", "--layout"], "cannot be used together"),
        (["--by", "type"], "--by works only with --types"),
        (["--fold-folios"], "--fold-folios works only with --types"),
    ],
)
def test_what_is_refused(recorded: Path, words: list[str], due: str) -> None:
    assert due in error_line(profdiff("report", recorded, *words, status=2))


def test_where_nothing_is_known_it_says_what_to_do(recorded: Path, tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    said = error_line(profdiff("report", tmp_path / "without.profdiff", "--types", status=2))
    assert "it has no debug ELF; record it again" in said
    unclaimed(shutil.copytree(recorded, tmp_path / "damaged.profdiff"))
    (tmp_path / "damaged.profdiff/symbols/new.accesses.npz").write_bytes(b"PK")
    said = error_line(profdiff("report", tmp_path / "damaged.profdiff", "--types", status=2))
    assert "new.accesses.npz is damaged" in said


def test_parts_and_suites_say_what_to_type(tmp_path: Path) -> None:
    synthetic_joint.joint(tmp_path / "parts")
    said = error_line(profdiff("report", tmp_path / "parts", "--types", status=2))
    assert "name one of them" in said


def test_every_kind_and_reason_has_words() -> None:
    assert {*REASONS} - {""} <= WORDS.keys()
    assert {"spill", "canary", "push", "call"} <= WORDS.keys()
