"""``profdiff layout``: what it prints and writes, and what it refuses."""

import csv
import io
import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
from goldens import check_golden, check_schema
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, error_line, need_program, profdiff

from profdiff.base import units
from profdiff.symbolization.type_layout import Field, KernelTypes, TypeLayout
from profdiff.views import layout as views

pytestmark = pytest.mark.build

BASE = """
struct lock { int owner; int count; };
struct mm { struct lock lock; long total; char name[100]; unsigned int a:3, b:5; long flags; };
struct same { long a, b; };
struct only_base { int a; };
"""
NEW = """
struct lock { int owner; };
struct mm { struct lock lock; char name[100]; long total; long *pages; unsigned int a:3, b:7;
	unsigned long flags; char text[]; };
struct same { long a, b; };
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two ELF files with DWARF, as arguments."""
    need_program("gcc")
    folder, found = tmp_path_factory.mktemp("layouts"), []
    for label, text in (("base", BASE), ("new", NEW)):
        names = ["mm", "same", *(["only_base"] if label == "base" else [])]
        objects = "".join(f"struct {name} one_{name};\n" for name in names)
        (folder / f"{label}.c").write_text(text + objects)
        file = folder / f"vmlinux.{label}"
        command = ["gcc", "-g", "-shared", "-o", file, folder / f"{label}.c"]
        subprocess.run(command, check=True)
        found.append(f"{label}={file}")
    return found[0], found[1]


def test_the_text(kernels: tuple[str, str]) -> None:
    names = ["mm", "struct same", "only_base", "mm.lock"]
    said = profdiff("layout", *kernels, *names, "--width", "90").stdout
    check_golden(ROOT / "tests/layout/layout.txt", said, "tests/layout -k the_text")
    every = profdiff("layout", *kernels, "mm", "--all", "--width", "160").stdout
    assert "flags  long int -> long unsigned int" in every
    assert "  moved  " in every and "moved within" not in every
    for width in (60, 100, 160):
        shown = profdiff("layout", *kernels, *names, "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in shown.splitlines())


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/layout.schema.json", views.schema(), "layout")


def test_json_and_csv_have_all_fields(kernels: tuple[str, str], tmp_path: Path) -> None:
    schema = json.loads((ROOT / "profdiff/layout.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    files = ["--json", tmp_path / "layout.json", "--csv", tmp_path / "layout.csv"]
    assert not profdiff("layout", *kernels, "mm", "same", *files).stdout
    document = json.loads((tmp_path / "layout.json").read_text())
    jsonschema.validate(document, schema)
    fields = {one["name"]: one for one in document["types"][0]["fields"]}
    assert {name: one["change"] for name, one in fields.items()} == {
        "lock": "size",
        "total": "line",
        "name": "offset",
        "pages": "new",
        "a": "offset",
        "b": "size",
        "flags": "line",
        "text": "new",
    }
    rows = list(csv.DictReader(io.StringIO((tmp_path / "layout.csv").read_text())))
    shown = [row for kind in document["types"] for row in kind["fields"]]
    places = [one for row in shown for one in row["places"].values()]
    assert len(rows) == len([one for one in places if one]) == 2 * 8 - 2 + 2 * 2
    assert {row["kernel"] for row in rows} == {"base", "new"}


def test_a_layout_against_itself_changes_nothing(kernels: tuple[str, str]) -> None:
    said = profdiff("layout", kernels[0], kernels[0].replace("base=", "again=", 1), "mm").stdout
    assert "  no field moved" in said


@pytest.mark.parametrize(
    ("words", "due"),
    [
        (["mmm"], "mmm: neither kernel has a struct, union or typedef"),
        (["mm.nothing"], "mm.nothing: neither kernel has"),
        (["int mm"], "'int mm' is not a type"),
        (["mm..a"], "'mm..a' is not a type"),
        (["mm", "--csv", "-", "--json", "-"], "only one file can go to standard output"),
    ],
)
def test_what_is_refused(kernels: tuple[str, str], words: list[str], due: str) -> None:
    assert due in error_line(profdiff("layout", *kernels, *words, status=2))


def test_a_kernel_without_types_is_refused(kernels: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "stripped").write_bytes(b"")
    subprocess.run(["strip", "-g", "-o", tmp_path / "stripped", kernels[0][5:]], check=True)
    said = error_line(profdiff("layout", kernels[0], tmp_path / "stripped", "mm", status=2))
    assert "it has no DWARF and no BTF" in said


PLACES = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from(["int", "long"]),
        st.integers(0, 2000),
        st.integers(0, 600),
        st.booleans(),
    ),
    max_size=8,
    unique_by=lambda one: one[0],
)


def _types(places: list[tuple[str, str, int, int, bool]]) -> KernelTypes:
    fields = tuple(Field(*one) for one in places)
    return KernelTypes("DWARF", [TypeLayout("struct", 400, 0, 0, fields)])


@given(PLACES, PLACES)
def test_laws_of_changes(one: list, other: list) -> None:  # type: ignore[type-arg]
    """No field is lost; the other way round, new is gone, and all else is the same."""
    specs = {"a": "a", "b": "b"}
    there = views.build(["t"], specs, {"a": _types(one), "b": _types(other)}).types[0]
    back = views.build(["t"], specs, {"a": _types(other), "b": _types(one)}).types[0]
    assert sorted(row.name for row in there.fields) == sorted({two[0] for two in one + other})
    turned = {"new": "gone", "gone": "new"}
    changes = {row.name: row.change for row in back.fields}
    for row in there.fields:
        assert changes[row.name] == turned.get(row.change, row.change)
        first, second = row.places.values()
        assert (row.change == "none") == (first == second)
    for size in there.sizes.values():
        assert size is not None and 0 <= size.holes <= size.size
