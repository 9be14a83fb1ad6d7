"""Workloads made ready for the guest: what travels along, and what is refused."""

import gzip
import struct
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import need_program

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import X86_64, host
from profdiff.collectors.guest import initramfs
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.elf_closure import closure
from profdiff.collectors.workload.workload import PreparedWorkload, prepare

HELLO = "int main(void) { return 0; }\n"


@pytest.fixture
def ready(tmp_path: Path) -> Callable[..., PreparedWorkload]:
    """Prepares a command: ``ready(argument, ..., extra=[...])``."""

    def run(
        *argv: str | Path, extra: tuple[str, ...] = (), without: tuple[str, ...] = ()
    ) -> PreparedWorkload:
        words, folders = [str(word) for word in argv], initramfs.guest_resources()
        return prepare(words, extra, tmp_path / "build", folders, without=without)

    return run


def script(folder: Path, text: str) -> Path:
    path = folder / "work.sh"
    path.write_text(text)
    return path


def test_a_static_program_travels_alone(
    ready: Callable[..., PreparedWorkload], compile_c: Callable[..., Path]
) -> None:
    program = compile_c("hello", HELLO, "-static")
    workload = ready(program, "a b", "c")
    assert workload.guest_argv == ("/work/hello", "a b", "c")
    assert [file.guest_path for file in workload.files] == ["/work/hello"]
    assert not workload.has_marks


def test_a_dynamic_program_brings_what_ldd_says(compile_c: Callable[..., Path]) -> None:
    """ldd(1), which executes the program, is the oracle."""
    need_program("ldd", "libc-bin")
    program = compile_c("math", "#include <math.h>\n" + HELLO, "-lm", "-Wl,--no-as-needed", "-ldl")
    for path in (program, Path("/usr/bin/sort"), Path("/bin/bash")):
        elf = read_elf(path)
        assert elf
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        expected = {word for line in listed.split("\n") for word in line.split() if word[0] == "/"}
        found = {str(library.source) for library in closure(elf)}
        assert {str(Path(p).resolve()) for p in found} == {str(Path(p).resolve()) for p in expected}


def test_a_library_beside_the_program(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], compile_c: Callable[..., Path]
) -> None:
    """Found by a run path with $ORIGIN; not found, it is named."""
    library = compile_c("libown.so", "int own(void) { return 0; }\n", "-shared", "-fPIC")
    source = "int own(void);\nint main(void) { return own(); }\n"
    flags = [f"-L{tmp_path}", "-l:libown.so", "-Wl,-rpath,$ORIGIN"]
    program = compile_c("uses", source, *flags)
    # The program is in another folder there, and the library beside it.
    assert ("/work/libown.so", library) in [(f.guest_path, f.source) for f in ready(program).files]
    library.unlink()
    with pytest.raises(InputError, match=r"needs the shared library libown.so"):
        ready(program)


