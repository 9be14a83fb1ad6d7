"""Python workloads, and files that COMMAND names: what travels along, and where it is found."""

import json
import subprocess
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_program, run_guests

from profdiff.base.errors import InputError
from profdiff.collectors.guest import initramfs
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.workload import files, python
from profdiff.collectors.workload.workload import (
    PreparedWorkload,
    prepare,
    prepare_for_machine,
)

HELPER = "import struct, other.deep\ndef size(n):\n    return struct.calcsize('<' + n * 'q')\n"
SCRIPT = (
    "import sys, json, decimal\nimport helper\nprint(json.dumps(helper.size(4)), sys.argv[1:])\n"
)
Ready = Callable[..., PreparedWorkload]


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """Prepares a command in an empty current folder: ``ready(word, ..., extra=[...])``."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def run(*argv: str, extra: tuple[str, ...] = ()) -> PreparedWorkload:
        return prepare(argv, extra, tmp_path / "build", initramfs.guest_resources())

    return run


def script(text: str = SCRIPT) -> None:
    Path("helper.py").write_text(HELPER)
    Path("other").mkdir()
    Path("other/deep.py").touch()
    Path("wl.py").write_text(text)


def places(workload: PreparedWorkload) -> dict[str, Path]:
    return {file.guest_path: file.source for file in workload.files}


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["", "#!/usr/bin/env python3\n", "#!/usr/bin/env -S python3 -u\n"]
)
def test_a_script_brings_python_and_the_modules_beside_it(ready: Ready, first: str) -> None:
    need_program("python3")
    script(first + SCRIPT)
    workload = ready("wl.py", "7")
    program, *options = workload.guest_argv
    assert options == [*(["-u"] if "-u" in first else []), "/work/wl.py", "7"]
    found = places(workload)
    assert {"/work/wl.py", "/work/helper.py", "/work/other/deep.py", program} <= found.keys()
    assert sum(path.endswith(".zip") for path in found) == 1
    assert any("libc.so" in path for path in found)
    assert not [path for path in found if "site-packages" in path or "/test/" in path]


@pytest.mark.slow
def test_python_may_be_named_itself(ready: Ready) -> None:
    need_program("python3")
    script()
    workload = ready("python3", "-u", "wl.py", "7")
    assert workload.guest_argv[1:] == ("-u", "wl.py", "7")
    assert Path(workload.guest_argv[0]).resolve() == Path(workload.guest_argv[0])
    assert {"/work/wl.py", "/work/helper.py"} <= places(workload).keys()


@pytest.mark.slow
def test_the_packed_library_is_a_whole_one(ready: Ready, tmp_path: Path) -> None:
    """The interpreter itself is the oracle: it imports from the archive alone."""
    need_program("python3")
    found = places(ready("python3", "-c", "0"))
    program, archive = (
        next(path for name, path in found.items() if part in name) for part in ("/bin/py", ".zip")
    )
    asked = "import sys; sys.path[:] = sys.argv[1:]\nimport argparse, email.message, unittest\n"
    asked += "print({m.__spec__.origin.split('.zip')[0] for m in (argparse, email, unittest)})"
    extensions = next(path.parent for name, path in found.items() if "/lib-dynload/" in name)
    command = [program, "-I", "-S", "-c", asked, archive, extensions]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.strip() == str({str(archive).removesuffix(".zip")})
    names = zipfile.ZipFile(archive).namelist()
    assert all(name.endswith(".pyc") for name in names)
    assert {"os.pyc", "encodings/utf_8.pyc", "json/decoder.pyc"} <= set(names)
    # Made once.
    assert next(p for n, p in places(ready("python3", "-c", "1")).items() if ".zip" in n) == archive


@pytest.mark.slow
def test_a_module_that_is_missing_is_one_line(ready: Ready) -> None:
    need_program("python3")
    script("import sys\nimport no_such_thing.part\n")
    with pytest.raises(InputError, match=r"imports no_such_thing, which is not in Python's stand"):
        ready("wl.py")
    Path("lib").mkdir()
    Path("lib/m.py").touch()
    ready("wl.py", extra=("lib/m.py:no_such_thing.py",))
    Path("lib/__init__.py").touch()
    assert "/work/no_such_thing/m.py" in places(ready("wl.py", extra=("lib:no_such_thing",)))
    # What it can do without, or imports later, may be missing.
    Path("wl.py").write_text("try:\n    import nothing\nexcept ImportError:\n    pass\n")
    ready("wl.py")


@pytest.mark.slow
@pytest.mark.parametrize("first", ["#!{}\n", "#!/usr/bin/env -S {} -u\n", None])
def test_python_of_a_virtual_environment(ready: Ready, tmp_path: Path, first: str | None) -> None:
    """What is installed there is found, whether COMMAND or the script names it."""
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    interpreter = tmp_path / "venv/bin/python"
    (site,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (site / "installed_there.py").touch()
    script((first or "").format(interpreter) + "import installed_there\n")
    Path("wl.py").chmod(0o755)
    command = ["./wl.py"] if first else [str(interpreter), "wl.py"]
    with pytest.raises(InputError) as refused:
        ready(*command)
    assert f"add --file {site}/installed_there.py (and" in str(refused.value)
    program = ready(*command, extra=(f"{site}/installed_there.py",)).guest_argv[0]
    assert not Path(program).is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        ("", "has no folder with its standard library, which guests need: use another Python"),
        ("/usr/lib/python399.zip", "is not an ELF program, so guests cannot execute it: use"),
    ],
)
def test_a_python_that_cannot_travel(ready: Ready, tmp_path: Path, archive: str, why: str) -> None:
    """Stands for one that holds its library itself, and for one that a script starts."""
    program = tmp_path / "python3"
    told = {"program": str(program), "version": "3.99", "zip": archive, "path": []}
    told |= {"library": str(tmp_path), "standard": []}
    (tmp_path / "os.py").touch()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(told)}\nEND\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match=f"^{program} {why}"):
        ready(str(program), "-c", "0")


def test_files_that_command_names(ready: Ready, tmp_path: Path) -> None:
    Path("sub/deeper").mkdir(parents=True)
    for name in ("data", "sub/one", "sub/deeper/two", "../beside"):
        Path(name).write_text(name)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x")
    words = ["./data", "sub/", "../beside", str(elsewhere), "/dev/null", "/", ".", "no", "-"]
    found = places(ready("/bin/true", *words))
    for place, source in {
        "/work/data": "data",
        "/work/sub/one": "sub/one",
        "/work/sub/deeper/two": "sub/deeper/two",
        "/beside": "../beside",
        str(elsewhere): str(elsewhere),
    }.items():
        assert found[place].resolve() == Path(source).resolve()
    assert not [path for path in found if path.startswith(("/dev", "/usr/share"))]
    assert ready("/bin/true", *words).guest_argv == ("/work/true", *words)


def test_a_folder_that_is_too_large(ready: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MAX_FOLDER", 10)
    Path("sub").mkdir()
    Path("sub/data").write_text("x" * 11)
    with pytest.raises(InputError, match=r"the folder sub of COMMAND is too large .*--file"):
        ready("/bin/true", "./sub")
    assert "/work/sub/data" in places(ready("/bin/true", extra=("sub",)))


def test_a_machine_has_its_own_python(ready: Ready, tmp_path: Path) -> None:
    """Files travel to another machine only: here, COMMAND runs where it is."""
    script("#!/usr/bin/env python3\n" + SCRIPT)
    Path("data").touch()
    arguments = [], tmp_path / "build", initramfs.guest_resources()
    for words in (["./wl.py", "data"], ["python3", "wl.py", "data"]):
        there = prepare_for_machine(words, *arguments, remote=True)
        assert {"/work/wl.py", "/work/data"} == places(there).keys()
        here = prepare_for_machine(words, *arguments, remote=False)
        assert "/work/data" not in places(here)
        assert there.guest_argv[0] in ("/work/wl.py", "python3")


@pytest.mark.guest
def test_python_in_a_guest(qemu: Qemu, new_kernel: Path, ready: Ready, tmp_path: Path) -> None:
    need_program("python3")
    script(SCRIPT + "print(open(sys.argv[1]).read())\n")
    Path("in.txt").write_text("what stands in the file")
    command = ["python3", "wl.py", "in.txt"]
    (run,) = run_guests(qemu, new_kernel / "bzImage", command, tmp_path / "g", count=1, calls=False)
    assert run.failure is None
    said = (tmp_path / "g/0" / run.files["stdout"]).read_text()
    assert said == "32 ['in.txt']\nwhat stands in the file\n"


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["wl.py", "7"], "wl.py"),
        (["-u", "-W", "ignore", "-Xdev", "wl.py"], "wl.py"),
        (["--check-hash-based-pycs", "never", "--", "wl.py"], "wl.py"),
        (["-uc", "print(1)"], None),
        (["-m", "timeit"], None),
        (["-", "7"], None),
    ],
)
def test_the_script_among_the_arguments(words: list[str], script: str | None) -> None:
    assert python.script_of(words) == (script and Path(script))


@pytest.mark.slow
def test_a_script_that_is_not_there(ready: Ready) -> None:
    need_program("python3")
    with pytest.raises(InputError, match=r"no such script: wl2\.py"):
        ready("python3", "wl2.py")
    Path("other.py").touch()
    assert "/work/wl2.py" in places(ready("python3", "wl2.py", extra=("other.py:wl2.py",)))
