"""Workloads from a root folder (``--sysroot``): what travels from it, and what is refused."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from root_folders import INTERPRETER, Build, Ready, compiler, places
from support import error_line, need_program, profdiff

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import ARCHITECTURES, ARM64, X86_64, host
from profdiff.collectors.perf.programs import perf_files
from profdiff.collectors.workload import elf_closure
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.elf_closure import closure
from profdiff.collectors.workload.root import Root


@pytest.mark.build
def test_what_a_program_of_the_root_folder_needs(ready: Ready, root: Path, build: Build) -> None:
    """Found by a run path, by ld.so.conf, in ld.so's own folders, and through absolute links;
    nothing of this machine's is taken."""
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / "opt/conf/libconf.so", "-shared", "-Wl,-soname,libconf.so")
    (root / "etc").mkdir()
    (root / "etc/ld.so.conf").write_text("/opt/conf\n")
    real = build(root / "usr/lib/libplain.so.1.2", "-shared", "-Wl,-soname,libplain.so.1")
    (root / "usr/lib/libplain.so.1").symlink_to("/usr/lib/libplain.so.1.2")
    build(root / "opt/app/lib/libbeside.so", "-shared", "-Wl,-soname,libbeside.so", real)
    libraries = [root / "opt/conf/libconf.so", root / "opt/app/lib/libbeside.so"]
    build(root / "opt/app/bin/app", *libraries, "-Wl,-rpath,$ORIGIN/../lib")
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/app").symlink_to("/opt/app/bin/app")
    workload = ready("app", "1")
    assert workload.guest_argv == ("/usr/bin/app", "1")
    found = places(workload)
    cache = found.pop("/etc/ld.so.cache")
    assert found == {
        "/usr/bin/app": root / "opt/app/bin/app",
        INTERPRETER: root / "lib/ld-own.so.1",
        "/opt/conf/libconf.so": root / "opt/conf/libconf.so",
        # $ORIGIN is the program's folder there.
        "/usr/lib/libbeside.so": root / "opt/app/lib/libbeside.so",
        "/usr/lib/libplain.so.1": root / "usr/lib/libplain.so.1.2",
    }
    cached = {"libconf.so": "/opt/conf/libconf.so", "libplain.so.1": "/usr/lib/libplain.so.1"}
    assert cache.read_bytes() == elf_closure.made(cached, host())


@pytest.mark.build
def test_a_program_of_ones_own(ready: Ready, root: Path, build: Build) -> None:
    """Its libraries are the root folder's, but for those beside it."""
    build(root / "lib/ld-own.so.1", "-shared")
    there = build(root / "lib/libthere.so", "-shared", "-Wl,-soname,libthere.so")
    beside = build(Path("libbeside.so"), "-shared", "-Wl,-soname,libbeside.so")
    build(Path("own"), beside, there, "-Wl,-rpath,$ORIGIN")
    assert places(ready("own")) | {"/etc/ld.so.cache": Path()} == {
        "/work/own": Path("own"),
        INTERPRETER: root / "lib/ld-own.so.1",
        "/work/libbeside.so": Path.cwd() / "libbeside.so",
        "/lib/libthere.so": there,
        "/etc/ld.so.cache": Path(),
    }


@pytest.mark.build
def test_a_strangers_program_gets_nothing_of_this_machine(
    ready: Ready, root: Path, build: Build, tmp_path: Path
) -> None:
    mine = build(tmp_path / "mine/libmine.so", "-shared", "-Wl,-soname,libmine.so")
    build(root / "lib/ld-own.so.1", "-shared")
    for number, flag in enumerate(
        (f"-Wl,-rpath,{mine.parent}", "-Wl,-rpath,$ORIGIN/../../mine", "-Wl,-rpath,../mine")
    ):
        build(root / f"bin/p{number}", mine, flag)
        with pytest.raises(InputError, match=r"needs the shared library libmine.so, which is not"):
            ready(f"p{number}")
    named = build(tmp_path / "mine/libnamed.so", "-shared", f"-Wl,-soname,{mine}")
    build(root / "bin/named", named)
    with pytest.raises(InputError, match=r"libmine\.so, which is not in"):
        ready("named")
    # One's own program may name them.
    build(Path("own"), mine, f"-Wl,-rpath,{mine.parent}")
    assert places(ready("own"))[str(mine)] == mine
    # What another machine's root folder misses is not taken from this one.
    (root / "lib/ld-own.so.1").unlink()
    with pytest.raises(InputError, match=f"{INTERPRETER}, which is not in {root}"):
        ready("p0")


