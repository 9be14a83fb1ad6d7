"""A workload made ready for the guest: what it runs there, and the files that travel along."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, host
from profdiff.collectors.programs import find_program
from profdiff.collectors.workload import python
from profdiff.collectors.workload.elf_closure import read_elf
from profdiff.collectors.workload.files import (
    GUEST_FOLDER,
    GuestFile,
    GuestFiles,
    guest_place,
    sha256,
)


@dataclass(frozen=True)
class PreparedWorkload:
    """``argv`` is the user's, ``guest_argv`` what the guest executes; ``has_marks``: the program
    holds marking instructions, so a run in which none executes is a failed run. ``source``: what
    was compiled, if anything was."""

    argv: tuple[str, ...]
    guest_argv: tuple[str, ...]
    kind: Literal["program", "script", "source"]
    has_marks: bool
    files: tuple[GuestFile, ...] = field(default=())
    source: Path | None = None


def prepare(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    architecture: Architecture = ARCHITECTURES[0],
) -> PreparedWorkload:
    """Find, compile if it is a ``.c`` file, and collect what ``argv`` needs in the guest.

    ``extra`` are ``SRC[:DEST]``. Compiled programs go to ``build_folder``; ``header_folder`` holds
    ``profdiff.h``. Raises InputError and MissingError.
    """
    return _prepare(argv, extra, build_folder, header_folder, GuestFiles(architecture))


def prepare_for_machine(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    *,
    remote: bool,
) -> PreparedWorkload:
    """As ``prepare``, for a machine that is not a guest: it has interpreters of its own, and a bare
    name is a program of its own. Only to a ``remote`` one files travel that COMMAND names."""
    files = GuestFiles(host())
    if "/" not in argv[0] and not Path(argv[0]).is_file() and not extra:
        if remote:
            files.add_named(argv[1:])
        named = tuple(files.by_path.values())
        return PreparedWorkload(tuple(argv), tuple(argv), "program", has_marks=False, files=named)
    words = argv[1:] if remote else []
    return _prepare(argv, extra, build_folder, header_folder, files, in_guest=False, named=words)


def _prepare(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    files: GuestFiles,
    *,
    in_guest: bool = True,
    named: Sequence[str] | None = None,
) -> PreparedWorkload:
    path = _find_command(argv[0])
    kind: Literal["program", "script", "source"] = "program"
    source = path if path.suffix == ".c" else None
    if source:
        path, kind = _compile(source, build_folder, header_folder, files.architecture), "source"
    guest_path = f"{GUEST_FOLDER}/{path.name}"
    start = [guest_path]
    interpreter = python.find(path) if in_guest else None
    script = python.script_of(argv[1:]) if interpreter else None
    if interpreter:
        start = [str(interpreter.program)]
    else:
        files.add(path, guest_path, executable=True, is_code=True)
        elf = read_elf(path)
        if elf:
            files.add_closure(elf)
        else:
            kind = "script"
            options, interpreter = _add_interpreter(path, files, in_guest)
            if interpreter:
                start, script = [str(interpreter.program), *options, guest_path], path
    if interpreter:
        interpreter.add_to(files)
    files.add_named(argv[1:] if named is None else named)
    for text in extra:
        files.add_extra(text)
    if interpreter and script:
        at = guest_path if script is path else guest_place(str(script))
        if not script.exists() and at not in files.by_path:
            raise InputError(f"no such script: {script}")
    if interpreter and script and script.is_file():
        python.add_modules(interpreter, script, at, files)
    marks = files.architecture.marks or ()
    marked = any(file.is_code and _has_any(file.source, marks) for file in files.by_path.values())
    return PreparedWorkload(
        argv=tuple(argv),
        guest_argv=(*start, *argv[1:]),
        kind=kind,
        has_marks=marked,
        files=tuple(files.by_path.values()),
        source=source,
    )


def _find_command(command: str) -> Path:
    path = Path(command)
    if "/" not in command and not path.is_file():
        found = shutil.which(command)
        if found is None:
            raise InputError(f"no such workload: {command} (not a file here, and not on PATH)")
        return Path(found)
    if not path.exists():
        raise InputError(f"no such workload: {command}")
    if not path.is_file():
        raise InputError(f"the workload {command} is not a file")
    return path


def _compile(
    source: Path, build_folder: Path, header_folder: Path, architecture: Architecture
) -> Path:
    """Compile statically, into a folder named for the program's content: whoever else compiles the
    same, or the same source with other headers, at the same time, does not change it."""
    compiler = find_program(architecture.compiler)
    build_folder.mkdir(parents=True, exist_ok=True)
    # Absolute paths would make the program, and so its hash, depend on where the source lies.
    place = source.resolve().parent
    command = [str(compiler), "-O2", "-g", "-static", "-pthread"]
    command += [f"-ffile-prefix-map={place}=.", f"-I{header_folder}"]
    with temporary_folder(beside=build_folder / source.stem) as temporary:
        built = (temporary / source.stem).resolve()
        command += ["-o", str(built), f"./{source.name}", "-lm"]
        result = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
            first = next(
                (line for line in lines if "error:" in line or "undefined" in line), lines[0]
            )
            raise InputError(f"cannot compile {source}: {first}")
        program = build_folder / sha256(built)[:16] / built.name
        program.parent.mkdir(exist_ok=True)
        built.replace(program)
    return program


def _add_interpreter(
    script: Path, files: GuestFiles, in_guest: bool
) -> tuple[list[str], python.Python | None]:
    """A script's interpreter travels along unless it is /bin/sh, which busybox is in the guest.
    Python is returned instead, with its options: it needs more."""
    with script.open("rb") as file:
        line = file.readline(256)
    words = line[2:].decode(errors="replace").split()
    if not line.startswith(b"#!"):
        if script.suffix == ".py" and not in_guest:
            raise InputError(f"{script} names no interpreter: write python3 {script}")
        if script.suffix != ".py":
            raise InputError(
                f"{script} is neither a program nor a script that begins with #!, nor a .c file"
            )
        words = ["/usr/bin/env", "python3"]
    if not words:
        raise InputError(f"{script} names no interpreter after #!")
    if words[0] in ("/bin/sh", "/bin/busybox"):
        return [], None
    interpreters, options = [words[0]], words[1:]
    if Path(words[0]).name == "env" and len(words) > 1:
        name, *options = [word for word in words[1:] if word != "-S"] or [""]
        interpreters.append(shutil.which(name) or name)
    if python.is_python(Path(interpreters[-1])):
        return options, python.find(Path(interpreters[-1])) if in_guest else None
    for interpreter in interpreters:
        path = Path(interpreter)
        elf = read_elf(path) if path.is_file() else None
        if elf is None:
            raise InputError(f"{script} needs the interpreter {interpreter}, which is not here")
        files.add(path, interpreter, executable=True, is_code=True)
        files.add_closure(elf)
    return [], None


def _has_any(path: Path, marks: Sequence[bytes]) -> bool:
    data = path.read_bytes()
    return any(mark in data for mark in marks)
