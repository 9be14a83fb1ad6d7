"""Kernels from a git repository: what is built, with what, and what is built again."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest
import small_linux
from built_kernels import built, compiled, content, history
from made_repository import ENV, Made, MadeRepository, make
from support import need_program

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import ARM64
from profdiff.collectors.kernels.build import BuildError, build, is_built
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.prepared import prepare
from profdiff.collectors.kernels.building.toolchain import find_toolchain
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.symbolization._native import elf_build_id


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, also for the compiler."""
    need_program("make")
    need_program("gcc")
    folder = tmp_path / "cache"
    monkeypatch.setenv("PROFDIFF_CACHE", str(folder))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """base, other, fast, broken."""
    return history(tmp_path / "linux")


@pytest.mark.build
def test_a_revision_is_built(repo: MadeRepository) -> None:
    spec = GitSpec.parse(f"git:{repo.folder}@other")
    assert not is_built(spec)
    kernel = build(BuildJob.of(spec), "k", quiet=True)
    assert is_built(spec)
    assert (kernel.label, kernel.spec) == ("k", str(spec))
    assert kernel.config and "CONFIG_SERIAL_8250_CONSOLE=y\n" in kernel.config.read_text()
    assert compiled(kernel) == ["mm/mmap.o", "mm/mprotect.o"]
    # What was linked is the image of such a tree: its vmlinux is of the same build.
    assert kernel.image and elf_build_id(str(kernel.debug_elf)) == elf_build_id(str(kernel.image))
    source = kernel.source
    assert source
    assert source.commit == source.built == repo.commits["other"]
    assert source.subject == "mm: add mmap"
    assert source.tree == repo.git("rev-parse", "other^{tree}").strip()
    assert source.described == repo.commits["other"][:12]
    assert not source.dirty
    assert source.arch == "x86_64"
    first = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    assert source.compiler == first.stdout.splitlines()[0]


@pytest.mark.build
def test_a_spec_is_located(repo: MadeRepository) -> None:
    kernel = parse(f"git:{repo.folder}@base").locate("k")
    assert kernel.source
    assert kernel.source.commit == repo.commits["base"]


