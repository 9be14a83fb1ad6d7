"""``profdiff size``: what it prints and writes of small files, and what it refuses."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from browsed_page import axe, opened
from support import error_line, need_program, profdiff

from profdiff.base import units

pytestmark = pytest.mark.build

# A helper that is inlined on one kernel and called on the other, a struct that grows, a function
# that comes, one whose part is moved away, and variables.
SOURCE = """
struct grown { long a; EXTRA };
struct kept { int a, b; };
struct grown one_grown;
struct kept one_kept;
char zeros[ZEROS];
int sink;
INLINING static void helper(void) { asm volatile(".skip 50, 0x90"); }
int other(int a) { return a + 1; }
void caller(void) { helper(); sink++; helper(); }
ADDED
"""
_COLD = """
asm(".pushsection .text.unlikely,\\"ax\\"\\n.type other.cold, @function\\nother.cold: .skip 37\\n"
    ".size other.cold, 37\\n.type __pfx_other, @function\\n__pfx_other: .skip 16\\n"
    ".size __pfx_other, 16\\n.popsection");
int added(int a) { return a * 3; }
"""
KINDS: Mapping[str, Mapping[str, str]] = {
    "base": {"EXTRA": "", "INLINING": "__attribute__((noinline))", "ZEROS": "100", "ADDED": ""},
    "new": {
        "EXTRA": "long b, c;",
        "INLINING": "__attribute__((always_inline)) inline",
        "ZEROS": "5000",
        "ADDED": _COLD,
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    need_program("gcc")
    folder = tmp_path_factory.mktemp("sizes")
    found = {}
    for label, words in KINDS.items():
        text = SOURCE
        for word, stands in words.items():
            text = text.replace(word, stands)
        source, file = folder / f"{label}.c", folder / f"vmlinux.{label}"
        source.write_text(text)
        command = ["gcc", "-g", "-O2", "-fno-ipa-cp", "-c", "-o", file, source]
        subprocess.run(command, check=True)
        found[label] = file
    return found


def _tables(*words: object) -> dict[str, dict[str, list[int | str]]]:
    """The rows of each table by what they are of."""
    document = json.loads(profdiff("size", *words, "--json", "-").stdout)
    return {
        table["name"]: {
            "/".join(one for one in row if isinstance(one, str)): [
                one for one in row if not isinstance(one, str)
            ]
            for row in [*table["rows"], *table["hidden"]]
        }
        for table in document["sections"][0]["tables"]
    }


def _symbols(file: Path) -> dict[str, int]:
    told = subprocess.run(["nm", "-S", file], capture_output=True, text=True, check=True)
    words = [line.split() for line in told.stdout.splitlines()]
    return {one[3]: int(one[1], 16) for one in words if len(one) == 4}


def test_what_is_known_by_hand(files: Mapping[str, Path]) -> None:
    base, new = (_symbols(files[label]) for label in KINDS)
    assert "helper" in base
    assert "helper" not in new
    tables = _tables(f"base={files['base']}", f"new={files['new']}")
    assert tables["functions"] == {
        "caller": [base["caller"], new["caller"], new["caller"] - base["caller"]],
        "helper": [base["helper"], 0, -base["helper"]],
        "other": [base["other"], base["other"] + 53, 53],
        "added": [0, new["added"], new["added"]],
    }
    # Two copies of 50 bytes.
    assert tables["inlined"] == {"helper/caller": [0, 100, 100]}
    assert tables["types"] == {"struct grown": [8, 24, 16]}
    assert tables["sections"][".text.unlikely"] == [0, 53, 53]
    assert 4900 <= int(tables["sections"][".bss"][2]) < 5000


def test_the_text(files: Mapping[str, Path]) -> None:
    """Of three kernels, each beside the base."""
    words = [f"base={files['base']}", f"new={files['new']}", f"again={files['base']}"]
    said = profdiff("size", *words, "--width", "100").stdout
    assert "Total new: Before=" in said
    assert "add/remove new: 1/1 grow/shrink: 2/0 up/down: " in said
    assert "add/remove again: 0/0 grow/shrink: 0/0 up/down: 0/0 (0)" in said
    for width in (60, 80, 160):
        shown = profdiff("size", *words, "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in shown.splitlines())


def test_conditions(files: Mapping[str, Path]) -> None:
    words = [f"base={files['base']}", f"new={files['new']}"]
    base, new = (_symbols(files[label]) for label in KINDS)
    held = ("functions:other > +52", 'types:"struct grown" > +100%', "functions > +0")
    passed = ("functions:caller > +1000", "sections:.text > +1000", 'types:"struct kept" > +0')
    given = [word for one in (*held, *passed) for word in ("--fail-if", one)]
    said = profdiff("size", *words, *given, status=1).stdout
    assert said.count("fails: ") == len(held) and said.count("passes: ") == len(passed)
    assert f"{base['other']} to {base['other'] + 53}" in said
    # Also of what does not differ, and of all.
    assert "new: +0.00%, 8 to 8" in said
    before = sum(base[name] for name in ("caller", "helper", "other"))
    after = sum(new[name] for name in ("caller", "other", "added")) + 53
    assert f"{before:,} to {after:,}" in said
    passes = profdiff("size", *words, "--fail-if", passed[0]).stdout
    assert passes.startswith("passes: functions:caller > +1000\n") and "Total" not in passes
    absent = profdiff("size", *words, "--fail-if", "functions:none > +0", status=125).stdout
    assert "new: functions has no row 'none'" in absent
    for condition, why in (
        ("nothing:other > +0", "size has no table 'nothing'"),
        ("functions:other > +1/op", "there are no ops: use %, or no unit"),
        ("functions:other changed", "write it like 'functions:other > +0'"),
    ):
        assert why in error_line(profdiff("size", *words, "--fail-if", condition, status=2))


def test_the_page(files: Mapping[str, Path], tmp_path: Path, browser: Any) -> None:
    """The rows of the text, beside what conditions came to; a label is a stranger's text."""
    words = [f"base={files['base']}", f"new={files['new']}"]
    page = tmp_path / "size.html"
    said = profdiff("size", *words, "--html", page, "--fail-if", "functions:other > +52", status=1)
    assert said.stdout.startswith("fails: functions:other > +52\n") and "Total" not in said.stdout
    with opened(browser, page) as shown:
        assert shown.inner_text("#heading") == "Sizes of base and new"
        heads = shown.locator("#functions thead th").all_inner_texts()
        assert heads == ["function", "size base", "size new", "delta new", "change new"]
        rows = shown.eval_on_selector_all(
            "#functions tbody tr", "rows => rows.map(row => [...row.cells].map(c => c.innerText))"
        )
        sizes = _tables(*words)["functions"]
        assert {row[0]: int(row[3]) for row in rows} == {n: one[2] for n, one in sizes.items()}
        assert f"--html {page}" in shown.inner_text("#made")
        axe(shown)


