"""A workload made ready for the guest: what it runs there, and the files that travel along."""

import hashlib
import re
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
from profdiff.collectors.workload.elf_closure import Elf, closure, read_elf

GUEST_FOLDER = "/work"


@dataclass(frozen=True)
class GuestFile:
    """A file for the guest. ``is_code``: it may execute, so the session keeps it."""

    source: Path
    guest_path: str
    executable: bool
    is_code: bool

    def sha256(self) -> str:
        """Hash of the content, in hexadecimal."""
        return _sha256(self.source)


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
    path = _find_command(argv[0])
    kind: Literal["program", "script", "source"] = "program"
    source = path if path.suffix == ".c" else None
    if source:
        path, kind = _compile(source, build_folder, header_folder, architecture), "source"
    elf = read_elf(path)
    files = _Files(architecture)
    guest_path = f"{GUEST_FOLDER}/{path.name}"
    files.add(path, guest_path, executable=True, is_code=True)
    if elf:
        files.add_closure(elf)
    else:
        kind = "script"
        _add_interpreter(path, files)
    for text in extra:
        _add_extra(text, files)
    marks = architecture.marks or ()
    marked = any(file.is_code and _has_any(file.source, marks) for file in files.by_path.values())
    return PreparedWorkload(
        argv=tuple(argv),
        guest_argv=(guest_path, *argv[1:]),
        kind=kind,
        has_marks=marked,
        files=tuple(files.by_path.values()),
        source=source,
    )


def prepare_for_machine(
    argv: Sequence[str], extra: Sequence[str], build_folder: Path, header_folder: Path
) -> PreparedWorkload:
    """As ``prepare``, for a machine that is not a guest: a bare name is a program of its own."""
    if "/" not in argv[0] and not Path(argv[0]).is_file() and not extra:
        return PreparedWorkload(tuple(argv), tuple(argv), "program", has_marks=False)
    return prepare(argv, extra, build_folder, header_folder, host())


class _Files:
    """Guest files by their guest path; two sources for one path are refused."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self.by_path: dict[str, GuestFile] = {}

    def add(self, source: Path, guest_path: str, *, executable: bool, is_code: bool) -> None:
        known = self.by_path.get(guest_path)
        if known and known.source.resolve() != source.resolve():
            raise InputError(
                f"{known.source} and {source} would both be {guest_path} in the guest: give one of "
                "them another place with --file SRC:DEST"
            )
        self.by_path[guest_path] = GuestFile(source, guest_path, executable, is_code)

    def add_closure(self, elf: Elf) -> None:
        told = self.architecture.told
        if elf.machine != self.architecture.elf:
            raise InputError(
                f"{elf.path} is a program for {elf.machine.removeprefix('EM_')}, the guest is "
                f"{told}: build it for {told}"
            )
        if not self.architecture.is_host and elf.needed:
            raise InputError(
                f"{elf.path} is dynamically linked, and its libraries for {told} are not "
                "here: link it statically"
            )
        libraries = closure(elf)
        for library in libraries:
            self.add(library, str(library), executable=True, is_code=True)
        cache = Path("/etc/ld.so.cache")
        if libraries and cache.exists():
            self.add(cache, str(cache), executable=False, is_code=False)


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
            first = next((line for line in lines if "error" in line), lines[0])
            raise InputError(f"cannot compile {source}: {first}")
        program = build_folder / _sha256(built)[:16] / built.name
        program.parent.mkdir(exist_ok=True)
        built.replace(program)
    return program


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add_interpreter(script: Path, files: _Files) -> None:
    """A script's interpreter travels along unless it is /bin/sh, which busybox is in the guest."""
    with script.open("rb") as file:
        line = file.readline(256)
    if not line.startswith(b"#!"):
        raise InputError(
            f"{script} is neither a program nor a script that begins with #!, nor a .c file"
        )
    words = line[2:].decode(errors="replace").split()
    if not words:
        raise InputError(f"{script} names no interpreter after #!")
    if words[0] in ("/bin/sh", "/bin/busybox"):
        return
    interpreters = [words[0]]
    if Path(words[0]).name == "env" and len(words) > 1:
        interpreters.append(shutil.which(words[1]) or words[1])
    for interpreter in interpreters:
        path = Path(interpreter)
        elf = read_elf(path) if path.is_file() else None
        if elf is None:
            raise InputError(f"{script} needs the interpreter {interpreter}, which is not here")
        files.add(path, interpreter, executable=True, is_code=True)
        files.add_closure(elf)


def _add_extra(text: str, files: _Files) -> None:
    source_text, _, destination = text.partition(":")
    source = Path(source_text)
    if not source.is_file():
        raise InputError(f"--file {text}: {source_text} is not a file")
    destination = destination or source.name
    if not destination.startswith("/"):
        destination = f"{GUEST_FOLDER}/{destination}"
    if re.search(r"(^|/)\.\.(/|$)|[\x00-\x1f]", destination):
        raise InputError(f"--file {text}: {destination!r} is not a path in the guest")
    elf = read_elf(source)
    executable = bool(source.stat().st_mode & 0o111)
    files.add(source, destination, executable=executable, is_code=elf is not None)
    if elf and elf.machine == files.architecture.elf and (elf.interpreter or elf.needed):
        files.add_closure(elf)


def _has_any(path: Path, marks: Sequence[bytes]) -> bool:
    data = path.read_bytes()
    return any(mark in data for mark in marks)
