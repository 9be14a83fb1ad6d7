"""Code of object files: named and linked as the linker does it, with its loops and inlines."""

import re
import subprocess
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import InputError
from profdiff.profile.code.file_code import FileCode
from profdiff.topics.codegen.measure import compiled_function, compiled_functions, sameness

pytestmark = pytest.mark.build

SOURCE = """
struct s { long a, b; };
extern int ext(struct s *, int); extern long table[]; static long own[40]; int sink;
static inline long helper(long x) { return x * 3 + table[x & 7]; }
long work(struct s *p, int n)
{
    long t = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) { t += helper(p[j].a) + own[j]; own[j]++; }
        t += ext(&p[i], 77);
    }
    return t;
}
const long numbers[] = {5, 6};
unsigned hash(void) { return 0xc0000010u ^ 0x81000040u * (unsigned)sink; }
const char *text(int a) { return a ? "one text" : "another"; }
void straight(int a) { sink = a; __atomic_store_n(&own[3], a, __ATOMIC_RELEASE); }
"""
# Before the others, so that addresses and offsets differ.
MORE = 'const char *more(void) { return "a text before"; }\nstatic long before[9];\n'
MORE += "long *before_at(int i) { before[i] = i; return before + i; }\n"
OUTSIDE = """
struct s; long table[8]; int ext(struct s *p, int n) { return n; }
"""
FLAGS = ["-g", "-ffreestanding", "-mcmodel=kernel", "-mno-red-zone", "-fno-pie", "-mno-sse"]
FLAGS += ["-fcf-protection=none", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]


def compile_c(folder: Path, name: str, text: str, compiler: str = "gcc", *flags: str) -> Path:
    need_program(compiler)
    source, file = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(text)
    command = [compiler, *FLAGS, *(flags or ["-O2"]), "-c", "-o", file.name, source.name]
    subprocess.run(command, cwd=folder, check=True)
    return file


def link(folder: Path, name: str, *objects: Path) -> Path:
    file = folder / name
    command = ["ld", "-static", "-Ttext=0xffffffff81000000", "-e", "0", "-o", file, *objects]
    subprocess.run(command, check=True, capture_output=True)
    return file


def sizes(file: Path) -> dict[str, int]:
    told = subprocess.run(["nm", "-S", file], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in told.splitlines()]
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tT"}


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_an_object_reads_as_what_the_linker_makes_of_it(tmp_path: Path, compiler: str) -> None:
    """The oracle is ld: every instruction, operand and symbol is the same."""
    plain = compile_c(tmp_path, "plain", SOURCE, compiler)
    outside = compile_c(tmp_path, "outside", OUTSIDE, compiler)
    whole = FileCode(link(tmp_path, "vmlinux", outside, plain))
    for name, size in sizes(plain).items():
        linked, alone = whole.function(name), FileCode(plain).function(name)
        assert alone.size == linked.size == size
        assert alone.side.decoded.text == linked.side.decoded.text
        assert sameness(linked, alone) == "identical"
    work = " ".join(FileCode(plain).function("work").side.decoded.text)
    assert "call ext" in work
    assert re.search(r"table\(,%r\w+,8\)", work)
    assert re.search(r"\bown[(+]", work)


def test_instructions_and_what_they_refer_to_are_those_of_objdump(tmp_path: Path) -> None:
    file = compile_c(tmp_path, "plain", SOURCE)
    command = ["objdump", "-dr", "--no-show-raw-insn", "--disassemble=work", file]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = told.split("<work>:\n")[1].splitlines()
    expected: list[tuple[str, str]] = []
    for line in lines:
        if named := re.search(r"R_X86_64_\w+\s+([\w.]+)", line):
            expected[-1] = (expected[-1][0], named[1])
        elif found := re.match(r"\s*[0-9a-f]+:\t(\w+)", line):
            expected.append((found[1], ""))
    # What the assembler names by a section alone.
    names = {".bss": "own"}
    read = FileCode(file).function("work").side.decoded
    assert [operation for operation, _ in expected] == read.operation
    for (_, symbol), text in zip(expected, read.text, strict=True):
        assert names.get(symbol, symbol) in text


def test_what_is_elsewhere_in_a_file_is_identical(tmp_path: Path) -> None:
    files = {
        "base": FileCode(compile_c(tmp_path, "base", SOURCE)),
        "new": FileCode(compile_c(tmp_path, "new", MORE + SOURCE)),
    }
    found = compiled_functions(files)
    same = {name: sameness(*sides.values()) for name, sides in found.items()}
    assert same == {
        "work": "identical",
        "hash": "identical",
        "text": "identical",
        "straight": "identical",
        "more": "absent",
        "before_at": "absent",
    }
    raw = [path.read_bytes() for path in (tmp_path / "base.o", tmp_path / "new.o")]
    assert raw[0] != raw[1]


