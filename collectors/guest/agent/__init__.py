"""The guest's agent, a static program."""

import re
import subprocess
from pathlib import Path

from profdiff.collectors.static_program import StaticProgram


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


_FOLDER = Path(__file__).parent
AGENT = StaticProgram(
    "agent",
    "the guest's agent",
    _FOLDER,
    # What programs of users include, too.
    _FOLDER.parent / "profdiff.h",
    {"syscall-names.h": _syscall_names},
)
