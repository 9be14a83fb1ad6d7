"""Builds that are killed, that find no room, and that are not alone."""

import contextlib
import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_linux
from built_kernels import FAST, OTHER, built, compiled, content, history
from made_repository import Made, MadeRepository, make
from support import need_program

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.kernels.build import BuildError, build
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.prepared import prepare
from profdiff.collectors.kernels.building.slots import MOST, slot_for
from profdiff.collectors.kernels.git_spec import GitSpec

# A compiler that waits for ever on one file, as long as there is a file "wait" beside it.
_STUCK = """#!/bin/sh
case "$*" in *mmap.c*) [ -e "$(dirname "$0")/wait" ] && sleep 4242;; esac
exec gcc "$@"
"""
# One that is killed for its memory.
_KILLED = """#!/bin/sh
case "$*" in *mmap.c*) echo "gcc: fatal error: Killed signal terminated program cc1" >&2; exit 1;;
esac
exec gcc "$@"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    need_program("make")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """base, other, fast, broken."""
    return history(tmp_path / "linux")


def compiler(folder: Path, script: str) -> Path:
    """A compiler that is a script, and waits."""
    path = folder / "own-gcc"
    path.write_text(script)
    path.chmod(0o755)
    (folder / "wait").touch()
    return path


@contextlib.contextmanager
def building(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """``profdiff kernel build``, which is killed at the end."""
    command = [sys.executable, "-m", "profdiff", "kernel", "build", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(found: object, seconds: float = 60) -> None:
    """Until ``found()`` is true."""
    assert callable(found)
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def stuck(tree: Path) -> list[int]:
    """The processes that compile below ``tree``, and wait."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cwd").resolve().is_relative_to(tree):
                found.append(int(folder.name))
    return found


@pytest.mark.build
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_dies_with_us_and_the_next_goes_on(
    repo: MadeRepository, tmp_path: Path, cache: Path, sign: signal.Signals
) -> None:
    own = compiler(tmp_path, _STUCK)
    spec = f"git:{repo.folder}@other,cc={own}"
    with building("--quiet", spec) as process:
        wait_for(lambda: list(cache.glob("builds/slots/*/*/.profdiff-*/mm/mprotect.o")))
        wait_for(lambda: stuck(cache))
        os.kill(process.pid, sign)
        process.wait()
    wait_for(lambda: not stuck(cache))
    assert not list(cache.glob("builds/kernels/*/build.json"))
    (tmp_path / "wait").unlink()
    kernel = built(repo, f"@other,cc={own}")
    assert content(kernel) == content(built(repo, "@other,cc=gcc"))
    # One worktree, which others find clean.
    assert len(list(cache.glob("builds/slots/*/profdiff-?"))) == 1
    assert not list(cache.glob("builds/slots/*/*.unclean"))
    assert not list(cache.glob("builds/slots/*/*/.profdiff-*/.building"))


@pytest.mark.build
def test_a_killed_build_and_another_in_its_tree(
    repo: MadeRepository, tmp_path: Path, cache: Path
) -> None:
    own = compiler(tmp_path, _STUCK)
    with building("--quiet", f"git:{repo.folder}@other,cc={own}") as process:
        wait_for(lambda: list(cache.glob("builds/slots/*/*/.profdiff-*/mm/mprotect.o")))
        wait_for(lambda: stuck(cache))
        process.kill()
        process.wait()
    wait_for(lambda: not stuck(cache))
    (half,) = cache.glob("builds/slots/*/*/.profdiff-*/mm/mprotect.o")
    half.write_bytes(b"\x7fELF")
    # Object files of another compiler, in the same tree.
    other = content(built(repo, "@other"))
    assert half.read_bytes() == b"\x7fELF"
    (tmp_path / "wait").unlink()
    kernel = built(repo, f"@other,cc={own}")
    assert compiled(kernel) == ["mm/mmap.o", "mm/mprotect.o"]
    assert content(kernel) == other
    assert len(list(cache.glob("builds/slots/*/profdiff-?"))) == 1


@pytest.mark.build
def test_a_killed_compiler_is_not_the_source_s_fault(
    repo: MadeRepository, tmp_path: Path, cache: Path
) -> None:
    own = compiler(tmp_path, _KILLED)
    with pytest.raises(MissingError, match="cannot be built on this machine: a process ran out"):
        built(repo, f"@other,cc={own}")
    assert len(list(cache.glob("builds/slots/*/*/.profdiff-*/.building"))) == 1
    assert not list(cache.glob("builds/failed/*"))
    assert built(repo, "@other").image


