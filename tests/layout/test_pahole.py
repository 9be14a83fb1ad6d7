"""Offsets, sizes and cache lines of a kernel's types, against pahole's listing."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from support import need_program, profdiff

from profdiff.symbolization.type_layout import layouts

TYPES = ("mm_struct", "vm_area_struct", "page", "task_struct", "ma_state", "pipe_inode_info")
_BOUNDARY = re.compile(r"/\* --- cacheline (\d+) boundary \((\d+) bytes\)")
_MEMBER = re.compile(r"^\t+(.*?);\s*/\*\s*(\d+)(?::\s*(\d+))?\s+(\d+)\s*\*/")
_OPENED = re.compile(r"^\t+(?:struct|union)(?: \w+)? {")
_END = re.compile(r"/\* size: (\d+), cachelines: (\d+)")
_ATTRIBUTE = re.compile(r"\s*__attribute__\(\(.*?\)\)\)?")
_NAME = re.compile(r"\(\*+(\w+)\)|(\w+)\s*(?:\[\w*\])*(?::\d+)?\s*$")


class Listed(NamedTuple):
    """A member. ``bit``: of bit fields; ``line``: None where a union leads back to before the last
    line that pahole has told."""

    name: str
    offset: int
    bit: int | None
    size: int
    line: int | None


def _listed(text: str) -> list[Listed]:
    """Those of anonymous structs and unions, too, but not those of members with a name."""
    line = boundary = 0
    open_: list[list[Listed]] = [[]]
    for one in text.splitlines():
        if told := _BOUNDARY.search(one):
            line, boundary = int(told[1]), int(told[2])
        elif _OPENED.match(one):
            open_.append([])
        elif member := _MEMBER.match(one):
            declared, offset = _ATTRIBUTE.sub("", member[1]), int(member[2])
            called = _NAME.search(declared)
            if declared.startswith("}"):
                inside = open_.pop()
                if called is None:
                    open_[-1] += inside
                    continue
            elif re.fullmatch(r"(?:struct|union) \w+\s*", declared):
                continue  # an anonymous member of a type with a name, which stands for its fields
            assert called, one
            bit = None if member[3] is None else int(member[3])
            known = line if offset >= boundary else None
            name = called[1] or called[2]
            open_[-1].append(Listed(name, offset, bit, int(member[4]), known))
    (members,) = open_
    return members


def _printed(vmlinux: Path, name: str) -> str:
    command = ["pahole", "-C", name, vmlinux]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_lines_are_those_that_pahole_prints(
    fixture_vmlinux: Callable[[str], Path], tmp_path: Path
) -> None:
    need_program("pahole", "dwarves")
    kernels = {label: fixture_vmlinux(f"v{label}") for label in ("6.12.107", "7.1.8")}
    arguments = [f"v{label}={path}" for label, path in kernels.items()]
    profdiff("layout", *arguments, *TYPES, "--json", tmp_path / "layout.json")
    document = json.loads((tmp_path / "layout.json").read_text())
    checked = lines = 0
    for label, vmlinux in kernels.items():
        for row in document["types"]:
            printed = _printed(vmlinux, row["name"])
            (end,) = _END.findall(printed)[-1:]
            told = row["sizes"][f"v{label}"]
            assert (told["size"], told["lines"]) == (int(end[0]), int(end[1])), row["name"]
            known = {one["name"]: one["places"][f"v{label}"] for one in row["fields"]}
            for name, offset, bit, size, line in _listed(printed):
                place = known[name]
                assert place is not None, (row["name"], name)
                if bit is not None:
                    assert place["bit_field"]
                    continue
                where = (place["bit_offset"], place["bit_size"])
                assert where == (8 * offset, 8 * size), (row["name"], name)
                checked += 1
                if line is not None:
                    assert place["line"] == line, (row["name"], name)
                    lines += line > 0
                    last = (offset + max(size, 1) - 1) // document["line_size"]
                    assert place["last_line"] == last
    assert checked > 550
    assert lines > 300


def test_what_pahole_calls_a_hole_is_one(fixture_vmlinux: Callable[[str], Path]) -> None:
    need_program("pahole", "dwarves")
    vmlinux = fixture_vmlinux("v6.12.107")
    (found,) = layouts(vmlinux, ["vm_area_struct"]).found
    printed = _printed(vmlinux, "vm_area_struct")
    gaps = [int(one) for one in re.findall(r"XXX (\d+) bytes? hole", printed)]
    used = sorted((one.bit_offset, one.bit_offset + one.bit_size) for one in found.fields)  # type: ignore[union-attr]
    end, holes = 0, []
    for first, last in used:
        if first > end:
            holes.append((first - end) // 8)
        end = max(end, last)
    assert holes == gaps
