"""Workloads made ready for the guest: what travels along, and what is refused."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_program

from profdiff.collectors import initramfs
from profdiff.collectors.elf_closure import closure, read_elf
from profdiff.collectors.workload import PreparedWorkload, prepare
from profdiff.errors import InputError

HELLO = "int main(void) { return 0; }\n"


@pytest.fixture
def ready(tmp_path: Path) -> Callable[..., PreparedWorkload]:
    """Prepares a command: ``ready(argument, ..., extra=[...])``."""

    def run(*argv: str | Path, extra: tuple[str, ...] = ()) -> PreparedWorkload:
        words = [str(word) for word in argv]
        return prepare(words, extra, tmp_path / "build", initramfs.guest_resources())

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
        found = {str(library) for library in closure(elf)}
        assert {str(Path(p).resolve()) for p in found} == {str(Path(p).resolve()) for p in expected}


def test_a_library_beside_the_program(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], compile_c: Callable[..., Path]
) -> None:
    """Found by a run path with $ORIGIN; not found, it is named."""
    library = compile_c("libown.so", "int own(void) { return 0; }\n", "-shared", "-fPIC")
    source = "int own(void);\nint main(void) { return own(); }\n"
    flags = [f"-L{tmp_path}", "-l:libown.so", "-Wl,-rpath,$ORIGIN"]
    program = compile_c("uses", source, *flags)
    assert str(library) in [file.guest_path for file in ready(program).files]
    library.unlink()
    with pytest.raises(InputError, match=r"needs the shared library libown.so"):
        ready(program)


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
from profdiff.collectors.initramfs import guest_resources
from profdiff.collectors.workload import prepare
for _ in range(8):
    workload = prepare([sys.argv[1]], [], Path(sys.argv[2]), guest_resources())
    print(workload.files[0].sha256())
"""


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
        ("echo no interpreter\n", "neither an x86-64 program nor a script"),
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
        (f"{data}:../x", "no path for the guest"),
        (f"{data}:work.sh", "would both be /work/work.sh"),
    ):
        with pytest.raises(InputError, match=said):
            ready(work, extra=(text,))


@pytest.mark.parametrize("size", [4, 20, 63, 64, 200, 4000, -100, -1])
def test_a_damaged_program(
    tmp_path: Path, ready: Callable[..., PreparedWorkload], size: int
) -> None:
    data = Path("/usr/bin/sort").read_bytes()
    (tmp_path / "cut").write_bytes(data[:size])
    try:
        ready(tmp_path / "cut")
    except InputError as error:
        assert "cut" in str(error)


def test_the_file_system_is_the_same_each_time(
    tmp_path: Path, ready: Callable[..., PreparedWorkload]
) -> None:
    need_program("cpio")
    need_program("busybox", "busybox-static")
    workload = ready(script(tmp_path, "#!/bin/sh\n"))
    archives = []
    for name in ("one", "two"):
        initramfs.build(tmp_path / name, workload.files, workload.guest_argv, 5)
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
        initramfs.build(tmp_path / "a", workload.files, workload.guest_argv, 5)