@pytest.mark.parametrize(
    ("was", "becomes", "name"),
    [
        ("77", "78", "work"),  # a constant
        # One that could be an address.
        ("0x81000040u", "0x81000050u", "hash"),
        ("ext(&p[i]", "ext2(&p[i]", "work"),  # what is called
        ("own[3]", "own[4]", "straight"),  # the offset in a variable
        ("sink = a", "(&sink)[5] = a", "straight"),
    ],
)
def test_what_differs_is_not_identical(tmp_path: Path, was: str, becomes: str, name: str) -> None:
    declared = "struct s; extern int ext2(struct s *, int);\n"
    files = {
        "base": FileCode(compile_c(tmp_path, "base", declared + SOURCE)),
        "new": FileCode(compile_c(tmp_path, "new", declared + SOURCE.replace(was, becomes))),
    }
    found = compiled_functions(files)
    assert [one for one, sides in found.items() if sameness(*sides.values()) != "identical"] == [
        name
    ]


def test_other_registers_are_told(tmp_path: Path) -> None:
    files = {}
    for label, words in (("base", "long a, long b"), ("new", "long b, long a")):
        source = f"long sink; void f({words}) {{ sink = a; }}"
        files[label] = FileCode(compile_c(tmp_path, label, source))
    function = compiled_function(files, "f")
    assert function.sameness("new") == "registers"
    assert function.alike("new") == (1, 2)


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("flag", ["-O2", "-Os"])
def test_loops(tmp_path: Path, compiler: str, flag: str) -> None:
    file = FileCode(compile_c(tmp_path, "plain", SOURCE, compiler, flag))
    work = file.function("work")
    assert sorted(loop.depth for loop in work.loops) == [1, 2]
    outer, inner = sorted(work.loops, key=lambda loop: loop.depth)
    assert set(inner.rows) < set(outer.rows)
    called = [row for row, text in enumerate(work.side.decoded.text) if text.startswith("call")]
    assert set(called) <= set(outer.rows) - set(inner.rows)
    # The line that is inlined runs in the inner one.
    assert {"plain.c:4", "plain.c:9"} <= {work.lines[row] for row in inner.rows}
    # Where the function itself has them.
    assert {work.sites[row] for row in inner.rows} - {""} == {"plain.c:9"}
    assert not file.function("straight").loops


def test_what_is_inlined_has_its_copies(tmp_path: Path) -> None:
    file = FileCode(compile_c(tmp_path, "plain", SOURCE))
    helper = file.function("helper", ["work"])
    assert helper.into == ["work"]
    assert 0 < helper.size < file.function("work").size
    assert any("table(" in text for text in helper.side.decoded.text)
    assert set(helper.lines) == {"plain.c:4"}
    found = compiled_function({"a": file, "b": file}, "work")
    assert found.sides["a"].inlined == {"helper": helper.size}


def test_a_name_that_several_sources_have(tmp_path: Path) -> None:
    objects = [
        compile_c(
            tmp_path, name, f"static int f(int a) {{ return a * {n}; }}\nint (*{name}_f)(int) = f;"
        )
        for name, n in (("one", 3), ("two", 12345))
    ]
    file = FileCode(link(tmp_path, "vmlinux", *objects))
    with pytest.raises(
        InputError, match=r"several functions f: one\.c, two\.c: name one, one\.o:f"
    ):
        file.function("f")
    assert "0x3039" not in " ".join(file.function("f", file="one").side.decoded.text)
    assert "0x3039" in " ".join(file.function("f", file="two").side.decoded.text)


def test_arm64_objects_name_what_they_refer_to(tmp_path: Path) -> None:
    compiler = need_program("aarch64-linux-gnu-gcc")
    source = "extern int one(int), two(int); extern long d;\nint f(int a) { return CALL(a) + d; }\n"
    files = {}
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(source.replace("CALL", name))
        command = [compiler, "-g", "-O2", "-c", f"{name}.c", "-o", f"{name}.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
        files[name] = FileCode(tmp_path / f"{name}.o")
    found = compiled_function(files, "f")
    assert found.sameness("two") == "differs"
    text = found.sides["one"].side.decoded.text
    assert "bl one" in text
    assert sum(" d" in line for line in text) == 2
    assert (
        compiled_function({"a": files["one"], "b": files["one"]}, "f").sameness("b") == "identical"
    )


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\xff" * 300])
def test_what_is_no_elf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError):
        FileCode(tmp_path / "file")
