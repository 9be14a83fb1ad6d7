"""``profdiff coverage``: what its tracefiles hold, and what it refuses."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from support import error_line, need_program, profdiff, unclaimed
from synthetic_session import exact_session
from tracefiles.tracefile import lines, read

from profdiff.symbolization.chains import Chains

# A function of Linux 6.18.15 that its caller inlines once, and where it begins in mm/mprotect.c.
INLINED, FIRST_LINE = "commit_anon_folio_batch", 230
# Where each function of the example executes: a file and a line.
LINES = {
    "change_pte_range": ("mm/x.c", 3),
    "can_change_pte_writable": ("mm/x.c", 7),
    "prot_commit_flush_ptes": ("mm/x.c", 7),
    "commit_anon_folio_batch": ("mm/x.c", 8),
    "main": ("work.c", 1),
}
TEXT = [f"line {number} of the file" for number in range(1, 11)]
# The second kernel's file has two lines instead of the seventh.
NEW_TEXT = [*TEXT[:6], "batches", "of pages", *TEXT[7:]]


def made(folder: Path, places: dict[str, tuple[str, int]]) -> Path:
    """A session whose functions execute one line each."""
    exact_session(folder)
    for label in ("base", "new"):
        path = folder / f"symbols/{label}.npz"
        chains = Chains.load(path)
        names = [chains.strings[n] for n in chains.function_name[chains.frame_function]]
        strings = [*chains.strings, *dict.fromkeys(places[name][0] for name in names)]
        replace(
            chains,
            strings=strings,
            frame_file=np.array([strings.index(places[name][0]) for name in names], np.uint32),
            frame_line=np.array([places[name][1] for name in names], np.uint32),
        ).save(path)
    return unclaimed(folder)


def written(folder: Path, *words: str | Path) -> dict[str, dict[tuple[str, int], int]]:
    """The lines of each tracefile, by its name."""
    profdiff("coverage", folder, "-o", folder.parent / "out", *words)
    files = sorted((folder.parent / "out").rglob("*.info"))
    return {str(one.relative_to(folder.parent / "out")): lines(read(one)) for one in files}


def test_the_sources_say_which_lines_are_the_same(tmp_path: Path) -> None:
    trees = []
    for label, text in (("base", TEXT), ("new", NEW_TEXT)):
        file = tmp_path / label / "mm/x.c"
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(text) + "\n")
        trees += ["--source", f"{label}={tmp_path / label}"]
    folder = made(tmp_path / "s.profdiff", LINES)
    found = written(folder, *trees)
    assert set(found) == {
        *("base.info", "new.info"),
        *("difference/new.new.info", "difference/new.vanished.info"),
    }
    # Line 3 is the same one; what only one kernel has, only one executed.
    assert {line for _, line in found["base.info"]} == {3, 7}
    assert {line for _, line in found["new.info"]} == {3, 7, 8}
    new, vanished = found["difference/new.new.info"], found["difference/new.vanished.info"]
    assert new == {key: found["new.info"][key] for key in (("mm/x.c", 7), ("mm/x.c", 8))}
    assert vanished == {("mm/x.c", 7): found["base.info"]["mm/x.c", 7]}
    # User space is no part of it.
    assert not any(file == "work.c" for one in found.values() for file, _ in one)
    said = profdiff("coverage", folder, "-o", tmp_path / "out", *trees).stdout
    assert "are matched by sources in 1 file" in said
    said = profdiff("coverage", folder, "-o", tmp_path / "out").stdout
    assert "are matched by code in 1 file" in said
    assert "base: only lines that executed are known (it has no debug ELF)" in said


def test_sources_of_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tree/mm").mkdir(parents=True)
    (tmp_path / "tree/mm/x.c").write_text("short\n")
    folder = made(tmp_path / "s.profdiff", LINES)
    words = ("--source", f"new={tmp_path / 'tree'}", "-o", tmp_path / "out")
    said = error_line(profdiff("coverage", folder, *words, status=2))
    assert "mm/x.c of" in said
    assert "it has 1 line, and the debug information names line 8" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", ["mm/x.c\nDA:1,1", "mm/\x1b[31mx.c", "../../etc/passwd", "/etc/passwd", "x" * 5000]
)
def test_a_name_from_a_stranger_is_left_out(name: str, tmp_path: Path) -> None:
    places = {**LINES, "can_change_pte_writable": (name, 7)}
    folder = made(tmp_path / "s.profdiff", places)
    found = written(folder)
    assert {file for one in found.values() for file, _ in one} == {"mm/x.c"}
    said = profdiff("coverage", folder, "-o", tmp_path / "out").stdout
    assert "base: 1 line left out of files outside of the source tree" in said


def test_without_lines_or_counts_there_is_no_tracefile(tmp_path: Path) -> None:
    exact_session(tmp_path / "s.profdiff")
    out = tmp_path / "out"
    said = error_line(profdiff("coverage", tmp_path / "s.profdiff", "-o", out, status=2))
    assert said.startswith("no kernel has source lines: record with the vmlinux")
    stacks = tmp_path / "x.txt"
    stacks.write_text("main;work 3\n")
    profdiff("import", f"a={stacks}", f"b={stacks}", "-o", tmp_path / "imported")
    said = error_line(profdiff("coverage", tmp_path / "imported", "-o", out, status=2))
    assert said == "coverage needs exact counts: record with --collector exact"
    assert not out.exists()
    made(tmp_path / "lines", LINES)
    out.write_text("a file")
    said = error_line(profdiff("coverage", tmp_path / "lines", "-o", out, status=2))
    assert said == f"cannot write {out}: Not a directory"


@pytest.mark.guest
def test_tracefiles_agree_with_annotate(recorded: Path, tmp_path: Path) -> None:
    """The count of a line is at most the largest of its instructions, in each copy; lines that did
    not execute are known."""
    said = profdiff("coverage", recorded, "-o", tmp_path).stdout
    base, new = (read(tmp_path / f"{label}.info") for label in ("base", "new"))
    known = lines(new)
    most: dict[tuple[str, int], int] = defaultdict(int)
    shown = json.loads(profdiff("annotate", recorded, INLINED, "--json", "-").stdout)
    for row in shown["rows"]:
        line = row["file"], row["lines"]["new"]
        most[line] = max(most[line], row["count"]["new"])
    # The other lines are also of the functions that it inlines.
    own = {line: count for line, count in most.items() if line[1] >= FIRST_LINE}
    unsure = lines(read(tmp_path / "unsure/new.info"))
    certain = {line: count for line, count in own.items() if line not in unsure}
    assert len(certain) >= 2
    assert all(0 < known[line] <= count for line, count in certain.items())
    assert any(known[line] == count for line, count in certain.items())
    assert not known.keys() & unsure.keys()
    # Where a function is inlined several times, the copies of its lines add up.
    shown = json.loads(profdiff("annotate", recorded, "__pte_needs_invert", "--json", "-").stdout)
    single = max(row["count"].get("new", 0) for row in shown["rows"])
    assert max(known[line["file"], line["lines"]["new"]] for line in shown["lines"]) > single
    function = "prot_commit_flush_ptes"
    calls = json.loads(profdiff("annotate", recorded, function, "--json", "-").stdout)["calls"]
    assert new["mm/mprotect.c"].calls[function] == calls["new"] > 0
    assert not any(function in section.calls for section in base.values())
    # Where a function begins, a line is known: genhtml of lcov 2 refuses others.
    for section in new.values():
        assert set(section.starts.values()) <= section.lines.keys()
    assert any(count == 0 for count in known.values())
    assert f"{len(known):,}" in said
    added = lines(read(tmp_path / "difference/new.new.info"))
    gone = lines(read(tmp_path / "difference/new.vanished.info"))
    assert added.items() <= known.items()
    assert gone.items() <= lines(base).items()
    assert all(count > 0 for count in [*added.values(), *gone.values()])
    # The base has no such function.
    assert certain.keys() <= added.keys()
    assert not unsure.keys() & added.keys()


@pytest.mark.guest
def test_a_kernel_against_itself_differs_nowhere(at_a_terminal: Path, tmp_path: Path) -> None:
    """Its base, a kernel, and the base again; without calls there are no functions."""
    (folder,) = (one.parent for one in at_a_terminal.glob("*/manifest.json"))
    profdiff("coverage", folder, "-o", tmp_path)
    found = {one.name: read(one) for one in (tmp_path / "difference").iterdir()}
    assert found["again.new.info"] == found["again.vanished.info"] == {}
    assert found["v6.18.15.new.info"]
    for sections in (*found.values(), read(tmp_path / "again.info")):
        assert not any(section.starts for section in sections.values())
        assert {section.test for section in sections.values()} <= {"again", "v6_18_15", "v6_12_107"}


@pytest.mark.guest
def test_genhtml_reads_them(recorded: Path, tmp_path: Path) -> None:
    genhtml = need_program("genhtml", "lcov")
    said = profdiff("coverage", recorded, "-o", tmp_path).stdout
    for row in re.findall(r"(?m)^ *\d.*\.info", said):
        _, functions, known, ran, _, name = row.replace(",", "").split()
        command = [genhtml, "--ignore-errors", "source", "-o", tmp_path / "html", tmp_path / name]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert re.search(rf"lines\.+: [\d.]+% \({ran} of {known} lines\)", result.stdout)
        told = rf"[\d.]+% \({functions} of {functions} " if functions != "0" else "no data found"
        assert re.search(rf"functions\.+: {told}", result.stdout)
