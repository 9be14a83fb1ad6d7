"""A C or C++ workload, compiled for the guest.

Programs that were compiled before: taken again as long as what went into them is the same.

A test in will-it-scale's shape: a source with a ``testcase()``, whose loop never ends, and no
``main()``. It gets one of ours, beside profdiff.h, which runs copies of it.
"""

import contextlib
import hashlib
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.programs import find_program, fix
from profdiff.collectors.workload.elf import defined_functions
from profdiff.collectors.workload.files import sha256

# Libraries that programs which call the kernel are linked with, by the header that a source
# includes, and what Debian's package of both is called.
_LIBRARIES = {
    "numa.h": ("numa", "libnuma-dev"),
    "numaif.h": ("numa", "libnuma-dev"),
    "liburing.h": ("uring", "liburing-dev"),
    "libaio.h": ("aio", "libaio-dev"),
    "sys/capability.h": ("cap", "libcap-dev"),
    "hugetlbfs.h": ("hugetlbfs", "libhugetlbfs-dev"),
}
# What a source file is called in C++, besides C's ``.c``, as compilers have it.
_CXX = (".cpp", ".cc", ".cxx")
_MAX_SOURCE = 4 << 20
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*<([\w./-]{1,64})>", re.MULTILINE)
# What compiler and linker say where there is no libc for static programs.
_NO_LIBC = re.compile(
    r"cannot find (-l((c|m|pthread)\b|stdc\+\+)|crt1\.o)|\b(stdio|stdlib|string|unistd)\.h: No such"
    r"|\b(iostream|cstdio|vector|string): No such"
)


def is_source(path: Path) -> bool:
    """Whether a workload of this name is compiled."""
    return path.suffix == ".c" or path.suffix in _CXX


@dataclass(frozen=True)
class Compiled:
    """``is_test``: ``program`` runs a test in will-it-scale's shape, with a ``main()`` of ours."""

    program: Path
    is_test: bool = False


def compiled(
    source: Path, build_folder: Path, header_folder: Path, architecture: Architecture
) -> Compiled:
    """Compile statically, into a folder named for the program's content: whoever else compiles the
    same, or the same source with other headers, at the same time, does not change it. What was
    compiled before, from the same files, is taken from there.

    Raises InputError, and MissingError without a compiler for the architecture, or its libc.
    """
    compiler_name = architecture.cxx_compiler if source.suffix in _CXX else architecture.compiler
    compiler = find_program(compiler_name)
    build_folder.mkdir(parents=True, exist_ok=True)
    # Absolute paths would make the program, and so its hash, depend on where the source lies.
    place = source.resolve().parent
    options = ["-O2", "-g", "-static", "-pthread"]
    options += [f"-ffile-prefix-map={place}=.", f"-I{header_folder}"]
    command = [str(compiler), *options]
    notes = {
        is_test: note_of(build_folder, [*command, *main, source.name], place)
        for is_test, main in ((False, ()), (True, (MAIN,)))
    }
    for is_test, note in notes.items():
        if program := kept(note):
            return Compiled(program, is_test)
    libraries = _libraries(source)
    with temporary_folder(beside=build_folder / source.stem) as temporary:
        folder = temporary.resolve()
        built, own = folder / source.stem, f"./{source.name}"
        run = partial(_run, place=place)

        def link(inputs: Sequence[str]) -> subprocess.CompletedProcess[str]:
            words = [*command, "-Wl,--trace", "-o", str(built), *inputs]
            result = run([*words, "-lm"])
            if libraries and "undefined reference" in result.stderr:
                words += [f"-l{name}" for name, _ in libraries.values()]
                result = run([*words, "-lm"])
            return result

        result = link(["-MD", "-MF", str(folder / "own.rule"), own])
        test = test_object(own, run, command, folder) if result.returncode else None
        if test:
            c = [str(find_program(architecture.compiler)), *options]
            result = link([str(test), str(main_object(header_folder / MAIN, run, c, folder))])
        if result.returncode != 0:
            raise _refused(source, result, architecture, compiler_name, libraries)
        program = build_folder / sha256(built)[:16] / built.name
        program.parent.mkdir(exist_ok=True)
        built.replace(program)
        with contextlib.suppress(OSError, ValueError):
            inputs = linked(result.stdout)
            for rule in folder.glob("*.rule"):
                inputs += dependencies(rule.read_text(), place)
            keep(
                notes[test is not None],
                program,
                [*(path for path in inputs if not path.is_relative_to(folder)), compiler],
            )
    return Compiled(program, test is not None)


