"""Inline trees of whole units, read by pyelftools. Slow and plain, to be seen to be right."""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.elffile import ELFFile


@dataclass
class Frame:
    """A function or an inlined occurrence, with the ranges that it covers."""

    name: str
    inlined: bool
    call_file: str
    call_line: int
    ranges: list[tuple[int, int]]
    children: list["Frame"] = field(default_factory=list)

    def chain(self, address: int) -> list["Frame"]:
        if not any(low <= address < high for low, high in self.ranges):
            return []
        return [self, *next(filter(None, (c.chain(address) for c in self.children)), [])]


@dataclass
class Unit:
    """The functions of one compilation unit."""

    roots: list[Frame]

    @property
    def functions(self) -> Iterator[tuple[int, int]]:
        for root in self.roots:
            yield from root.ranges

    def chain(self, address: int) -> list[Frame]:
        return next(filter(None, (root.chain(address) for root in self.roots)), [])


def spans(elf: ELFFile, addresses: Iterable[int]) -> dict[str, Unit]:
    """The units that have these addresses, by name. All units of a kernel would take long."""
    dwarf = elf.get_dwarf_info()
    places = dwarf.get_aranges()
    found = {}
    for address in addresses:
        unit = dwarf.get_CU_at(places.cu_offset_at_addr(address))
        top = unit.get_top_DIE()
        reader = _Reader(dwarf, unit)
        name = top.attributes["DW_AT_name"].value.decode()
        found[name] = Unit(list(reader.frames(top)))
    return found


class _Reader:
    def __init__(self, dwarf: Any, unit: Any) -> None:
        self._ranges = dwarf.range_lists()
        self._unit = unit
        self._program = dwarf.line_program_for_CU(unit)

    def frames(self, die: Any) -> Iterator[Frame]:
        """Frames directly below an entry, those in nested functions' scopes within them."""
        for child in die.iter_children():
            if child.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                ranges = self._covered(child)
                if ranges:
                    inlined = child.tag == "DW_TAG_inlined_subroutine"
                    file, line = self._call(child)
                    frame = Frame(self._name(child), inlined, file, line, ranges)
                    frame.children = list(self.frames(child))
                    yield frame
            elif child.tag == "DW_TAG_lexical_block":
                yield from self.frames(child)

    def _name(self, die: Any) -> str:
        while "DW_AT_name" not in die.attributes:
            key = (
                "DW_AT_abstract_origin"
                if "DW_AT_abstract_origin" in die.attributes
                else "DW_AT_specification"
            )
            die = die.get_DIE_from_attribute(key)
        return str(die.attributes["DW_AT_name"].value.decode())

    def _covered(self, die: Any) -> list[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_ranges" in attributes:
            entries = self._ranges.get_range_list_at_offset(
                attributes["DW_AT_ranges"].value, self._unit
            )
            base = self._unit.get_top_DIE().attributes["DW_AT_low_pc"].value
            covered = []
            for entry in entries:
                if hasattr(entry, "base_address"):
                    base = entry.base_address
                    continue
                offset = 0 if entry.is_absolute else base
                covered.append((entry.begin_offset + offset, entry.end_offset + offset))
            return covered
        if "DW_AT_low_pc" not in attributes:
            return []
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        end = high.value if high.form == "DW_FORM_addr" else low + high.value
        return [(low, end)] if end > low else []

    def _call(self, die: Any) -> tuple[str, int]:
        if "DW_AT_call_file" not in die.attributes:
            return "", 0
        header = self._program.header
        entry = header.file_entry[die.attributes["DW_AT_call_file"].value]
        folder = header.include_directory[entry.dir_index].decode() if entry.dir_index else ""
        path = posixpath.normpath(posixpath.join(folder, entry.name.decode()))
        return path, int(die.attributes["DW_AT_call_line"].value)