@pytest.mark.build
def test_a_damaged_program_of_the_config_is_made_again(tmp_path: Path, cache: Path) -> None:
    conf = (
        "olddefconfig: $(obj)/scripts/kconfig/conf\n\t@$<\n\n"
        "$(obj)/scripts/kconfig/conf:\n\t@mkdir -p $(@D); cp /bin/true $@\n\n"
    )
    makefile = small_linux.MAKEFILE + conf
    files = small_linux.tree(Makefile=makefile)
    changed = small_linux.tree(Makefile=makefile, scripts__x="")
    made = make(tmp_path / "conf", {"one": Made(files), "two": Made(changed, ["one"])})
    built(made, "@one")
    (program,) = cache.glob("builds/slots/*/*/.profdiff-*/scripts/kconfig/conf")
    program.write_text("#!/no/such/program\n")
    assert compiled(built(made, "@two")) == []
    assert program.read_bytes() == Path("/bin/true").read_bytes()


@pytest.mark.build
def test_what_was_half_written_is_made_again(repo: MadeRepository, cache: Path) -> None:
    built(repo, "@other")
    (unclean,) = (path.with_suffix(".unclean") for path in cache.glob("builds/slots/*/profdiff-1"))
    # As kill -9 leaves it: half an object file, a file of a checkout, git's lock.
    (objects,) = cache.glob("builds/slots/*/profdiff-1/.profdiff-*")
    (objects / "mm/mmap.o").write_bytes(b"\x7fELF")
    tree = unclean.with_suffix("")
    (tree / "mm/left.c").write_text("int left;\n")
    (tree / "mm/mprotect.c").write_text("int half(")
    git_folder = Path((tree / ".git").read_text().split()[1])
    (git_folder / "index.lock").touch()
    for name in ("HEAD.lock", "ORIG_HEAD.lock"):
        (git_folder / name).touch()
    unclean.touch()
    (objects / ".building").touch()
    kernel = built(repo, "@fast")
    assert compiled(kernel) == ["mm/mmap.o", "mm/mprotect.o"]
    assert not (tree / "mm/left.c").exists()


@pytest.mark.build
@pytest.mark.parametrize("small_disk", ["1m"], indirect=True)
def test_a_full_disk(
    repo: MadeRepository, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(small_disk / "cache"))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    built(repo, "@base")
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(MissingError, match="no room"):
        built(repo, "@fast")
    filler.unlink()
    kernel = built(repo, "@fast")
    monkeypatch.setenv("PROFDIFF_CACHE", str(repo.folder.parent / "cache"))
    assert content(kernel) == content(built(repo, "@fast"))


@pytest.mark.build
def test_two_at_once_build_one(repo: MadeRepository, cache: Path) -> None:
    spec = f"git:{repo.folder}@fast"
    with building("--quiet", spec) as one, building("--quiet", spec) as two:
        assert [one.wait(120), two.wait(120)] == [0, 0]
    assert len(list(cache.glob("builds/kernels/*/build.json"))) == 1
    assert len(list(cache.glob("builds/slots/*/profdiff-?"))) == 1


@pytest.mark.build
def test_who_waits_says_so_and_takes_over_a_failure(repo: MadeRepository, cache: Path) -> None:
    spec = GitSpec.parse(f"git:{repo.folder}@broken")
    job = BuildJob.of(spec)
    with kept.lock(kept.kept_folder(job.key)) as lock, building(str(spec)) as process:
        assert not lock.taken_by_another
        assert process.stderr
        assert b"broken: another process builds" in process.stderr.readline()
        (cache / "builds/failed").mkdir()
        log = cache / f"builds/failed/{job.key}.log"
        log.write_text("mm/x.c:1:1: error: of the other process\n")
        lock.release()
        assert b"does not build: mm/x.c:1:1: error: of the other process (log" in (
            process.stderr.readline()
        )
        assert process.wait(60) == 2
    assert not list(cache.glob("builds/slots/*"))
    # Who did not wait tries anew.
    with pytest.raises(BuildError, match="there_is_no_such_variable"):
        build(BuildJob.of(spec), "k", quiet=True)


