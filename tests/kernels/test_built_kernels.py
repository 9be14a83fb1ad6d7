"""``profdiff kernel build``, ``list``, ``remove --unused``; what ``doctor`` says of building."""

import os
import re
import time
from pathlib import Path

import pytest
from built_kernels import built, history
from made_repository import MadeRepository
from support import error_line, need_profile, need_program, profdiff

from profdiff.collectors.kernels import registered
from profdiff.collectors.kernels.building.kept import kept_kernels
from profdiff.commands.kernel import age, short_compiler


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a configuration of its own."""
    need_program("make")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path / "config"))
    return tmp_path / "cache"


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """base, other, fast, broken."""
    return history(tmp_path / "linux")


def let_pass(days: float) -> None:
    """What is kept was used so long ago."""
    then = time.time() - days * 86400
    for kernel in kept_kernels():
        os.utime(kernel.folder / "used", (then, then))
        for lock in kernel.folder.parent.parent.glob("slots/*/*.lock"):
            os.utime(lock, (then, then))


@pytest.mark.build
def test_build_says_little_in_a_pipe(repo: MadeRepository, cache: Path) -> None:
    spec = f"git:{repo.folder}@other"
    done = profdiff("kernel", "build", spec)
    (line,) = done.stdout.splitlines()
    where = Path(line.removeprefix(f"{spec}: "))
    assert where.parent == cache / "builds/kernels"
    assert (where / "bzImage").is_file()
    first, last = done.stderr.splitlines()
    assert re.fullmatch(rf"other: building {repo.commits['other'][:12]} with gcc.*", first)
    assert re.fullmatch(r"other: built in \d+ s", last)
    again = profdiff("kernel", "build", spec)
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert profdiff("kernel", "build", "--quiet", f"git:{repo.folder}@fast").stderr == ""
    following = profdiff("kernel", "build", f"git:{repo.folder}@base").stderr
    assert "; the last such build took " in following


@pytest.mark.build
@pytest.mark.build
def test_a_bar_of_steps_on_a_terminal(repo: MadeRepository, cache: Path) -> None:
    need_program("script")
    import subprocess
    import sys

    words = [sys.executable, "-m", "profdiff", "kernel", "build", f"git:{repo.folder}@other"]
    done = subprocess.run(
        ["script", "-qec", " ".join(words), "/dev/null"],
        capture_output=True,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        check=True,
    )
    assert "other: arch/x86/boot/bzImage" in done.stdout
    assert "━" in done.stdout


@pytest.mark.build
def test_what_does_not_build_is_one_line(repo: MadeRepository) -> None:
    line = error_line(profdiff("kernel", "build", f"git:{repo.folder}@broken", status=2))
    assert "does not build: mm/mprotect.c:4:38: error: " in line
    assert "log: " in line
    line = error_line(profdiff("kernel", "build", "debian:trixie", status=2))
    assert line == "debian:trixie: profdiff builds only git:REPO[@REV]"


def test_a_mistake_behind_shows_before_the_first_is_built(repo: MadeRepository) -> None:
    specs = [f"git:{repo.folder}@other", f"git:{repo.folder}@fats"]
    done = profdiff("kernel", "build", *specs, status=2)
    assert "has no revision 'fats'" in error_line(done)
    assert not list(kept_kernels())


@pytest.mark.build
def test_names_of_kernels_from_a_repository(repo: MadeRepository) -> None:
    profdiff("kernel", "add", "fast", f"git:{repo.folder}@fast")
    (line,) = profdiff("kernel", "list").stdout.splitlines()
    assert line == f"fast  git:{repo.folder}@fast  (not built yet)"
    profdiff("kernel", "build", "fast")
    lines = profdiff("kernel", "list").stdout.splitlines()
    assert lines[0] == f"fast  git:{repo.folder}@fast"
    assert lines[1] == ""
    assert lines[2].split() == ["release", "compiler", "size", "used", "built", "from"]
    assert re.fullmatch(rf"6\.12\.0 +gcc \S+ +\d+ kB +now +git:{repo.folder}@fast", lines[3])
    line = error_line(profdiff("kernel", "add", "x", f"git:{repo.folder}@fats", status=2))
    assert "has no revision 'fats': did you mean fast?" in line
    repo.git("branch", "-D", "fast")
    assert "has no revision 'fast'" in profdiff("kernel", "list").stdout.splitlines()[0]


@pytest.mark.build
def test_unused_kernels_are_removed(repo: MadeRepository, cache: Path) -> None:
    for rest in ("@base", "@other", "@fast"):
        built(repo, rest)
    assert profdiff("kernel", "remove", "--unused").stdout.startswith("removed 0 kernels and 0 ")
    let_pass(20)
    built(repo, "@other")
    os.utime(next(cache.glob("builds/slots/*/profdiff-1.lock")))
    profdiff("kernel", "add", "kept", f"git:{repo.folder}@base")
    done = profdiff("kernel", "remove", "--unused")
    assert re.fullmatch(r"removed 1 kernel and 0 worktrees: \d+ kB\n", done.stdout)
    assert {one.about.spec[-5:] for one in kept_kernels()} == {"@base", "other"}
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 2
    done = profdiff("kernel", "remove", "--unused", "--older-than", "0")
    assert done.stdout.startswith("removed 1 kernel and 1 worktree: ")
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert not list(cache.glob("builds/slots/*/profdiff-1"))
    # What was removed is built again.
    assert built(repo, "@other").image


@pytest.mark.build
def test_a_name_keeps_its_kernel_whatever_words_built_it(repo: MadeRepository) -> None:
    built(repo, f"@{repo.commits['fast']},cc=gcc")
    built(repo, "@other")
    repo.git("checkout", "-q", "base")
    let_pass(20)
    profdiff("kernel", "add", "kept", f"git:{repo.folder}@fast")
    profdiff("kernel", "add", "work", f"git:{repo.folder}")
    assert profdiff("kernel", "remove", "--unused").stdout.startswith("removed 1 kernel ")
    (one,) = kept_kernels()
    assert repo.commits["fast"] in one.about.spec


def test_a_list_writes_nothing(repo: MadeRepository) -> None:
    repo.git("checkout", "-q", "base")
    profdiff("kernel", "add", "work", f"git:{repo.folder}")
    (repo.folder / "mm/new.c").write_text("int x;\n")
    before = sorted(repo.folder.rglob("*"))
    (line,) = profdiff("kernel", "list").stdout.splitlines()
    assert line == f"work  git:{repo.folder}  (built when asked for)"
    assert sorted(repo.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "words", [[], ["a", "--unused"], ["a", "--older-than", "3"], ["--older-than", "3"]]
)
def test_remove_wants_a_name_or_unused(words: list[str]) -> None:
    line = error_line(profdiff("kernel", "remove", *words, status=2))
    assert line == "give a NAME to forget, or --unused, with or without --older-than DAYS"


@pytest.mark.build
def test_what_is_damaged_is_passed_over(repo: MadeRepository, cache: Path) -> None:
    built(repo, "@base")
    (about,) = cache.glob("builds/kernels/*/build.json")
    about.write_text("{}")
    assert list(kept_kernels()) == []
    assert profdiff("kernel", "list").stdout == ""


def test_doctor_says_what_building_needs() -> None:
    said = profdiff("doctor").stdout
    start = said.index("this machine: building kernels from a git repository\n")
    table = said[start:].split("this machine: recording in")[0].splitlines()[1:]
    table = [line for line in table if not line.startswith(" ")]
    words = {line.split()[1] for line in table}
    assert {"git", "make", "gcc", "flex", "bison", "bc", "libelf-dev", "ccache", "room"} <= words
    assert all(line.split()[0] in ("ok", "note", "missing") for line in table)


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc 12.2.0"),
        ("gcc-13 (Ubuntu 13.1.0-8ubuntu1~22.04) 13.1.0", "gcc 13.1.0"),
        ("Debian clang version 19.1.7 (3+b1)", "clang 19.1.7"),
        ("clang version 18.1.8", "clang 18.1.8"),
        ("aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0", "gcc 12.2.0"),
    ],
)
def test_compilers_in_few_words(said: str, short: str) -> None:
    assert short_compiler(said) == short


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0, "now"),
        (0.04, "57 minutes ago"),
        (0.05, "1 hour ago"),
        (1, "1 day ago"),
        (40.5, "40 days ago"),
    ],
)
def test_ages(days: float, words: str) -> None:
    assert age(days) == words


@pytest.mark.kernel
def test_diff_builds_no_registered_kernel(repo: MadeRepository, tmp_path: Path) -> None:
    """Symbols of recordings come from registered kernels that are here: nothing is built, and what
    would take an answer from git is left out, too."""
    recordings = [need_profile(name) for name in ("v6.12.107", "v6.18.15")]
    for name, rest in (("built", "@base"), ("tree", ""), ("changed", "@base~fast")):
        registered.add(name, f"git:{repo.folder}{rest}")
    shown = profdiff("diff", *recordings, "--text", tmp_path / "text")
    assert "built in" not in shown.stderr
    assert (tmp_path / "text").read_text()
    assert kept_kernels() == []
