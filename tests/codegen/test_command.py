"""``profdiff codegen``: object files that it builds, files that are there, and what it refuses."""

import csv
import io
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import small_linux
from browsed_page import axe, opened
from made_repository import Made, make
from support import error_line, need_program, profdiff

from profdiff.base import units

pytestmark = pytest.mark.build

SUM = """\
#include "small.h"
long counts[64];
extern void told(long);
static inline long weight(int i) { return counts[i & 63] * 7; }
long sum_counts(int n)
{
	long total = 0;
	for (int i = 0; i < n; i++)
		total += weight(i);
	told(total);
	return total;
}
int other(int a) { return a * PAGES; }
"""
KCONFIG = """\
config CC_OPTIMIZE_FOR_SIZE
config LTO_CLANG_THIN
config CFI_CLANG
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("make", "gcc-12", "gcc-11", "clang-19"):
        need_program(name)
    files = small_linux.tree(
        mm__sum_dot_c=SUM,
        mm__told_dot_c='void told(long a) { asm volatile("" :: "r"(a)); }\n',
        arch__Kconfig=KCONFIG,
        tools__sum_dot_c="long sum_counts(int n)\n{\n\treturn n;\n}\n",
        include__one_dot_h="static inline int in_header(int a)\n{\n\treturn a;\n}\n",
    )
    folder = tmp_path_factory.mktemp("tree") / "linux"
    return make(folder, {"base": Made(files)}).checked_out("base")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("cache")
    return {"PROFDIFF_CACHE": str(folder), "CCACHE_DIR": str(folder / "ccache")}


def _tables(said: str) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in json.loads(said)["sections"][0]["tables"]}


def _figures(said: str) -> dict[str, list[int]]:
    table = _tables(said)["figures"]
    width = len(table["kernels"])
    return {row[-1]: row[:width] for row in table["rows"]}


def _symbol(folder: Path, compiler: str, flags: Sequence[str], name: str) -> tuple[int, int]:
    """The size that nm tells of what the compiler makes, as the tree's Makefile calls it, and the
    calls that objdump shows in it."""
    output = folder / f"{compiler}.o"
    command = [compiler, "-g", "-ffreestanding", "-fno-pie", "-O2", "-Iinclude", *flags]
    subprocess.run([*command, "-c", "-o", output, "mm/sum.c"], cwd=folder, check=True)
    told = subprocess.run(["nm", "-S", output], capture_output=True, text=True, check=True)
    command = ["objdump", "-d", f"--disassemble={name}", output]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    output.unlink()
    (row,) = [line.split() for line in told.stdout.splitlines() if line.endswith(f" {name}")]
    return int(row[1], 16), len(re.findall(r"\tcall", code))


def test_a_function_by_compiler(tree: Path, env: dict[str, str]) -> None:
    """Typed in the tree, as the issue has it; sizes are those of nm -S."""
    compilers = ["gcc-12", "gcc-11", "clang-19"]
    words = ["codegen", "sum_counts", "--compilers", ",".join(compilers), "--json", "-"]
    done = profdiff(*words, cwd=tree, env=env)
    figures = _figures(done.stdout)
    told = [_symbol(tree, one, [], "sum_counts") for one in compilers]
    assert [*zip(figures["bytes"], figures["calls"], strict=True)] == told
    assert min(figures["loops"]) >= 1
    tables = _tables(done.stdout)
    assert {row[-2] for row in tables["loop"]["rows"]} != {""}
    assert tables["inlined"]["hidden"][0][-1] == "weight"
    # Only that object, and nothing of tools/.
    assert "building mm/sum.o of " in done.stderr
    assert not list(Path(env["PROFDIFF_CACHE"]).rglob("mm/mprotect.o"))


def test_flags_are_sides(tree: Path, env: dict[str, str]) -> None:
    words = ["codegen", "sum_counts", f"git:{tree}", "--compilers", "gcc-12", "--cflags=-Os"]
    figures = _figures(profdiff(*words, "--json", "-", env=env).stdout)
    assert figures["bytes"] == [
        _symbol(tree, "gcc-12", flags, "sum_counts")[0] for flags in ([], ["-Os"])
    ]


def test_an_object(tree: Path, env: dict[str, str]) -> None:
    words = ["codegen", "mm/sum.o", "--compilers", "gcc-12,clang-19", "--cflags=-O2"]
    said = profdiff(*words, cwd=tree, env=env).stdout
    assert re.search(r"gcc-12-O2: 2 of 2 functions of mm/sum\.o are identical to gcc-12's", said)
    table = _tables(profdiff(*words, "--json", "-", cwd=tree, env=env).stdout)["functions"]
    sizes = {row[-1]: row[:4] for row in [*table["rows"], *table["hidden"]]}
    assert sizes["sum_counts"] == [
        _symbol(tree, compiler, [], "sum_counts")[0]
        for compiler in ("gcc-12", "gcc-12", "clang-19", "clang-19")
    ]
    rows = list(
        csv.DictReader(io.StringIO(profdiff(*words, "--csv", "-", cwd=tree, env=env).stdout))
    )
    assert {row["function"] for row in rows} == {"sum_counts", "other"}
    assert {row["code gcc-12-O2"] for row in rows} == {"identical"}


def test_the_text(tree: Path, env: dict[str, str]) -> None:
    words = ["codegen", "mm/sum.o:sum_counts", "--compilers", "gcc-12,clang-19"]
    said = profdiff(*words, "--width", "120", cwd=tree, env=env).stdout
    assert re.match(
        r"sum_counts differs, [-+]\d+ bytes \(.*%\): clang-19 has \d+ of gcc-12's ", said
    )
    assert "the loop at sum.c:" in said
    assert re.search(r"counts\(,%r\w+,8\)", said)
    for width in (60, 80, 160):
        shown = profdiff(*words, "--width", str(width), cwd=tree, env=env).stdout
        assert all(units.width(line) <= width for line in shown.splitlines())
    again = profdiff(*words, "--loop", "1", "--width", "120", cwd=tree, env=env).stdout
    assert again == said


def test_conditions(tree: Path, env: dict[str, str]) -> None:
    """Against nm -S and objdump; what is identical is none of those that are unlike."""
    words = ["codegen", "sum_counts", "--compilers", "gcc-12,clang-19", "--cflags=-O2"]
    (before, _), (after, _) = (
        _symbol(tree, one, [], "sum_counts") for one in ("gcc-12", "clang-19")
    )
    done = profdiff(
        *words,
        *("--fail-if", f"figures:bytes > {after - before - 1:+d}"),
        *("--fail-if", f"figures:bytes > {after - before:+d}"),
        *("--fail-if", "unlike > +0"),
        *("--fail-if", "inlined:weight > +1000"),
        cwd=tree,
        env=env,
        status=1,
    )
    kernel = re.compile(r"^(fails|passes): (.*)\n  ([^:]+):", re.M)
    outcome = {(what, label): one for one, what, label in kernel.findall(done.stdout)}
    assert outcome[f"figures:bytes > {after - before - 1:+d}", "clang-19"] == "fails"
    assert outcome[f"figures:bytes > {after - before:+d}", "clang-19"] == "passes"
    assert outcome["unlike:total > +0", "gcc-12-O2"] == "passes"
    assert outcome["unlike:total > +0", "clang-19"] == "fails"
    assert outcome["inlined:weight > +1000", "clang-19"] == "passes"
    words = ["codegen", "mm/sum.o", "--compilers", "gcc-12", "--cflags=-Os"]
    given = ["--fail-if", "functions > +1000", "--fail-if", "unlike:sum_counts > +0"]
    said = profdiff(*words, *given, cwd=tree, env=env, status=1).stdout
    assert "passes: functions:total > +1000" in said
    assert "fails: unlike:sum_counts > +0" in said
    profdiff(*words, "--fail-if", "figures:bytes > +0", cwd=tree, env=env, status=2)


def test_the_page(tree: Path, env: dict[str, str], tmp_path: Path, browser: Any) -> None:
    page = tmp_path / "code.html"
    words = ["codegen", "sum_counts", "--compilers", "gcc-12,clang-19", "--html", page]
    assert profdiff(*words, cwd=tree, env=env).stdout == ""
    with opened(browser, page) as shown:
        assert shown.inner_text("#heading") == "sum_counts with gcc-12 and clang-19"
        heads = shown.locator("#loop thead th").all_inner_texts()
        assert heads == ["line", "same", "gcc-12", "clang-19"]
        code = shown.locator("#loop tbody td").all_inner_texts()
        assert any("counts(,%r" in text for text in code)
        axe(shown)


def test_files_that_are_there(tree: Path, env: dict[str, str], tmp_path: Path) -> None:
    for compiler in ("gcc-12", "clang-19"):
        command = [compiler, "-g", "-O2", "-fno-pie", "-mcmodel=kernel", "-Iinclude", "-c"]
        subprocess.run(
            [*command, "-o", tmp_path / f"{compiler}.o", "mm/sum.c"], cwd=tree, check=True
        )
    files = [f"{label}={tmp_path / label}.o" for label in ("gcc-12", "clang-19")]
    figures = _figures(profdiff("codegen", "sum_counts", *files, "--json", "-", env=env).stdout)
    assert figures["bytes"][0] != figures["bytes"][1]
    assert "1 of 2 functions" in profdiff("codegen", *files, env=env).stdout
    inlined = profdiff("codegen", "weight", *files, env=env).stdout
    assert "gcc-12 inlines it, into sum_counts: that is the code compared here." in inlined
    same = profdiff("codegen", "sum_counts", files[0], f"again={tmp_path}/gcc-12.o", env=env)
    assert "sum_counts is identical with gcc-12 and again, +0 bytes (0%)." in same.stdout


def test_with_lto_the_kernel_is_built(tree: Path, env: dict[str, str]) -> None:
    """Only its link makes code. That tree's Makefile links plain objects: sizes are the same."""
    words = ["codegen", "sum_counts", "git:.,cc=clang-19", "git:.,cc=clang-19,lto=thin"]
    done = profdiff(*words, "--json", "-", cwd=tree, env=env)
    assert "linux-lto-thin: building " in done.stderr
    assert "mm/sum.o of " in done.stderr
    before, after = _figures(done.stdout)["bytes"]
    assert before == after == _symbol(tree, "clang-19", [], "sum_counts")[0]
    refused = profdiff(*words, "--cflags=-Os", cwd=tree, env=env, status=2)
    assert "--cflags is for object files: leave lto= out" in error_line(refused)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sum_counts"], "there is nothing to compare with: name --compilers"),
        (
            ["sum_count", *(two := ["--compilers", "gcc-12,gcc-11"])],
            "no source of .* defines sum_count: name an object",
        ),
        (
            ["in_header", *two],
            "include/one.h defines in_header, for others to inline: name an object",
        ),
        (["mm/sum.o:nothing", *two], "no code of a function nothing of mm/sum is in sum.o"),
        (["mm/sum.o:", *two], "write OBJECT:FUNCTION"),
        (["../sum.o", *two], "is not an object file of a tree"),
        (["mm/none.o", *two], "does not build: .*No rule to make target"),
        (["sum-counts", *two], "'sum-counts' is not a function's name"),
        (["mm/sum.o", "--loop", "2", *two], "--loop shows a loop of one function"),
        (["sum_counts", "--loop", "9", *two], "--loop 9: sum_counts has 1 with gcc-12"),
        (["sum_counts", "--compilers", "gcc-12,gcc-99"], "gcc-99 is not installed"),
        (["sum_counts", "git:.,cc=gcc-12", *two], "leave out cc= or --compilers"),
        (["sum_counts", "git:.,lto=thin", *two], "lto= needs clang, and this is gcc-12"),
        (["sum_counts", "git:.,cc=clang-19,autofdo=x", "git:."], "has no option for autofdo=x"),
        (["sum_counts", "git:.,opt=fast", "git:."], r"opt=fast: write opt=speed\|size"),
    ],
)
def test_what_is_refused(tree: Path, env: dict[str, str], words: list[str], message: str) -> None:
    done = profdiff("codegen", *words, cwd=tree, env=env, status=2)
    assert re.search(message, error_line(done))
