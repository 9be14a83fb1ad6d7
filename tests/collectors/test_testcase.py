"""Tests in will-it-scale's shape: seen by what they define, given a main(), and ended in time."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_program
from will_it_scale import FSTAT, body, run, two_processors

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, host
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.workload import PreparedWorkload, prepare

pytestmark = pytest.mark.build
Made = Callable[..., PreparedWorkload]
MAIN = "int main(void) { return 7; }\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Prepares a source: ``made(text, word, ..., copies=2)``."""
    need_program("cc", "gcc")
    monkeypatch.chdir(tmp_path)

    def make(text: str, *words: str, name: str = "t.c", **options: object) -> PreparedWorkload:
        Path(name).write_text(text)
        folders = tmp_path / "build", guest_resources()
        return prepare([f"./{name}", *words], [], *folders, **options)  # type: ignore[arg-type]

    return make


def test_a_test_gets_a_main_and_its_arguments(made: Made) -> None:
    ready = made(FSTAT)
    assert (ready.kind, ready.is_test, ready.has_marks) == ("source", True, True)
    assert ready.argv == ("./t.c",)
    assert ready.guest_argv == ("/work/t", "processes", "1", "{ops}")
    ready = made(FSTAT, "threads", copies=4)
    assert ready.guest_argv == ("/work/t", "threads", "4", "{ops}")
    assert (ready.copies, ready.started) == (4, 1)
    assert made(FSTAT, "{mode}").guest_argv[1] == "{mode}"


@pytest.mark.parametrize("words", [("7",), ("threads", "7"), ("-t", "4")])
def test_a_test_takes_no_other_argument(made: Made, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=f"no argument but .*threads, not {' '.join(words)};"):
        made(FSTAT, *words)


def test_what_is_no_test(made: Made) -> None:
    both = made(FSTAT + MAIN, "7")
    assert (both.is_test, both.guest_argv) == (False, ("/work/t", "7"))
    assert run(both.files[0].source).returncode == 7
    for text in (
        "int test;\n",
        "static int testcase(void) { return 0; }\nint f(void) { return testcase(); }\n",
        "extern int testcase(void);\nint f(void) { return testcase(); }\n",
        "int testcase;\n",
    ):
        with pytest.raises(InputError, match=r"cannot compile t.c: .*undefined.*main"):
            made(text)
    with pytest.raises(InputError, match=r"cannot compile t.c: .*unknown type name"):
        made("nonsense testcase(void) { }\n")


def test_a_test_in_cxx(made: Made) -> None:
    need_program("c++", "g++")
    source = 'extern "C" void testcase(unsigned long long *n, unsigned long) { for (;;) ++*n; }\n'
    call = source.replace("for (;;)", "for (;; getppid())")
    ready = made("#include <unistd.h>\n" + call, name="t.cc")
    assert ready.is_test
    assert run(ready.files[0].source, "threads", 1, 500).returncode == 0


def test_a_test_that_was_compiled_before(made: Made) -> None:
    program = made(FSTAT).files[0].source
    written = program.stat().st_mtime_ns
    again = made(FSTAT)
    assert (again.is_test, again.files[0].source) == (True, program)
    assert program.stat().st_mtime_ns == written
    assert not made(FSTAT + MAIN).is_test
    assert made(FSTAT).is_test


def test_a_test_is_compiled_the_same_anywhere(tmp_path: Path) -> None:
    need_program("cc", "gcc")
    hashes = set()
    for name in ("here", "there"):
        source = tmp_path / name / "t.c"
        source.parent.mkdir()
        source.write_text(FSTAT)
        header = tmp_path / name / "headers"
        shutil.copytree(guest_resources(), header, ignore=shutil.ignore_patterns("*.py*"))
        hashes.add(prepare([str(source)], [], tmp_path / name / "b", header).files[0].sha256())
    assert len(hashes) == 1


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.arch)
def test_architectures(made: Made, architecture: Architecture) -> None:
    need_program(architecture.compiler, architecture.packages.get(architecture.compiler))
    ready = made(FSTAT, architecture=architecture)
    assert ready.has_marks
    assert read_elf(ready.files[0].source).machine == architecture.elf  # type: ignore[union-attr]


@pytest.fixture(params=["gcc", "clang-19"])
def built(
    made: Made, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """The program of a test, by each compiler."""
    compiler = need_program(request.param)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / host().compiler).symlink_to(compiler)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return lambda text: made(text).files[0].source


@pytest.mark.parametrize("copies", [1, 2])
def test_each_copy_does_as_many_operations(built: Callable[[str], Path], copies: int) -> None:
    two_processors()
    ended = run(built(FSTAT), "threads", copies, 300)
    assert (ended.returncode, ended.stderr) == (0, "")
    # Those before the window, too.
    assert ended.stdout.split() == ["364"] * copies


@pytest.mark.parametrize(
    ("statements", "mode", "status", "said"),
    [
        ("getppid(); *iterations += 2;", "processes", 0, ""),
        ("free(malloc(100)); ++*iterations;", "processes", 0, ""),
        # The other copy waits for this one, in vain.
        ("getppid(); if (nr && *iterations == 99) abort(); ++*iterations;", "processes", 134, ""),
        ("getppid(); if (nr && *iterations == 99) abort(); ++*iterations;", "threads", -6, ""),
        ("if (nr && *iterations == 9) _exit(3); getppid(); ++*iterations;", "processes", 3, ""),
        (
            "if (*iterations == 99) return 0; getppid(); ++*iterations;",
            "processes",
            1,
            "testcase() returned after 99 operations",
        ),
        # What is forked is no copy, nor is another task, which goes with its copy.
        ("if (!fork()) _exit(0); ++*iterations;", "processes", 0, ""),
        *(
            (
                "if (!n++ && (pipe(ours) || pipe(theirs))) abort();\n"
                "if (n == 1) new_task(answer, NULL);\n"
                "if (write(ours[1], &c, 1) != 1 || read(theirs[0], &c, 1) != 1) abort();\n"
                "++*iterations;",
                mode,
                0,
                "",
            )
            for mode in ("processes", "threads")
        ),
    ],
)
def test_how_tests_end(
    built: Callable[[str], Path], statements: str, mode: str, status: int, said: str
) -> None:
    two_processors()
    copies = 1 if "new_task" in statements and mode == "threads" else 2
    ended = run(built(body(statements)), mode, copies, 200)
    assert ended.returncode == status, ended.stderr
    assert ended.stderr.strip().split("\n")[0] == said


def test_arguments_that_main_does_not_take(made: Made) -> None:
    program = made(FSTAT).files[0].source
    for words in ((), ("threads", 0, 5), ("threads", 1, 0), ("x", 1, 1)):
        ended = run(program, *words)
        assert (ended.returncode, ended.stderr[:6]) == (2, "usage:")


def test_a_processor_that_is_not_there(made: Made) -> None:
    ended = run(made(FSTAT).files[0].source, "processes", (os.cpu_count() or 1) + 1, 5)
    assert ended.returncode == 1
    assert "a copy cannot have a vCPU of its own: Invalid argument" in ended.stderr
