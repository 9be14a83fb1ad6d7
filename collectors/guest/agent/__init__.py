"""The guest's agent, a static program: a wheel brings it, else it is compiled once for each
architecture."""

import hashlib
import re
import subprocess
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.programs import find_program, fix

_FOLDER = Path(__file__).parent
_SOURCES = sorted(_FOLDER.glob("*.c"))
# What programs of users include, too.
_MARKS = _FOLDER.parent / "profdiff.h"


def brought_agent(architecture: Architecture) -> Path | None:
    """The agent that this installation brought: setup.py compiles it into a wheel."""
    program = _FOLDER / f"agent-{architecture.name}"
    return program if program.is_file() else None


def agent(architecture: Architecture) -> Path:
    """The agent that was brought; else compiled once for each version of its source and kept in the
    cache.

    Raises MissingError without a C compiler for the architecture or a static libc.
    """
    from profdiff.base.cache import cache_folder

    if program := brought_agent(architecture):
        return program
    headers = sorted(_FOLDER.glob("*.h"))
    text = b"".join(file.read_bytes() for file in (*_SOURCES, *headers, _MARKS))
    digest = hashlib.sha256(text).hexdigest()[:16]
    program = cache_folder("agent") / f"agent-{digest}-{architecture.name}"
    if not program.exists():
        compile_agent(program, architecture)
    return program


def compile_agent(program: Path, architecture: Architecture) -> None:
    """Compile the agent to the file ``program``. Raises MissingError. A build calls it, which has
    only the standard library."""
    compiler = find_program(architecture.compiler)
    with temporary_folder(beside=program) as folder:
        built = folder / "agent"
        (folder / "syscall-names.h").write_text(_syscall_names(compiler))
        command = [str(compiler), "-O2", "-static", f"-ffile-prefix-map={_FOLDER}=."]
        command += [f"-I{folder}", f"-I{_MARKS.parent}", "-o", str(built), *map(str, _SOURCES)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MissingError(
                f"cannot compile the guest's agent ({reason}): {fix(architecture.compiler)}"
            )
        built.replace(program)


def _syscall_names(compiler: Path) -> str:
    """The names of system calls as elements of a C array, from the kernel's own header."""
    command = [str(compiler), "-dM", "-E", "-include", "asm/unistd.h", "-x", "c", "/dev/null"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    found_macros = re.findall(r"^#define (__NR\w+) (\w+)$", result.stdout, re.MULTILINE)
    defined: dict[str, str] = dict(found_macros)
    found = {}
    for macro, value in sorted(defined.items()):
        # asm-generic/unistd.h: __NR_mmap is __NR3264_mmap, which is a number.
        number = defined.get(value, value)
        if re.fullmatch(r"\d{1,3}", number) and macro.startswith("__NR_"):
            found[macro.removeprefix("__NR_")] = number
    # How many there are, and from which number on an architecture has its own.
    for name in ("syscalls", "arch_specific_syscall"):
        found.pop(name, None)
    return "".join(f'[{number}] = "{name}",\n' for name, number in found.items())
