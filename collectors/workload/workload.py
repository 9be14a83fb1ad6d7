"""A workload made ready for the guest: what it runs there, and the files that travel along."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, host
from profdiff.collectors.programs import package_of
from profdiff.collectors.workload import python
from profdiff.collectors.workload.command import find_command, lacking, which
from profdiff.collectors.workload.compilation import compiled, is_source, test_arguments
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.files import GuestFile, GuestFiles
from profdiff.collectors.workload.python import add_modules
from profdiff.collectors.workload.root import GUEST_FOLDER, guest_place, sysroot

COPY = "{copy}"
"""Stands in a command for the number of each copy, from 0."""


@dataclass(frozen=True)
class PreparedWorkload:
    """``argv`` is the user's, ``guest_argv`` what the guest executes; ``has_marks``: the program
    holds marking instructions, so a run in which none executes is a failed run. ``source``: what
    was compiled, if anything was; ``stay``: folders that words of it name, which do not travel;
    ``lacks``: programs that a shell script calls and a guest does not have. ``copies`` of it run at
    a time; ``is_test``: a test in will-it-scale's shape, which starts them itself, each for as many
    operations as ``{ops}`` in ``guest_argv`` stands for. ``environment``: ``NAME=VALUE``s that it
    has besides a guest's."""

    argv: tuple[str, ...]
    guest_argv: tuple[str, ...]
    kind: Literal["program", "script", "source"]
    has_marks: bool
    files: tuple[GuestFile, ...] = field(default=())
    source: Path | None = None
    stay: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    copies: int = 1
    is_test: bool = False
    environment: tuple[str, ...] = ()

    @property
    def started(self) -> int:
        """How many processes of it are started, each on a vCPU of its own."""
        return 1 if self.is_test else self.copies

    def arguments_of(self, argv: Sequence[str]) -> list[list[str]]:
        """``argv`` as each of these processes has it."""
        return [[word.replace(COPY, str(n)) for word in argv] for n in range(self.started)]


def prepare(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    architecture: Architecture = ARCHITECTURES[0],
    sysroots: Sequence[str] = (),
    *,
    without: Collection[str] = (),
    copies: int = 1,
    place: str | None = None,
    libraries: str | None = None,
) -> PreparedWorkload:
    """Find, compile if it is C or C++, and collect what ``argv`` needs in the guest.

    ``extra`` are ``SRC[:DEST]``, ``sysroots`` ``[ARCH=]DIR``, ``without`` words that name no files.
    Compiled programs go to ``build_folder``; ``header_folder`` holds ``profdiff.h``. ``place``: the
    program's in the guest, None for where COMMAND has it; ``libraries``: as ``GuestFiles``. Raises
    InputError and MissingError.
    """
    files = GuestFiles(architecture, sysroot(sysroots, architecture), libraries)
    return _prepare(
        argv,
        extra,
        build_folder,
        header_folder,
        files,
        without=without,
        copies=copies,
        place=place,
    )


def prepare_for_machine(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    *,
    remote: bool,
    without: Collection[str] = (),
    copies: int = 1,
) -> PreparedWorkload:
    """As ``prepare``, for a machine that is not a guest: it has interpreters of its own, and a bare
    name is a program of its own. Only to a ``remote`` one files travel that COMMAND names."""
    files = GuestFiles(host())
    if "/" not in argv[0] and not Path(argv[0]).is_file() and not extra:
        stay = files.add_named(argv[1:], without) if remote else []
        named = tuple(files.by_path.values())
        return PreparedWorkload(
            tuple(argv),
            tuple(argv),
            "program",
            has_marks=False,
            files=named,
            stay=tuple(stay),
            copies=copies,
        )
    words = argv[1:] if remote else []
    return _prepare(
        argv,
        extra,
        build_folder,
        header_folder,
        files,
        in_guest=False,
        named=words,
        without=without,
        copies=copies,
    )