@pytest.mark.build
def test_the_command_that_failed_can_be_run(repo: MadeRepository) -> None:
    with pytest.raises(BuildError) as caught:
        built(repo, "@broken")
    found = re.search(r" \((make .*); log: ", str(caught.value))
    assert found
    done = subprocess.run(
        shlex.split(found[1]), capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode
    assert "there_is_no_such_variable" in done.stderr


def test_a_cache_that_cannot_be_locked(
    repo: MadeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepare(GitSpec.parse(f"git:{repo.folder}@other"))

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(MissingError, match="cannot be locked"), slot_for(prepared, "x"):
        pass


@pytest.mark.build
def test_a_kernel_that_is_asked_for_is_not_removed(repo: MadeRepository, cache: Path) -> None:
    built(repo, "@base")
    (one,) = kept.kept_kernels()
    with kept.lock(one.folder) as lock:
        assert not lock.taken_by_another
        assert not kept.remove(one)
    built(repo, "@base")
    assert not kept.remove(one)  # it was used since
    (one,) = kept.kept_kernels()
    assert kept.remove(one)
    assert not one.folder.exists()
    # Who waits for it waits for this file.
    assert one.folder.with_name(f".{one.folder.name}.lock").is_file()


@pytest.mark.build
def test_builds_beside_each_other_have_worktrees_of_their_own(
    repo: MadeRepository, cache: Path
) -> None:
    built(repo, "@fast")
    with slot_for(prepare(GitSpec.parse(f"git:{repo.folder}@other")), "x") as held:
        assert held.tree.name == "profdiff-1"
        built(repo, "@other")
    trees = sorted(path.name for path in cache.glob("builds/slots/*/profdiff-?"))
    assert trees == ["profdiff-1", "profdiff-2"]


@pytest.mark.build
def test_the_same_key_in_two_worktrees_gives_the_same_kernel(
    repo: MadeRepository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    first = built(repo, "@fast")
    before = content(first)
    assert first.image
    first.image.parent.rename(cache / "kept")
    prepared = prepare(GitSpec.parse(f"git:{repo.folder}@other"))
    with slot_for(prepared, "x"):
        second = built(repo, "@fast")
    assert compiled(second) == ["mm/mmap.o", "mm/mprotect.o"]
    trees = sorted(path.name for path in cache.glob("builds/slots/*/profdiff-?"))
    assert trees == ["profdiff-1", "profdiff-2"]
    assert second.image == first.image
    assert content(second) == before


def test_the_nearest_worktree_is_taken(repo: MadeRepository) -> None:
    specs = {rest: prepare(GitSpec.parse(f"git:{repo.folder}@{rest}")) for rest in repo.commits}
    with slot_for(specs["other"], "x") as first:
        first.check_out(specs["other"].git, specs["base"].built)
        with slot_for(specs["other"], "x") as second:
            second.check_out(specs["other"].git, specs["fast"].built)
    assert first.tree != second.tree
    for rest, nearest in (("base", first), ("fast", second)):
        with slot_for(specs[rest], "x") as slot:
            assert slot.tree == nearest.tree
    # But object files of the same kind count for more than a few files.
    second.objects("kind")
    with slot_for(specs["base"], "kind") as slot:
        assert slot.tree == second.tree


@pytest.mark.build
def test_no_more_worktrees_than_that(
    repo: MadeRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared = prepare(GitSpec.parse(f"git:{repo.folder}@other"))
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            held = stack.enter_context(slot_for(prepared, "x"))
        spec = f"git:{repo.folder}@fast"
        with building("--quiet", spec) as process:
            assert process.stderr
            line = process.stderr.readline().decode()
            assert f"its {MOST} worktrees are in use: waiting for one" in line
            assert process.poll() is None
            stack.close()
            assert process.wait(120) == 0
    assert held.tree.is_dir()


@pytest.mark.build
def test_a_cache_that_was_emptied(repo: MadeRepository, cache: Path) -> None:
    first = content(built(repo, "@fast"))
    cache.rename(cache.with_name("gone"))
    assert content(built(repo, "@fast")) == first
    # The repository knows no worktree twice.
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 2


def test_a_repository_that_cannot_be_written(repo: MadeRepository) -> None:
    # For root, too.
    (repo.folder / ".git/worktrees").write_text("")
    with pytest.raises(InputError, match="must be writable: name a clone of it"):
        build(BuildJob.of(GitSpec.parse(f"git:{repo.folder}@fast")), "k", quiet=True)


@pytest.mark.build
def test_few_folders_of_object_files_are_kept(tmp_path: Path, cache: Path) -> None:
    repository = make(tmp_path / "many", {"base": Made(small_linux.tree(**OTHER, **FAST))})
    for number in range(5):
        fragment = tmp_path / f"{number}.config"
        fragment.write_text(f"CONFIG_HZ={number}\n")
        built(repository, f"@base,config={fragment}")
    assert len(list(cache.glob("builds/slots/*/profdiff-1/.profdiff-*"))) == 3
    assert len(list(cache.glob("builds/kernels/*/build.json"))) == 5