@pytest.mark.build
def test_a_program_that_names_too_much(ready: Ready, root: Path, build: Build) -> None:
    """Each library would be looked for in each folder of its run path."""
    build(root / "lib/ld-own.so.1", "-shared")
    path = ":".join(f"/{number}" for number in range(1_001))
    build(root / "bin/p", f"-Wl,-rpath,{path}")
    with pytest.raises(InputError, match="it names too many libraries or folders"):
        ready("p")
    library = build(root / "lib/x.so", "-shared")
    names = tuple(f"x{number}.so" for number in range(1_001))
    for name in names:
        (root / "lib" / name).symlink_to("x.so")
    elf = read_elf(library)
    assert elf
    assert len(closure(replace(elf, needed=names[:1_000]), Root(root))) == 1_000
    with pytest.raises(InputError, match="needs more than 1,000 libraries"):
        closure(replace(elf, needed=names), Root(root))


@pytest.mark.build
def test_libraries_that_need_each_other(ready: Ready, root: Path, build: Build) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    empty = build(root / "empty.so", "-shared", "-Wl,-soname,one.so")
    other = build(root / "lib/other.so", "-shared", "-Wl,-soname,other.so", empty)
    build(root / "lib/one.so", "-shared", "-Wl,-soname,one.so", other, empty)
    build(root / "usr/bin/p", other)
    found = places(ready("p"))
    assert {"/lib/one.so", "/lib/other.so"} < found.keys()
    assert len(found) == 5


@pytest.mark.build
def test_where_commands_are_looked_up(ready: Ready, root: Path, build: Build) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    one = build(root / "usr/bin/one")
    build(root / "bin/two")
    build(root / "bin/busybox")
    assert ready("one").guest_argv == ("/usr/bin/one",)
    assert ready("/usr/bin/one").guest_argv == ("/usr/bin/one",)
    assert ready(one).guest_argv == ("/usr/bin/one",)
    # A guest's own scripts run what is in /bin.
    assert ready("two").guest_argv == ("/work/two",)
    assert ready("busybox").guest_argv == ("/work/busybox",)
    local = build(Path("one"))
    assert places(ready("one"))["/work/one"] == local
    assert ready("./one").guest_argv == ("/work/one",)
    assert ready(local.absolute()).guest_argv == ("/work/one",)
    with pytest.raises(InputError, match=f"no such workload: cat .*no command in {root}"):
        ready("cat")


@pytest.mark.build
@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("#!/bin/shell -e\n", {"/bin/shell"}),
        ("#!/usr/bin/env shell\n", {"/usr/bin/env", "/bin/shell"}),
        ("#!/bin/sh\n", set()),
    ],
)
def test_scripts_bring_interpreters_of_the_root_folder(
    ready: Ready, root: Path, build: Build, first: str, expected: set[str]
) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / "bin/shell")
    build(root / "usr/bin/env")
    Path("work.sh").write_text(first)
    found = places(ready("work.sh"))
    assert found.keys() - {"/work/work.sh", INTERPRETER} == expected
    assert all(found[place] == root / place[1:] for place in expected)


def test_a_script_whose_interpreter_is_only_here(ready: Ready, root: Path) -> None:
    Path("work.sh").write_text("#!/bin/bash\n")
    with pytest.raises(InputError, match=f"interpreter /bin/bash, which is not in {root}"):
        ready("work.sh")


@pytest.mark.build
def test_words_and_files_of_the_root_folder(
    ready: Ready, root: Path, build: Build, tmp_path: Path
) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / "usr/bin/one")
    (root / "etc").mkdir()
    (root / "etc/theirs").write_text("theirs")
    (root / "etc/hostname").symlink_to("theirs")
    (tmp_path / "mine").write_text("mine")
    (root / "etc/link").symlink_to(tmp_path / "mine")
    found = places(ready("one", "/etc/hostname", extra=(f"{root}/usr/bin/one:/opt/one",)))
    assert found["/etc/hostname"] == root / "etc/theirs"
    assert found["/opt/one"] == root / "usr/bin/one"
    with pytest.raises(InputError, match="link is not a file of the root folder"):
        ready("one", extra=(f"{root}/etc/link",))
    with (root / "etc/large").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(InputError, match="large is too large"):
        ready("one", extra=(f"{root}/etc/large",))


@pytest.mark.build
def test_which_root_folder(ready: Ready, root: Path, build: Build, tmp_path: Path) -> None:
    build(root / "lib/ld-own.so.1", "-shared")
    build(root / "bin/sh")
    build(root / "usr/bin/one")
    own = host().arch
    other = next(one for one in ARCHITECTURES if not one.is_host)
    (tmp_path / "link").symlink_to("root")
    for values in ((f"{own}={root}",), (f"{own}={root}", f"{other.arch}=/nowhere"), ("../link",)):
        assert places(ready("one", sysroots=values))["/usr/bin/one"] == root / "usr/bin/one"
    for values, said in (
        (("/no/such",), "--sysroot /no/such is not a folder with a root file system"),
        (("/",), "--sysroot / is not a folder"),
        (("a\0b",), "is not a folder"),
        ((str(root), str(root)), "given twice"),
        ((str(root), f"{own}={root}/bin"), "no command in"),
    ):
        with pytest.raises(InputError, match=said):
            ready("one", sysroots=values)
    with pytest.raises(InputError) as error:
        ready("one", architecture=other)
    assert str(error.value) == (
        f"--sysroot {root} holds programs for {host().told}, the guest is {other.told}: "
        f"give one for {other.told}, or write --sysroot {own}={root}"
    )