def _prepare(
    argv: Sequence[str],
    extra: Sequence[str],
    build_folder: Path,
    header_folder: Path,
    files: GuestFiles,
    *,
    in_guest: bool = True,
    named: Sequence[str] | None = None,
    without: Collection[str] = (),
    copies: int = 1,
    place: str | None = None,
) -> PreparedWorkload:
    path, guest_path = find_command(argv[0], files)
    guest_path = place or guest_path
    kind: Literal["program", "script", "source"] = "program"
    source = path if is_source(path) else None
    arguments, is_test = tuple(argv[1:]), False
    if source:
        made = compiled(source, build_folder, header_folder, files.architecture)
        path, kind, is_test = made.program, "source", made.is_test
        guest_path = place or f"{GUEST_FOLDER}/{path.name}"
    if source and is_test:
        arguments, named = test_arguments(source, arguments, copies), ()
    start = [guest_path]
    interpreter = python.find(path, guest_path, files) if in_guest else None
    script = python.script_of(argv[1:]) if interpreter else None
    if interpreter:
        start = [interpreter.program]
    else:
        files.add(path, guest_path, executable=True, is_code=True)
        elf = read_elf(path)
        if elf:
            files.add_closure(elf, guest_path)
        else:
            kind = "script"
            options, interpreter = _add_interpreter(path, files, in_guest)
            if interpreter:
                start, script = [interpreter.program, *options, guest_path], path
    if interpreter:
        interpreter.add_to(files)
    words = argv[1:] if named is None else named
    each = (word.replace(COPY, str(n)) for word in words for n in range(copies))
    stay = files.add_named(list(dict.fromkeys(each)), without)
    for text in extra:
        files.add_extra(text)
    added = {place.split("/")[0] for place in map(_below, files.by_path)}
    if interpreter and script:
        at = guest_path if script is path else guest_place(str(script))
        if not script.exists() and at not in files.by_path:
            raise InputError(f"no such script: {script}")
    if interpreter and script and script.is_file():
        add_modules(interpreter, script, at, files)
    files.add_loader_cache(build_folder)
    lacks: list[str] = []
    if in_guest and kind == "script":
        lacks = lacking(path, {one.rpartition("/")[2] for one in files.by_path})
    marks = files.architecture.marks
    marked = any(file.is_code and _has_any(file.source, marks) for file in files.by_path.values())
    return PreparedWorkload(
        argv=tuple(argv),
        guest_argv=(*start, *arguments),
        kind=kind,
        has_marks=marked,
        files=tuple(files.by_path.values()),
        source=source,
        stay=tuple(word for word in stay if word not in added),
        lacks=tuple(lacks),
        copies=copies,
        is_test=is_test,
    )


def _below(guest_path: str) -> str:
    """The path below the guest's current folder."""
    return guest_path.removeprefix(f"{GUEST_FOLDER}/")


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
                f"{script} is neither a program nor a script that begins with #!, nor a source "
                f"file (.c, .cpp): of a shell's script, write sh {shlex.quote(str(script))}"
            )
        words = ["/usr/bin/env", "python3"]
    if not words:
        raise InputError(f"{script} names no interpreter after #!")
    if line.endswith(b"\r\n"):
        raise InputError(
            f"{script} has lines that end as on Windows, which no interpreter takes: sed -i "
            f"'s/\\r$//' {shlex.quote(str(script))}"
        )
    if words[0] in ("/bin/sh", "/bin/busybox"):
        return [], None
    interpreters, options = [words[0]], words[1:]
    if Path(words[0]).name == "env" and len(words) > 1:
        name, *options = [word for word in words[1:] if word != "-S"] or [""]
        interpreters.append(which(name, files) or name)
    if python.is_python(Path(interpreters[-1])):
        # Not where its links lead: a virtual environment's link is what leads to its modules.
        found = files.named(interpreters[-1])
        return options, python.find(found, interpreters[-1], files) if in_guest else None
    for interpreter in interpreters:
        path = files.find(interpreter)
        elf = read_elf(path) if path else None
        if path is None or elf is None:
            place = f"in {files.sysroot.path}" if files.sysroot else "here"
            first = line.decode(errors="replace").strip()
            fix = package_of(Path(interpreter).name) or f"write another one in its line {first}"
            raise InputError(
                f"{script} needs the interpreter {interpreter}, which is not {place}: {fix}"
            )
        files.add(path, interpreter, executable=True, is_code=True)
        files.add_closure(elf, interpreter)
    return [], None


def _has_any(path: Path, marks: Sequence[bytes]) -> bool:
    longest = max(map(len, marks))
    with path.open("rb") as file:
        before = b""
        while data := file.read(1 << 24):
            data = before + data
            if any(mark in data for mark in marks):
                return True
            before = data[1 - longest :]
    return False
