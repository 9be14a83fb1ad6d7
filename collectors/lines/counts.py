"""The file of the lines collector, as ``collectors/tcg-plugin/core/src/lines/`` writes it."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import SessionError

OUTSIDE = "outside"
"""What chance lets fall into a window, so that no metric has it."""
REGIONS = {
    "all": "all of these",
    "user": "addresses of programs",
    "page-tables": "page tables",
    "struct-page": "the array of struct page",
    "slab": "slabs",
    "per-cpu": "per-CPU memory",
    "stack": "kernel stacks",
    "image": "kernel code and variables",
    "vmalloc": "rest of vmalloc",
    "direct-map": "rest of the direct map",
    "other": "all else",
    OUTSIDE: "outside the workload alone",
}
"""By region, what its lines are of."""
TYPED = ("page-tables", "slab")
"""Those that only a kernel tells whose pages have types: of others they are ``direct-map``."""
_WINDOWS: dict[str, Literal["none", "command", "marks"]] = {
    "0": "none",
    "1": "command",
    "2": "marks",
}
_MAX_BYTES = 4096
_HEAD = re.compile(r"window ([012]) (\d{1,15}) (\d{1,15}) (\d{1,15})\ntypes ([01])\n", re.ASCII)
_LINE = re.compile(r"lines (\S+) (\d{1,15})\n", re.ASCII)


class LineCounts(msgspec.Struct, frozen=True):
    """``kind``: whose marks opened the window, ``opened``, ``closed`` and ``misplaced`` how often.
    ``lines``: by region, how many distinct lines of 64 bytes instructions accessed in it; a line
    can be of several regions, one after the other. Without regions that are not known."""

    kind: Literal["none", "command", "marks"]
    opened: int
    closed: int
    misplaced: int
    lines: dict[str, int]

    @staticmethod
    def load(path: Path) -> "LineCounts":
        """Read the file. Safe for a file from a stranger. Raises SessionError when it is missing,
        cut short, or not such a file."""
        try:
            text = bounded.read(path, _MAX_BYTES).decode("ascii", "replace")
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        head = _HEAD.match(text)
        lines = dict(_LINE.findall(text[head.end() :])) if head else {}
        if head is None or lines.keys() != REGIONS.keys():
            raise SessionError(f"{path} is not a file of lines, or was cut short")
        kind, opened, closed, misplaced, typed = head.groups()
        known = {
            region: int(count)
            for region, count in lines.items()
            if typed == "1" or region not in TYPED
        }
        return LineCounts(_WINDOWS[kind], int(opened), int(closed), int(misplaced), known)