def test_a_kernel_against_itself(files: Mapping[str, Path]) -> None:
    tables = _tables(f"a={files['new']}", f"b={files['new']}")
    assert not tables["functions"]
    assert not tables["inlined"]
    assert not tables["types"]
    assert {row[2] for row in tables["sections"].values()} == {0}


def test_without_debug_information(files: Mapping[str, Path], tmp_path: Path) -> None:
    """Sections and functions are compared, and what is missing is said."""
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-g", "-o", bare, files["new"]], check=True)
    words = [f"base={files['base']}", f"bare={bare}"]
    assert _tables(*words).keys() == {"sections", "functions"}
    (first, *_) = profdiff("size", *words, "--width", "200").stdout.splitlines()
    assert first == (
        "bare: its file has no debug information (CONFIG_DEBUG_INFO=y makes it). So what is "
        "inlined and types are not compared."
    )
    full = _tables(f"base={files['base']}", f"new={files['new']}")
    assert _tables(*words)["functions"] == full["functions"]


def test_types_of_btf_alone(files: Mapping[str, Path], tmp_path: Path) -> None:
    words = []
    for label, file in files.items():
        made = tmp_path / label
        command = ["gcc", "-gbtf", "-O2", "-c", "-o", made, f"{file.parent}/{label}.c"]
        subprocess.run(command, check=True)
        words.append(f"{label}={made}")
    tables = _tables(*words)
    assert "inlined" not in tables
    assert tables["types"] == {"struct grown": [8, 24, 16]}


def test_packed_files_are_the_same(files: Mapping[str, Path], tmp_path: Path) -> None:
    need_program("zstd")
    packed = tmp_path / "vmlinux.zst"
    subprocess.run(["zstd", "-q", "-o", packed, files["new"]], check=True)
    assert not _tables(f"a={files['new']}", f"b={packed}")["functions"]


def test_what_is_refused(files: Mapping[str, Path], tmp_path: Path) -> None:
    base, text, damaged = files["base"], tmp_path / "text", tmp_path / "damaged"
    text.write_text("no kernel\n")
    damaged.write_bytes(base.read_bytes()[:600])
    for words, due in [
        ([base], "one kernel cannot be compared: give two or more, the base first"),
        ([f"a={base}", f"a={base}"], "the label a is given twice"),
        ([f"a={base}", f"b={text}"], "text is not an ELF file and has no debug ELF"),
        ([f"a={base}", f"b={damaged}"], "damaged is damaged (Invalid ELF"),
        ([f"a={base}", f"b={tmp_path / 'none'}"], "no such kernel: "),
        ([f"a={base}", f"b={base}", "--csv", "-", "--json", "-"], "only one file can go to"),
        ([f"a={base}", f"b={base}", "--csv", base], "vmlinux.base"),
    ]:
        assert due in error_line(profdiff("size", *words, status=2)), words
