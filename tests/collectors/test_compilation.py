"""``.c`` workloads: libraries that they need, and what their compiler misses."""

import subprocess
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, host
from profdiff.collectors.guest import initramfs
from profdiff.collectors.workload.compilation import compiled
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.workload import prepare


@pytest.mark.parametrize(
    ("source", "stderr", "said"),
    [
        (
            "#include <numa.h>\n",
            "x.c:1: fatal error: numa.h: No such file",
            ".*numa.h.*libnuma-dev",
        ),
        ("#include <numa.h>\n", "ld: cannot find -lnuma: No such", ".*-lnuma.*libnuma-dev"),
        ("", "x.c:1: fatal error: stdio.h: No such file", ".*stdio.*libc6-dev"),
        (
            "",
            "/usr/bin/ld: cannot find -lc: No such file\ncollect2: error: 1",
            ".*find -lc: .*libc6-dev",
        ),
    ],
)
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.arch)
def test_what_a_compiler_misses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    architecture: Architecture,
    source: str,
    stderr: str,
    said: str,
) -> None:
    """The error names Debian's package, for the architecture."""
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    made = programs / architecture.compiler
    made.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{stderr}\nEND\nexit 1\n")
    made.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    Path("x.c").write_text(source)
    with pytest.raises(MissingError, match=f"cannot compile x.c: {said}") as error:
        compiled(Path("x.c"), tmp_path / "build", tmp_path, architecture)
    foreign = "" if architecture.is_host else architecture.debian
    assert foreign in str(error.value).partition("apt-get")[2]


CXX = """#include <profdiff.h>
#include <vector>
int main() {
    PROFDIFF_START();
    std::vector<int> values(3, 1);
    PROFDIFF_STOP();
    return static_cast<int>(values.size()) + 4;
}
"""


@pytest.mark.parametrize("suffix", ["cpp", "cc", "cxx"])
def test_a_workload_in_cxx(tmp_path: Path, suffix: str) -> None:
    need_program("c++", "g++")
    source = tmp_path / f"seven.{suffix}"
    source.write_text(CXX)
    words = [str(source)]
    ready = prepare(words, [], tmp_path / "build", initramfs.guest_resources(), host())
    assert (ready.kind, ready.source, ready.has_marks) == ("source", source, True)
    assert subprocess.run([ready.files[0].source], check=False).returncode == 7
    assert read_elf(ready.files[0].source).needed == ()  # type: ignore[union-attr]


@pytest.mark.build
def test_a_library_that_a_source_includes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is linked where it is needed, as published reproducers say with -l."""
    monkeypatch.chdir(tmp_path)
    folders = tmp_path / "build", tmp_path
    library = tmp_path / "library"
    library.mkdir()
    (library / "numa.h").write_text("int numa_available(void);\n")
    (library / "numa.c").write_text("int numa_available(void) { return 7; }\n")
    subprocess.run([need_program("cc", "gcc"), "-c", "numa.c"], cwd=library, check=True)
    subprocess.run(["ar", "rc", "libnuma.a", "numa.o"], cwd=library, check=True)
    monkeypatch.setenv("CPATH", str(library))
    monkeypatch.setenv("LIBRARY_PATH", str(library))
    main = "#include <numa.h>\nint main(void) { return numa_available(); }\n"
    Path("needs.c").write_text(main)
    program = compiled(Path("needs.c"), *folders, host()).program
    assert subprocess.run([program], check=False).returncode == 7
    (library / "libnuma.a").unlink()
    with pytest.raises(MissingError, match=r"cannot find -lnuma.*libnuma-dev"):
        compiled(Path("needs.c"), *folders, host())
    # What does not need it is linked without it.
    Path("free.c").write_text("#include <numa.h>\nint main(void) { return 3; }\n")
    program = compiled(Path("free.c"), *folders, host()).program
    assert subprocess.run([program], check=False).returncode == 3


@pytest.mark.parametrize(
    ("name", "programs", "here", "across"),
    [
        ("x.c", ("cc", "gcc"), "gcc libc6-dev", "gcc-{0} libc6-dev-{1}-cross"),
        ("x.cpp", ("c++", "g++"), "g++", "g++-{0}"),
    ],
)
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.arch)
def test_no_compiler(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    architecture: Architecture,
    name: str,
    programs: tuple[str, str],
    here: str,
    across: str,
) -> None:
    source = tmp_path / name
    source.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError) as error:
        compiled(source, tmp_path / "build", tmp_path, architecture)
    compiler, packages = programs[0], here
    if not architecture.is_host:
        compiler = f"{architecture.triplet}-{programs[1]}"
        packages = across.format(architecture.triplet.replace("_", "-"), architecture.debian)
    assert str(error.value) == f"{compiler} is not installed: apt-get install {packages}"