def test_a_library_that_the_environment_leads_to(
    tmp_path: Path,
    ready: Callable[..., PreparedWorkload],
    compile_c: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ldd(1) is the oracle: before the usual folders, the first one that has it. Guests do not have
    the variable."""
    library = compile_c("libown.so", "int own(void) { return 0; }\n", "-shared", "-fPIC")
    source = "int own(void);\nint main(void) { return own(); }\n"
    program = compile_c("uses", source, f"-L{tmp_path}", "-l:libown.so")
    with pytest.raises(InputError, match="name its folder in LD_LIBRARY_PATH"):
        ready(program)
    first, second = (tmp_path / name for name in ("first", "second"))
    for folder in (first, second):
        folder.mkdir()
        (folder / "libown.so").write_bytes(library.read_bytes())
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/none:{first}:{second}")
    elf = read_elf(program)
    assert elf
    (own,) = [one for one in closure(elf) if one.name == "libown.so"]
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert f"=> {own.source} " in listed
    assert own.source == first / "libown.so"
    assert own.by_variable


@pytest.mark.parametrize("before", [0, 1, 7, 8])
def test_marks_are_found_wherever_they_are(
    ready: Callable[..., PreparedWorkload], compile_c: Callable[..., Path], before: int
) -> None:
    """Also across the end of what is read at once: ``before`` bytes of the mark are before it."""
    program = compile_c("hello", HELLO)
    assert not ready(program).has_marks
    data, mark = program.read_bytes(), host().marks[0]
    program.write_bytes(data.ljust((1 << 24) - before, b"\0") + mark)
    assert ready(program).has_marks


@pytest.mark.build
def test_a_c_file_is_compiled_the_same_anywhere(
    tmp_path: Path, ready: Callable[..., PreparedWorkload]
) -> None:
    need_program("cc", "gcc")
    hashes = set()
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        source = folder / "w.c"
        body = "int main(void) { PROFDIFF_START(); PROFDIFF_STOP(); return 0; }\n"
        source.write_text('#include "profdiff.h"\n' + body)
        workload = prepare([str(source)], [], folder / "build", initramfs.guest_resources())
        assert (workload.kind, workload.has_marks) == ("source", True)
        hashes.add(workload.files[0].sha256())
    assert len(hashes) == 1


# Prepares the same workload again and again, and tells how its programs hash.
PREPARE = """
import sys
from pathlib import Path
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.workload.workload import prepare
for _ in range(8):
    workload = prepare([sys.argv[1]], [], Path(sys.argv[2]), guest_resources())
    print(workload.files[0].sha256())
"""


@pytest.mark.build
def test_recordings_that_compile_at_once(tmp_path: Path) -> None:
    """Two of one source, and one of a source that differs in its header only."""
    need_program("cc", "gcc")
    processes = []
    for name, value in (("one", 0), ("one", 0), ("other", 1)):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "value.h").write_text(f"#define VALUE {value}\n")
        source = '#include "value.h"\nint main(void) { return VALUE; }\n'
        (folder / "w.c").write_text(source)
        command = [sys.executable, "-c", PREPARE, folder / "w.c", tmp_path / "build"]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    one, again, other = (set(out.split()) for out, _ in outputs)
    assert len(one) == len(other) == 1
    assert one == again != other
    assert not list(tmp_path.glob("build/.build.*"))


@pytest.mark.parametrize(
    ("first", "interpreter"),
    [
        ("#!/bin/sh\n", None),
        ("#! /bin/sh -e\n", None),
        ("#!/bin/bash\n", "/bin/bash"),
        ("#!/usr/bin/env bash\n", "/usr/bin/env"),
    ],
)
def test_scripts_bring_their_interpreter(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], first: str, interpreter: str | None
) -> None:
    workload = ready(script(tmp_path, first + "true\n"))
    assert workload.kind == "script"
    paths = [file.guest_path for file in workload.files]
    if interpreter is None:
        assert paths == ["/work/work.sh"]
    else:
        assert interpreter in paths
        assert any("libc.so" in path for path in paths)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo no interpreter\n", "neither a program nor a script"),
        ("#!\n", "names no interpreter"),
        ("#!/no/such/thing\n", "/no/such/thing, which is not here"),
        ("", "neither"),
    ],
)
def test_what_is_no_workload(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], text: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        ready(script(tmp_path, text))
    with pytest.raises(InputError, match="is not a file"):
        ready(tmp_path)


def test_more_files(tmp_path: Path, ready: Callable[..., PreparedWorkload]) -> None:
    data = tmp_path / "data"
    data.write_text("x")
    work = script(tmp_path, "#!/bin/sh\n")
    extra = (str(data), f"{data}:other", f"{data}:/etc/data")
    paths = [file.guest_path for file in ready(work, extra=extra).files]
    assert paths == ["/work/work.sh", "/work/data", "/work/other", "/etc/data"]
    for text, said in (
        (f"{tmp_path}/gone", "is not a file"),
        (f"{data}:../x", "not a path in the guest"),
        (f"{data}:work.sh", "would both be /work/work.sh"),
    ):
        with pytest.raises(InputError, match=said):
            ready(work, extra=(text,))


@pytest.mark.parametrize("size", [4, 20, 63, 64, 200, 4000, -100, -1])
def test_a_program_that_is_cut(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], size: int
) -> None:
    data = Path("/usr/bin/sort").read_bytes()
    (tmp_path / "cut").write_bytes(data[:size])
    try:
        ready(tmp_path / "cut")
    except InputError as error:
        assert "cut" in str(error)


# Fields of Elf64_Ehdr (elf(5)): where each is, and how many bytes it has.
HEADER = {
    "e_machine": (18, 2),
    "e_phoff": (32, 8),
    "e_shoff": (40, 8),
    "e_phentsize": (54, 2),
    "e_phnum": (56, 2),
    "e_shentsize": (58, 2),
    "e_shnum": (60, 2),
    "e_shstrndx": (62, 2),
}


@settings(deadline=10_000, max_examples=examples(150))
@given(st.data())
def test_a_damaged_program(data: st.DataObject) -> None:
    """It is a workload or refused, soon and in one line."""
    program = bytearray(Path("/usr/bin/sort").read_bytes())
    for name in data.draw(st.lists(st.sampled_from(sorted(HEADER)), max_size=2)):
        offset, size = HEADER[name]
        value = data.draw(st.integers(0, 256**size - 1))
        program[offset : offset + size] = value.to_bytes(size, "little")
    # Program headers are in front, section headers at the end, what they lead to is anywhere.
    parts = [(4, 1000), (len(program) - 2048, len(program) - 1), (4, len(program) - 1)]
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(*data.draw(st.sampled_from(parts))))
        program[place] = data.draw(st.sampled_from([0, 1, 255]) | st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged"
        path.write_bytes(program)
        try:
            prepare([str(path)], [], Path(folder), initramfs.guest_resources())
        except InputError as error:
            assert str(error)


def elf(sections: list[tuple[int, int, int, int]], body: bytes, count: int | None = None) -> bytes:
    """An x86-64 ELF with ``body`` behind its header and sections of (type, offset, size, link);
    ``count``: how many it says it has."""
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 8, 16)
        for kind, offset, size, link in sections
    )
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    many = len(sections) if count is None else count
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64 + len(body), 0, 64, 56, 0, 64, many, 0)
    return head + body + table


SHT_STRTAB, SHT_DYNAMIC = 3, 6
NEEDED = struct.pack("<QQ", 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        # Section 0 counts the sections where the header does not: 2**40.
        elf([(0, 0, 2**40, 0)], b"", 0) + bytes(100 << 20),
        # Each of many entries names a library whose name is all of the file.
        elf([(0,) * 4, (SHT_DYNAMIC, 64, 2**40, 2), (SHT_STRTAB, 0, 2**40, 0)], NEEDED * 10**6),
        elf(
            [(0,) * 4, (SHT_DYNAMIC, 64, 2**40, 2), (SHT_STRTAB, 64 + 160_000, 2**40, 0)],
            NEEDED * 10_000 + b"x" * (100 << 20),
        ),
    ],
    ids=["sections", "entries", "names"],
)
def test_a_program_whose_tables_are_bombs(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], program: bytes
) -> None:
    (tmp_path / "bomb").write_bytes(program)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="bomb is a damaged ELF file"):
            ready(tmp_path / "bomb")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_program_for_an_unknown_machine(
    tmp_path: Path, ready: Callable[..., PreparedWorkload]
) -> None:
    program = bytearray(Path("/usr/bin/sort").read_bytes())
    program[18:20] = b"\xcd\xab"
    (tmp_path / "odd").write_bytes(program)
    with pytest.raises(InputError, match="is a program for 43981"):
        ready(tmp_path / "odd")


def test_a_name_that_no_file_can_have(compile_c: Callable[..., Path]) -> None:
    program = read_elf(compile_c("hello", HELLO))
    assert program
    long = "x" * 5000
    with pytest.raises(InputError, match="which is not here"):
        closure(replace(program, needed=(long,)))
    with pytest.raises(InputError, match="which is not here"):
        closure(replace(program, interpreter=long))


def test_an_argument_with_a_nul() -> None:
    """It would be two in the guest."""
    assert initramfs.nul_separated(["a", ""]) == b"a\0\0"
    with pytest.raises(InputError, match="holds a NUL"):
        initramfs.nul_separated(["a", "b\0c"])


def test_the_file_system_is_the_same_each_time(
    tmp_path: Path, ready: Callable[..., PreparedWorkload]
) -> None:
    need_program("cpio")
    need_program("busybox", "busybox-static")
    workload = ready(script(tmp_path, "#!/bin/sh\n"))
    archives = []
    for name in ("one", "two"):
        initramfs.build(tmp_path / name, workload.files, {}, 5, X86_64)
        archives.append((tmp_path / name).read_bytes())
    assert archives[0] == archives[1]
    listing = subprocess.run(
        ["cpio", "-t", "--quiet"],
        input=gzip.decompress(archives[0]),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert {"init", "bin/busybox", "profdiff/agent", "work/work.sh"} <= set(listing.split())


def test_profdiffs_own_places_are_refused(
    tmp_path: Path, ready: Callable[..., PreparedWorkload]
) -> None:
    work = script(tmp_path, "#!/bin/sh\n")
    workload = ready(work, extra=(f"{work}:/profdiff/agent",))
    with pytest.raises(InputError, match="profdiff's own"):
        initramfs.build(tmp_path / "a", workload.files, {}, 5, X86_64)


def test_a_folder_travels_where_nothing_else_can_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready: Callable[..., PreparedWorkload]
) -> None:
    """A bare word may be a mode of the program."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/one").write_text("1")
    (tmp_path / "data").write_text("2")
    program = script(tmp_path, "#!/bin/sh\ntrue\n")
    monkeypatch.chdir(tmp_path)

    def files(*words: str, **more: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
        made = ready(program, *words, **more)
        below = [one.guest_path.removeprefix("/work/") for one in made.files]
        return [one for one in below if one != "work.sh"], made.stay

    assert files("shared", "shared") == ([], ("shared",))
    for word in ("./shared", "shared/"):
        assert files(word) == (["shared/one"], ())
    assert files("shared", extra=("shared",)) == (["shared/one"], ())
    assert files("shared", without=("shared",)) == ([], ())
    assert files("./shared", without=("./shared",)) == ([], ())
    assert files("data") == (["data"], ())
    assert files("data", without=("data",)) == ([], ())


def test_a_folder_that_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready: Callable[..., PreparedWorkload]
) -> None:
    (tmp_path / "shared").mkdir()
    with (tmp_path / "shared/large").open("wb") as file:
        file.truncate((64 << 20) + 1)
    program = script(tmp_path, "#!/bin/sh\ntrue\n")
    monkeypatch.chdir(tmp_path)
    assert ready(program, "shared").stay == ("shared",)
    with pytest.raises(InputError, match=r"too large .* leave it here with --no-file \./shared"):
        ready(program, "./shared")
    assert ready(program, "./shared", without=("./shared",)).files
