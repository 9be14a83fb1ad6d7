"""Small ELF files with debug information of any shape, honest or not (ELF-64, DWARF 5)."""

import struct
from collections.abc import Iterable, Mapping

# DWARF 5, 7.5.3 (tags), 7.5.4 (attributes), 7.5.6 (forms), 7.25 (range lists).
COMPILE_UNIT, SUBPROGRAM, INLINED = 0x11, 0x2E, 0x1D
NAME, STMT_LIST, LOW_PC, HIGH_PC, COMP_DIR = 0x03, 0x10, 0x11, 0x12, 0x1B
ORIGIN, DECL_FILE, RANGES, LINKAGE_NAME, PRODUCER = 0x31, 0x3A, 0x55, 0x6E, 0x25
ADDR, DATA2, DATA4, STRING, STRP, UDATA = 0x01, 0x05, 0x06, 0x08, 0x0E, 0x0F
REF_ADDR, REF4, SEC_OFFSET, FLAG_PRESENT, IMPLICIT_CONST = 0x10, 0x13, 0x17, 0x19, 0x21

TEXT = 0x1000
#: What a function's entry needs to have code, and one with code at the start of the text.
PLACE = [(LOW_PC, ADDR), (HIGH_PC, DATA4)]
PLACED = struct.pack("<QI", TEXT, 16)


def uleb(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def abbreviation(
    code: int, tag: int, attributes: Iterable[tuple[int, int]], children: bool = False
) -> bytes:
    """One shape of entry; an attribute of IMPLICIT_CONST has the value 1."""
    specs = b"".join(
        uleb(name) + uleb(form) + (b"\1" if form == IMPLICIT_CONST else b"")
        for name, form in attributes
    )
    return uleb(code) + uleb(tag) + bytes([children]) + specs + b"\0\0"


def unit(entries: bytes, abbreviations: int = 0) -> bytes:
    """A compilation unit; `entries` begin at offset `UNIT_HEADER`."""
    body = struct.pack("<HBBI", 5, 1, 8, abbreviations) + entries
    return struct.pack("<I", len(body)) + body


UNIT_HEADER = 12


def line_program(
    directories: Iterable[bytes], files: Iterable[tuple[bytes, int]], program: bytes = b""
) -> bytes:
    """A DWARF 4 line program with its header; files are (name, number of the directory)."""
    tables = b"".join(name + b"\0" for name in directories) + b"\0"
    tables += b"".join(name + b"\0" + uleb(folder) + b"\0\0" for name, folder in files) + b"\0"
    # Instructions of 1 byte; lines advance by -5 to 8; 12 standard opcodes of known lengths.
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes(
        [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]
    )
    body = struct.pack("<HI", 4, len(header + tables)) + header + tables + program
    return struct.pack("<I", len(body)) + body


def elf(
    sections: Mapping[str, bytes],
    *,
    text_bytes: int = 1 << 20,
    symbols: Iterable[tuple[int, int]] = (),
    strings: bytes = b"",
    build_id: bytes = b"",
) -> bytes:
    """An ELF program: `.text` without content at TEXT, then `sections` by name. `symbols` are
    (offset into `strings`, address) of functions of 1 byte."""
    headers = [bytes(64)]
    names = b"\0"
    content = bytearray(64)

    def add(
        name: str, kind: int, data: bytes, flags: int = 0, link: int = 0, entry: int = 0
    ) -> None:
        nonlocal names
        address, size = (TEXT, text_bytes) if name == ".text" else (0, len(data))
        fields = (kind, flags, address, len(content), size, link, 1, 4, entry)
        headers.append(struct.pack("<IIQQQQIIQQ", len(names), *fields))
        names += name.encode() + b"\0"
        content.extend(data + bytes(-len(data) % 8))

    add(".text", 8, b"", flags=6)  # SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR
    if build_id:
        add(".note.gnu.build-id", 7, struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id)
    for name, data in sections.items():
        add(name, 1, data)
    table = b"".join(
        struct.pack("<IBBHQQ", name, 0x12, 0, 1, address, 1) for name, address in symbols
    )
    if table:
        add(".strtab", 3, strings)
        add(".symtab", 2, bytes(24) + table, link=len(headers) - 1, entry=24)
    add(".shstrtab", 3, names + b".shstrtab\0")
    start = len(content)
    content[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0, 0, start, 0, 64, 0, 0, 64,
        len(headers), len(headers) - 1,
    )  # fmt: skip
    return bytes(content) + b"".join(headers)