@pytest.mark.build
@pytest.mark.skipif(not X86_64.is_host, reason="this machine is not x86-64")
def test_programs_for_another_architecture(
    ready: Ready, root: Path, build: Build, tmp_path: Path
) -> None:
    need_program("python3")
    build(Path("here"))
    for word, said in (
        ("here", "here is a program for x86-64, the guest is arm64: give --sysroot arm64=DIR, a"),
        (
            "python3",
            "is not for arm64: give --sysroot arm64=DIR, a root folder for arm64 with",
        ),
    ):
        with pytest.raises(InputError, match=said):
            ready(word, architecture=ARM64, sysroots=())
    build(root / "bin/sh", architecture=ARM64)
    with pytest.raises(InputError, match=r"is arm64: give its .c file, or a program built for"):
        ready("here", architecture=ARM64)
    build(Path("there"), architecture=ARM64)
    with pytest.raises(InputError, match=r"there is dynamically linked, and its /lib/ld-own.so.1"):
        ready("there", architecture=ARM64, sysroots=())
    # What is for another architecture, or no program, is passed over.
    build(root / "lib/libtwo.so", "-shared", "-Wl,-soname,libtwo.so")
    build(root / "usr/lib/libtwo.so", "-shared", "-Wl,-soname,libtwo.so", architecture=ARM64)
    (root / "lib64").mkdir()
    (root / "lib64/libtwo.so").write_text("no library")
    build(root / "lib/ld-own.so.1", "-shared", architecture=ARM64)
    build(Path("there"), root / "usr/lib/libtwo.so", architecture=ARM64)
    assert places(ready("there", architecture=ARM64))["/usr/lib/libtwo.so"].exists()


@pytest.mark.build
@pytest.mark.skipif(not X86_64.is_host, reason="this machine is not x86-64")
def test_what_a_cross_compiler_links_with(ready: Ready) -> None:
    """Without a root folder: the C library that the compiler came with."""
    Path("dynamic.c").write_text("int main(void) { return 0; }\n")
    command = [compiler(ARM64), "dynamic.c", "-o", "dynamic"]
    if subprocess.run(command, check=False).returncode:
        pytest.skip("no libc for arm64 (apt-get install libc6-dev-arm64-cross)")
    usual = places(ready("dynamic", architecture=ARM64, sysroots=()))
    named = places(ready("dynamic", architecture=ARM64, sysroots=("/usr/aarch64-linux-gnu",)))
    assert usual == named
    assert {"/lib/ld-linux-aarch64.so.1", "/lib/libc.so.6", "/etc/ld.so.cache"} < usual.keys()


def test_perf_has_libraries_of_its_own(tmp_path: Path) -> None:
    """It starts from its folder, and none of its files is where a workload's is."""
    need_program("perf", "linux-perf")
    files = {file.guest_path: file for file in perf_files(host())}
    script = files.pop("/usr/bin/perf").source.read_text()
    assert all(place.startswith("/usr/lib/profdiff-perf/") for place in files)
    for place, file in files.items():
        (tmp_path / Path(place).name).symlink_to(file.source)
    (tmp_path / "perf.sh").write_text(script.replace("/usr/lib/profdiff-perf", str(tmp_path)))
    command = ["sh", tmp_path / "perf.sh", "record", "-h"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "--call-graph" in done.stdout + done.stderr


@pytest.mark.build
def test_perf_for_another_architecture(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unpacked in the cache, which may be behind a link; links in it do not lead out."""
    other = next(one for one in ARCHITECTURES if not one.is_host)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    unpacked = tmp_path / f"elsewhere/userland/{other.suite}-{other.debian}"
    build(unpacked / "lib/ld-own.so.1", "-shared", architecture=other)
    library = build(
        unpacked / "usr/lib/libx.so", "-shared", "-Wl,-soname,libx.so", architecture=other
    )
    build(unpacked / "usr/bin/perf_6.1", library, architecture=other)
    (unpacked / "usr/bin/perf").symlink_to("/usr/bin/perf_6.1")
    found = {file.guest_path: file.source for file in perf_files(other)}
    assert found["/usr/lib/profdiff-perf/perf"] == unpacked / "usr/bin/perf_6.1"
    assert found["/usr/lib/profdiff-perf/libx.so"] == library
    (unpacked / "usr/bin/perf_6.1").unlink()
    with pytest.raises(MissingError, match=rf"linux-perf for {other.debian} in .* holds no perf"):
        perf_files(other)


def test_machines_have_programs_of_their_own(root: Path) -> None:
    command = ["plan", "--kernel", "running", "--sysroot", root, "--", "true"]
    assert error_line(profdiff(*command, status=2)) == (
        "--sysroot is for guests: a machine has programs of its own"
    )
