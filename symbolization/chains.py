"""The chains of many addresses, as columns: what symbolization hands to the profile."""

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.symbolization import column_file
from profdiff.symbolization.places import CODE, KERNEL_HALF, Places, place_keys, rows_of

VMLINUX = "vmlinux"
"""The object of the kernel's own functions."""

MAX_BYTES = column_file.MAX_BYTES
"""The largest file that `Chains.load` accepts: some 50 million addresses."""


class Chains(column_file.Record, frozen=True):
    """Chains of N addresses. Columns of indexes point into another column; 0 in ``strings`` is "".

    A *function* is a distinct (name, object, declaring file, declaring line); a *frame* a distinct
    (function, inlined, file, line). A frame's file and line are where it was executing: the
    address's own line for the innermost frame, the call site of the next one for the others. Line 0
    and the file "" mean unknown. File names are relative to the kernel's source tree where the
    debug ELF says where that was.
    """

    FORMAT: ClassVar[int] = 3
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        **dict.fromkeys(("function_object", "function_file", "function_line"), ("function_name",)),
        **dict.fromkeys(("frame_inlined", "frame_file", "frame_line"), ("frame_function",)),
        **dict.fromkeys(("symbol", "reason"), ("address",)),
    }
    ROWS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("function_name", "function_object", "function_file"), "strings"),
        **dict.fromkeys(("frame_file", "symbol"), "strings"),
        "frame_function": "function_name",
        "frames": "frame_function",
        "reason": "reasons",
    }
    VOID: ClassVar[column_file.Dtypes] = {"code": CODE}
    EMPTY: ClassVar[Collection[str]] = ("blind", "unread")
    ADVICE: ClassVar[str] = "delete it, and the next report will symbolize again"

    strings: list[str]
    #: per function
    function_name: NDArray[np.uint32]
    function_object: NDArray[np.uint32]
    function_file: NDArray[np.uint32]
    function_line: NDArray[np.uint32]
    #: per frame
    frame_function: NDArray[np.uint32]
    frame_inlined: NDArray[np.bool_]
    frame_file: NDArray[np.uint32]
    frame_line: NDArray[np.uint32]
    #: address i has the frames ``frames[offsets[i]:offsets[i + 1]]``, outermost first
    offsets: NDArray[np.uint32]
    frames: NDArray[np.uint32]
    #: per address: the ELF symbol, compiler suffixes included, in ``strings``; why it has no
    #: frames, in ``reasons`` (0: it has some); the address itself (avma)
    symbol: NDArray[np.uint32]
    reason: NDArray[np.uint8]
    address: NDArray[np.uint64]
    reasons: list[str]
    #: the objects whose inlined functions nothing tells: they have no debug information
    blind: list[str] = msgspec.field(default_factory=list)
    #: of objects whose files were not read as a whole, the name and why
    unread: list[str] = msgspec.field(default_factory=list)
    #: V16, the length and bytes of the instruction, of each address in user space that they tell
    #: apart from others; empty where addresses alone do
    code: NDArray[np.void] = msgspec.field(default_factory=lambda: np.empty(0, CODE))

    def __len__(self) -> int:
        return len(self.address)

    @property
    def inlines_visible(self) -> bool:
        """Whether the kernel's own chains show inlined functions."""
        return VMLINUX not in self.blind

    @property
    def remarks(self) -> list[str]:
        """What a reader must know of the files; one line each."""
        if not self.unread:
            return []
        others = len(self.unread) - 1
        more = f", and {others:,} other files" if others else ""
        return [
            f"not all of these files could be read: {self.unread[0]}{more}; symbols name their "
            "functions as far as there are any, and functions that were inlined are not seen"
        ]

    @property
    def inlines(self) -> dict[str, bool]:
        """By object of which there are functions, whether the inlined ones are known."""
        names = (self.strings[number] for number in sorted(set(self.function_object.tolist())))
        return {name: name not in self.blind for name in names}

    def rows(self, places: Places) -> NDArray[np.intp] | None:
        """Where each of N places is among these, sorted ones; None if one is not there."""
        code = np.zeros(len(self), CODE)
        code[self.address < KERNEL_HALF] = self.code if len(self.code) else b""
        mine, wanted = place_keys(self.address, code), places.keys()
        found = rows_of(mine, wanted)
        there = found < len(mine)
        there[there] = mine[found[there]] == wanted[there]
        return found if there.all() else None

    def taken(self, rows: NDArray[np.intp]) -> "Chains":
        """The chains of some of the addresses."""
        start, end = self.offsets[rows].astype(np.int64), self.offsets[rows + 1].astype(np.int64)
        lengths = end - start
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return replace(
            self,
            offsets=offsets.astype(np.uint32),
            frames=self.frames[np.repeat(start, lengths) + within],
            symbol=self.symbol[rows],
            reason=self.reason[rows],
            address=self.address[rows],
            code=np.empty(0, CODE),
        )

    def check(self) -> None:
        """Raise ValueError unless every column has its length and every index its target."""
        super().check()
        if not self.strings or self.strings[0]:
            raise ValueError("strings does not start with the empty string")
        if not self.reasons:
            raise ValueError("reasons is empty")
        if len(self.offsets) != len(self) + 1:
            raise ValueError(f"offsets has {len(self.offsets)} rows instead of {len(self) + 1}")
        offsets = self.offsets
        if offsets[0] != 0 or int(offsets[-1]) != len(self.frames):
            raise ValueError("offsets does not span frames")
        if np.any(offsets[1:] < offsets[:-1]):
            raise ValueError("offsets descends")
        if np.any((offsets[1:] == offsets[:-1]) != (self.reason != 0)):
            raise ValueError("reason and frames disagree")
        if len(self.code) not in (0, int((self.address < KERNEL_HALF).sum())):
            raise ValueError("code is not that of the addresses in user space")
