"""What the kernel that runs now says of itself.

A kernel's /proc/kallsyms, where nobody gave it: the running kernel's, or perf's copy.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from profdiff.base import bounded
from profdiff.symbolization._native import KernelMapping


def gnu_build_id(notes: bytes) -> str | None:
    """The build id in the content of /sys/kernel/notes (ELF notes: elf(5)); None if it has none."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = (
            int.from_bytes(notes[at + i : at + i + 4], "little") for i in (0, 4, 8)
        )
        name = notes[at + 12 : at + 12 + name_size]
        start = at + 12 + (name_size + 3) // 4 * 4
        if kind == 3 and name == b"GNU\0" and 1 <= size <= 64 and start + size <= len(notes):
            return notes[start : start + size].hex()
        at = start + (size + 3) // 4 * 4
    return None


def running_build_id() -> str | None:
    """The build id of the running kernel; None if it has none or hides it."""
    try:
        return gnu_build_id(Path("/sys/kernel/notes").read_bytes())
    except OSError:
        return None


def running_kallsyms() -> bytes:
    """/proc/kallsyms; empty where it may not be read or hides the addresses (kptr_restrict)."""
    try:
        content = Path("/proc/kallsyms").read_bytes()
    except OSError:
        return b""
    # Some symbols are at zero always, the last one of the kernel's own never.
    hidden = all(line.startswith(b"0" * 8) for line in content.splitlines()[-100:])
    return b"" if hidden else content


# The running kernel of a cloud machine, with 122,000 symbols, prints 5.4 MB.
MAX_KALLSYMS = 256 << 20
_MAPPING = "[kernel.kallsyms]"
_LINE = re.compile(rb"^([0-9a-f]{16}) (\S) (\S+)$", re.MULTILINE)
_KERNEL_TEXT = 0xFFFF_FFFF_8000_0000


def found_kallsyms(build_id: str | None, mappings: Sequence[KernelMapping]) -> bytes:
    """The kallsyms of the kernel with that build id, which lay at ``mappings`` when it was
    recorded; empty where there is none. From another boot, in which KASLR put the kernel elsewhere,
    the kernel's own symbols are moved, and the modules' left out."""
    if not build_id:
        return b""
    kept = Path.home() / ".debug/.build-id" / build_id[:2] / build_id[2:] / "kallsyms"
    content = running_kallsyms() if build_id == running_build_id() else b""
    return _at_mapping(content or _read(kept), mappings)


def _read(path: Path) -> bytes:
    try:
        return bounded.read(path, MAX_KALLSYMS)
    except OSError:
        return b""


def _at_mapping(content: bytes, mappings: Sequence[KernelMapping]) -> bytes:
    for mapping in mappings:
        symbol, there = mapping.name.removeprefix(_MAPPING), mapping.offset
        if symbol == mapping.name or not symbol or not there:
            continue
        line = re.search(rb"^([0-9a-f]{16}) \S %b$" % re.escape(symbol.encode()), content, re.M)
        moved = there - int(line[1], 16) if line else 0
        if moved:
            return b"\n".join(
                b"%016x %b %b" % ((int(address, 16) + moved) % 2**64, kind, function)
                for address, kind, function in _LINE.findall(content)
                if int(address, 16) >= _KERNEL_TEXT
            )
        break
    return content
