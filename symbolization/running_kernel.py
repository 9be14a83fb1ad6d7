"""What the kernel that runs now says of itself."""

from pathlib import Path


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