def _run(command: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def _libraries(source: Path) -> dict[str, tuple[str, str]]:
    """The ``_LIBRARIES`` whose headers a source includes; each library once."""
    with source.open("rb") as file:
        text = file.read(_MAX_SOURCE)
    included = (match[1].decode() for match in _INCLUDE.finditer(text))
    found = {_LIBRARIES[name][0]: name for name in included if name in _LIBRARIES}
    return {name: _LIBRARIES[name] for name in found.values()}


def _refused(
    source: Path,
    result: subprocess.CompletedProcess[str],
    architecture: Architecture,
    compiler: str,
    libraries: dict[str, tuple[str, str]],
) -> InputError | MissingError:
    lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
    for pattern in (r"error:.*\.h: No such|cannot find|undefined", "error:", ""):
        if first := next((line for line in lines if re.search(pattern, line)), None):
            break
    says = f"cannot compile {source}: {first}"
    if _NO_LIBC.search(result.stderr):
        return MissingError(f"{says}: {fix(compiler)}")
    for header, (name, package) in libraries.items():
        if f"{header}: No such" in result.stderr or f"cannot find -l{name}" in result.stderr:
            fixed = f"apt-get install {package}"
            if not architecture.is_host:
                fixed += f":{architecture.debian} (dpkg --add-architecture {architecture.debian})"
            return MissingError(f"{says}: {fixed}")
    return InputError(says)


_MAX_NOTE = 1 << 20
# What is larger, a library or the compiler, is known by its size and time.
_MAX_HASHED = 1 << 20


class _Note(msgspec.Struct, frozen=True):
    """``inputs``: what each file was that went into ``program``."""

    inputs: dict[str, str]
    program: str


def note_of(folder: Path, command: Sequence[str], place: Path) -> Path:
    """Where it is noted what came of ``command`` in the folder ``place``."""
    told = msgspec.json.encode([str(place), *command])
    return folder / "compiled" / hashlib.sha256(told).hexdigest()


def kept(note: Path) -> Path | None:
    """The program that was compiled so; None if it is gone, or would come out otherwise."""
    try:
        found = msgspec.json.decode(bounded.read(note, _MAX_NOTE), type=_Note)
        program = Path(found.program)
        same = all(_state(Path(path)) == state for path, state in found.inputs.items())
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return program if same and program.is_file() else None


def keep(note: Path, program: Path, inputs: Iterable[Path]) -> None:
    """Note of what ``program`` was made. Where that cannot be, it is compiled again."""
    with contextlib.suppress(OSError):
        states = {str(path): _state(path) for path in {*inputs, program}}
        note.parent.mkdir(exist_ok=True)
        data = msgspec.json.encode(_Note(states, str(program)))
        write_atomic(note, data, durable=False)


def dependencies(text: str, place: Path) -> list[Path]:
    """The files of a rule that gcc -MD wrote: source and headers."""
    _, _, files = text.replace("\\\n", " ").partition(": ")
    names = re.findall(r"(?:\\.|[^\s\\])+", files)
    return [place / re.sub(r"\\(.)", r"\1", name) for name in names]


def linked(text: str) -> list[Path]:
    """The files that a linker says with --trace, but for those that are gone."""
    found = (Path(line) for line in text.splitlines() if line.startswith("/"))
    return [path for path in found if path.is_file()]


def _state(path: Path) -> str:
    """What a file is. Raises OSError."""
    status = path.stat()
    if status.st_size > _MAX_HASHED:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

MAIN = "testcase.c"
_MODES = ("processes", "threads")
# A test that allocates and frees means to.
_OPTIONS = ("-fno-builtin-malloc",)
# Each basic block of the test calls a function of MAIN's. First clang's: it leaves out blocks that
# others lead to, and puts what begins an operation behind the end of the one before, unless it is
# told not to.
_COVERAGE = (
    ("-fsanitize-coverage=trace-pc,no-prune", "-mllvm", "-rotation-max-header-size=0"),
    ("-fsanitize-coverage=trace-pc",),
)


def test_object(source: str, run: Run, compiler: Sequence[str], folder: Path) -> Path | None:
    """The test ``source``, compiled in ``folder`` with calls that see where its operations end;
    None if it is not one. ``compiler``: its command, with options."""
    made = folder / "test.o"
    rule = ["-MD", "-MF", str(folder / "test.rule")]
    for coverage in _COVERAGE:
        command = [*compiler, *_OPTIONS, *coverage, *rule, "-c", "-o", str(made), source]
        if run(command).returncode == 0:
            defined = defined_functions(made)
            return made if "testcase" in defined and "main" not in defined else None
    return None


def main_object(source: Path, run: Run, compiler: Sequence[str], folder: Path) -> Path:
    """``MAIN``, compiled in ``folder``. Raises InputError."""
    made = folder / "main.o"
    command = [*compiler, f"-ffile-prefix-map={source.parent}=profdiff"]
    command += ["-MD", "-MF", str(folder / "main.rule"), "-c", "-o", str(made), str(source)]
    result = run(command)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"cannot compile {source}, which runs tests: {reason}")
    return made


def test_arguments(source: Path, words: Sequence[str], copies: int) -> tuple[str, ...]:
    """What ``MAIN`` is given for a test that has ``words`` behind it. Raises InputError."""
    mode = words[0] if words else _MODES[0]
    if len(words) > 1 or not (mode in _MODES or re.search(r"\{\w+\}", mode)):
        raise InputError(
            f"{source} is a test in will-it-scale's shape: it takes no argument but processes or "
            f"threads, not {' '.join(words)}; --copies and --ops say how many"
        )
    return mode, str(copies), "{ops}"