@pytest.mark.build
def test_nothing_is_built_twice(repo: MadeRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = built(repo, "@base")
    # Another commit with the same files, and no make that could build them.
    repo.git("commit-tree", "base^{tree}", "-m", "again")
    again = repo.git("commit-tree", "base^{tree}", "-p", "other", "-m", "again").strip()
    monkeypatch.setattr("profdiff.collectors.kernels.build.supervised", None)
    after = built(repo, f"@{again}")
    assert after.image == before.image
    assert after.source and after.source.commit == again
    assert after.source.subject == "again"


@pytest.mark.build
def test_the_next_revision_compiles_what_differs(repo: MadeRepository) -> None:
    built(repo, "@other")
    fast = built(repo, "@fast")
    assert compiled(fast) == ["mm/mprotect.o"]
    # And the one before, of which nothing is left but the cache.
    assert compiled(built(repo, "@other")) == ["mm/mmap.o", "mm/mprotect.o"]


@pytest.mark.build
def test_the_repository_stays_as_it_is(repo: MadeRepository) -> None:
    repo.git("checkout", "-q", "other")
    (repo.folder / "mm/mmap.c").write_text("int half(")
    repo.git("add", "mm/mmap.c")
    (repo.folder / "mm/mmap.c").write_text("int half_done(")

    def state() -> list[str]:
        index = hashlib.sha256((repo.folder / ".git/index").read_bytes()).hexdigest()
        words = (("status", "--porcelain=v2", "--branch"), ("for-each-ref",), ("stash", "list"))
        # git status may write the index: it is read first.
        return [index, *(repo.git("--no-optional-locks", *one) for one in words)]

    before = state()
    hook = repo.folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {repo.folder}/hooked\n")
    hook.chmod(0o755)
    built(repo, "@base")
    built(repo, "@fast~other")
    assert state() == before
    assert not (repo.folder / "hooked").exists()


@pytest.mark.build
def test_a_work_tree_as_it_is(repo: MadeRepository) -> None:
    repo.git("checkout", "-q", "base")
    clean = built(repo, "")
    assert clean.source and not clean.source.dirty
    assert clean.source.built == repo.commits["base"]
    (repo.folder / "mm/mmap.c").write_text("int nobody_added_me(void) { return 3; }\n")
    (repo.folder / "mm/ignored.o").write_text("no object file")
    header = repo.folder / "include/small.h"
    header.write_text("#define PAGES 7\n")
    dirty = built(repo, "")
    assert dirty.source and dirty.source.dirty
    assert dirty.source.commit == repo.commits["base"] != dirty.source.built
    files = repo.git("ls-tree", "-r", "--name-only", dirty.source.built).split()
    assert "mm/mmap.c" in files and "mm/ignored.o" not in files
    assert repo.git("show", f"{dirty.source.tree}:include/small.h") == "#define PAGES 7\n"
    assert compiled(dirty) == ["mm/mmap.o", "mm/mprotect.o"]
    # The same work tree is the same kernel, whoever asks again.
    assert built(repo, "").source == dirty.source
    assert repo.git("status", "--porcelain").splitlines() == [" M include/small.h", "?? mm/mmap.c"]


def test_a_change_at_the_time_of_the_checkout_is_seen(repo: MadeRepository) -> None:
    repo.git("checkout", "-q", "base")
    repo.git("config", "core.trustctime", "false")
    header = repo.folder / "include/small.h"
    then = header.stat().st_mtime_ns
    # As long as before, in the same moment: only what the index's time is tells.
    header.write_text("#define PAGES 7\n")
    for path in (header, repo.folder / ".git/index"):
        os.utime(path, ns=(then, then))
    prepared = prepare(GitSpec.parse(f"git:{repo.folder}"))
    assert prepared.dirty
    assert repo.git("show", f"{prepared.tree}:include/small.h") == "#define PAGES 7\n"


@pytest.mark.build
def test_a_branch_is_followed(repo: MadeRepository) -> None:
    assert built(repo, "@base").image == built(repo, "@other~other").image
    repo.git("branch", "-f", "base", "fast")
    assert built(repo, "@base").image == built(repo, "@fast").image


@pytest.mark.build
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_a_build_is_reproducible(
    repo: MadeRepository, cache: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    need_program(compiler)
    rest = f"@fast,cc={compiler}"
    first = built(repo, rest)
    # Somewhere else, after another revision, and without the compiler's cache.
    monkeypatch.setenv("PROFDIFF_CACHE", str(cache.parent / "a/longer/path/to/another"))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    built(repo, f"@base,cc={compiler}")
    second = built(repo, rest)
    assert first.image != second.image
    assert content(first) == content(second)
    assert elf_build_id(str(first.debug_elf)) == elf_build_id(str(second.debug_elf)) is not None
    assert str(cache).encode() not in content(first)


@pytest.mark.build
def test_what_decides_a_build(repo: MadeRepository) -> None:
    need_program("gcc-11")
    need_program("clang-19")
    specs = ["@fast", "@other", "@fast,cc=gcc-11", "@fast,cc=clang-19"]
    kernels = [built(repo, rest) for rest in specs]
    assert len({kernel.image for kernel in kernels}) == len(specs)
    assert len({content(kernel) for kernel in kernels}) == len(specs)
    compilers = [kernel.source.compiler for kernel in kernels if kernel.source]
    assert [re.findall(r"clang|gcc", one)[0] for one in compilers] == ["gcc", "gcc", "gcc", "clang"]
    # The default compiler by its name, or by its file, is the same kernel.
    assert built(repo, "@fast,cc=gcc").image == kernels[0].image
    assert built(repo, "@fast,cc=/usr/bin/gcc").image == kernels[0].image


@pytest.mark.build
def test_compilers_that_say_the_same_version_are_not_the_same(
    repo: MadeRepository, tmp_path: Path
) -> None:
    places = []
    for name, flag in (("one", ""), ("two", "-fno-inline")):
        place = tmp_path / name / "gcc"
        place.parent.mkdir()
        place.write_text(f'#!/bin/sh\nexec gcc {flag} "$@"\n')
        place.chmod(0o755)
        places.append(place)
    one, two = (built(repo, f"@fast,cc={place}") for place in places)
    assert one.source and two.source and one.source.compiler == two.source.compiler
    assert len({one.image, two.image, built(repo, "@fast").image}) == 3


def test_a_version_that_the_config_says_is_of_the_key(
    repo: MadeRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = GitSpec.parse(f"git:{repo.folder}@fast")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    keys = []
    for version in ("v1.24", "v1.25", "v1.25"):
        pahole = tmp_path / "pahole"
        pahole.write_text(f"#!/bin/sh\necho {version}\n")
        pahole.chmod(0o755)
        keys.append(BuildJob.of(spec).key)
    assert keys[0] != keys[1] == keys[2]


def test_a_cross_compiler_by_its_whole_name() -> None:
    need_program("aarch64-linux-gnu-gcc")
    found = find_toolchain("aarch64-linux-gnu-gcc", ARM64)
    assert found.program.name == "aarch64-linux-gnu-gcc"
    assert found == find_toolchain("gcc", ARM64) == find_toolchain("", ARM64)


@pytest.mark.build
def test_another_architecture(repo: MadeRepository) -> None:
    need_program("aarch64-linux-gnu-gcc")
    kernel = built(repo, "@fast,arch=arm64")
    assert kernel.image and kernel.image.name == "Image"
    assert kernel.source and kernel.source.arch == "arm64"
    assert b"\xb7\0" in content_of_elf(kernel.debug_elf)  # EM_AARCH64


def content_of_elf(path: Path | None) -> bytes:
    """The first bytes of a compressed ELF file."""
    command = ["zstd", "-dc", str(path)]
    return subprocess.run(command, capture_output=True, check=True).stdout[:64]


@pytest.mark.build
def test_a_source_that_does_not_build(repo: MadeRepository) -> None:
    with pytest.raises(BuildError) as caught:
        built(repo, "@broken")
    error, line = caught.value, str(caught.value)
    assert "\n" not in line
    assert error.first.startswith("mm/mprotect.c:4:38: error: ")
    assert "there_is_no_such_variable" in error.first
    assert error.first in line and str(error.log) in line and " bzImage" in line
    assert "there_is_no_such_variable" in error.log.read_text()
    # The next one is built as if nothing had been.
    assert compiled(built(repo, "@fast")) == ["mm/mmap.o", "mm/mprotect.o"]


@pytest.mark.parametrize(
    ("rest", "kind", "said"),
    [
        ("@v9", InputError, "has no revision 'v9'"),
        ("@-x", InputError, "has no revision '-x'"),
        ("@bas", InputError, "did you mean base?"),
        ("@fast,cc=gcc-1", MissingError, "gcc-1 is not installed: apt-get install gcc-1"),
        ("@fast,cc=clang-1", MissingError, "clang-1 is not installed"),
        ("@fast,cc=/no/gcc", InputError, "there is no such compiler"),
        ("@fast,cc=gcc;id", InputError, "write cc=gcc-13"),
        ("@fast,cc=/bin/false", InputError, "is not a compiler"),
        ("@fast,config=/no/config", InputError, "/no/config"),
        ("@fast,config=/dev/null", InputError, "it is not a regular file"),
    ],
)
def test_bad_input(repo: MadeRepository, rest: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)) as caught:
        built(repo, rest)
    assert "\n" not in str(caught.value)


def test_a_cache_in_which_linux_does_not_build(
    repo: MadeRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "my cache"))
    with pytest.raises(
        MissingError, match="not build in a folder with a space or colon in its path"
    ):
        built(repo, "@base")


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git repository"):
        build(BuildJob.of(GitSpec.parse(f"git:{tmp_path}")), "k")
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True, env=ENV)
    with pytest.raises(InputError, match="has no commit yet"):
        build(BuildJob.of(GitSpec.parse(f"git:{tmp_path}/empty")), "k")


