"""The guest's agent, a static program: a wheel brings it, else it is compiled once."""

import hashlib
import re
import subprocess
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.programs import find_program

_SOURCE = Path(__file__).with_name("agent.c")


def brought_agent() -> Path | None:
    """The agent that this installation brought: setup.py compiles it into a wheel."""
    program = _SOURCE.with_name("agent")
    return program if program.is_file() else None


def agent() -> Path:
    """The agent that was brought; else compiled once for each version of its source and kept in the
    cache.

    Raises MissingError without a C compiler or a static libc.
    """
    from profdiff.base.cache import cache_folder

    if program := brought_agent():
        return program
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    program = cache_folder("agent") / f"agent-{digest}"
    if not program.exists():
        compile_agent(program)
    return program


def compile_agent(program: Path) -> None:
    """Compile the agent to the file ``program``. Raises MissingError. A build calls it, which has
    only the standard library."""
    compiler = find_program("cc")
    with temporary_folder(beside=program) as folder:
        built = folder / "agent"
        (folder / "syscall-names.h").write_text(_syscall_names(compiler))
        command = [str(compiler), "-O2", "-static", f"-ffile-prefix-map={_SOURCE.parent}=."]
        command += [f"-I{folder}", "-o", str(built), str(_SOURCE)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MissingError(
                f"cannot compile the guest's agent ({reason}): apt-get install gcc libc6-dev"
            )
        built.replace(program)


def _syscall_names(compiler: Path) -> str:
    """The names of system calls as elements of a C array, from the kernel's own header."""
    command = [str(compiler), "-dM", "-E", "-include", "asm/unistd.h", "-x", "c", "/dev/null"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"^#define __NR_(\w+) (\d{1,3})$", result.stdout, re.MULTILINE)
    return "".join(f'[{number}] = "{name}",\n' for name, number in found)
