"""What a file is that was given in the place of another: as its first bytes tell."""

from pathlib import Path

_HEAD = 1024
_MAGIC = (
    (b"\x7fELF", "an ELF file"),
    (b"PERFILE2", "a recording of perf"),
    (b"#!", "a script"),
    (b"!<arch>\n", "a package or an archive"),
    (b"07070", "an archive for an initrd"),
    (b"\x28\xb5\x2f\xfd", "a compressed file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"\xfd7zXZ\0", "a compressed file"),
)


def told(path: Path) -> str:
    """A noun: "an ELF file"; "" for a device, a pipe, and what cannot be read."""
    if path.is_dir():
        return "a folder"
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    # Documentation/arch/x86/boot.rst, and what is an EFI program.
    if head[0x202:0x206] == b"HdrS" or head.startswith(b"MZ"):
        return "a kernel's image"
    return "a binary file" if b"\0" in head else "a text"