@pytest.mark.build
def test_a_bare_repository(repo: MadeRepository, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    command = ["git", "clone", "-q", "--bare", str(repo.folder), str(bare)]
    subprocess.run(command, check=True, env=ENV)
    assert build(BuildJob.of(GitSpec.parse(f"git:{bare}@fast")), "k", quiet=True).source
    with pytest.raises(InputError, match="has no work tree: name a revision"):
        build(BuildJob.of(GitSpec.parse(f"git:{bare}")), "k")


@pytest.mark.build
def test_a_clone_builds_the_same_kernel(repo: MadeRepository, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repo.folder), str(clone)], check=True, env=ENV)
    one = build(BuildJob.of(GitSpec.parse(f"git:{clone}@origin/fast")), "k", quiet=True)
    assert one.image == built(repo, "@fast").image


@pytest.mark.build
def test_a_tree_without_what_the_compiler_needs(tmp_path: Path) -> None:
    # As scripts/Kconfig.include and scripts/min-tool-version.sh of Linux say it.
    makefile = small_linux.MAKEFILE.replace(
        "tinyconfig allnoconfig:\n",
        "tinyconfig allnoconfig:\n\t@echo '***'; echo '*** C compiler is too old.'; exit 1\n",
    )
    old = make(tmp_path / "old", {"base": Made(small_linux.tree(Makefile=makefile))})
    with pytest.raises(BuildError, match="does not build: C compiler is too old"):
        built(old, "@base")


@pytest.mark.build
def test_object_files_that_are_damaged_are_made_again(repo: MadeRepository, cache: Path) -> None:
    built(repo, "@other")
    (damaged,) = cache.glob("builds/slots/*/profdiff-1/.profdiff-*/mm/mmap.o")
    damaged.write_bytes(damaged.read_bytes()[:100])
    kernel = built(repo, "@fast")
    # All of it, and the log is of that alone.
    assert compiled(kernel) == ["mm/mmap.o", "mm/mprotect.o"]
    assert content(kernel) == content(built(repo, "@fast"))
