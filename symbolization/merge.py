"""Several native resolutions, each of some of the addresses, as one `Chains`."""

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import Resolution, reasons
from profdiff.symbolization.chains import Chains

Positions = NDArray[np.intp]

_REASON = {name: number for number, name in enumerate(reasons())}


def reason_column(reason: str, where: Positions) -> NDArray[np.uint8]:
    """The code of ``reason``, once for each of ``where``."""
    return np.full(len(where), _REASON[reason], np.uint8)


class Merge:
    """Collects resolutions. An address that is added twice keeps the last resolution."""

    def __init__(self, addresses: NDArray[np.uint64]) -> None:
        self._addresses = addresses
        self._strings: dict[str, int] = {"": 0}
        self._functions: list[NDArray[np.uint32]] = []
        self._frames: list[NDArray[np.uint32]] = []
        self._function_count = 0
        self._frame_count = 0
        #: per part: its frames; per address: its part, and where its chain is in it
        self._chains: list[NDArray[np.uint32]] = []
        self._part = np.zeros(len(addresses), dtype=np.intp)
        self._start = np.zeros(len(addresses), dtype=np.int64)
        self._length = np.zeros(len(addresses), dtype=np.int64)
        #: whether the inlined functions of an object are known
        self._inlines: dict[str, bool] = {}
        #: of an object, why its file was not read as a whole
        self._unread: dict[str, str] = {}
        self._symbol = np.zeros(len(addresses), dtype=np.uint32)
        self.reason = np.zeros(len(addresses), dtype=np.uint8)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def fail(self, where: Positions, reason: NDArray[np.uint8]) -> None:
        """Give the addresses at `where` no chain."""
        self._length[where] = 0
        self._symbol[where] = 0
        self.reason[where] = reason

    def tell(self, name: str, why: str) -> None:
        """The file of an object was not read as a whole."""
        self._unread.setdefault(name, why)

    def add(self, where: Positions, part: Resolution, name: str, *, inlines: bool = False) -> None:
        """Give the addresses at `where` the chains of `part`, whose functions belong to `name`.
        ``inlines``: `part` has the inlined ones."""
        if (part.reason == 0).any():
            self._inlines[name] = inlines or self._inlines.get(name, False)
        strings = np.array([self._string(text) for text in part.strings], dtype=np.uint32)
        owner = np.full(len(part.function_name), self._string(name), dtype=np.uint32)
        functions = (strings[part.function_name], owner, strings[part.function_file])
        self._functions.append(np.stack([*functions, part.function_line], axis=1))
        frame_functions = part.frame_function + np.uint32(self._function_count)
        frames = (frame_functions, part.frame_inlined.astype(np.uint32))
        where_it_was = (strings[part.frame_file], part.frame_line)
        self._frames.append(np.stack([*frames, *where_it_was], axis=1))
        self._part[where] = len(self._chains)
        self._chains.append(part.chain_frames + np.uint32(self._frame_count))
        offsets = part.chain_offsets.astype(np.int64)
        self._start[where] = offsets[:-1]
        self._length[where] = np.diff(offsets)
        self._symbol[where] = strings[part.symbol]
        self.reason[where] = part.reason
        self._function_count += len(owner)
        self._frame_count += len(part.frame_function)

    def finish(self) -> Chains:
        """All of it as columns, with each function and frame once."""
        functions, function_of = distinct_rows(self._functions)
        raw = np.concatenate([np.zeros((0, 4), dtype=np.uint32), *self._frames])
        raw[:, 0] = function_of[raw[:, 0]]
        frames, frame_of = distinct_rows([raw])
        offsets = np.zeros(len(self._addresses) + 1, dtype=np.int64)
        np.cumsum(self._length, out=offsets[1:])
        bases = np.cumsum([0, *(len(chain) for chain in self._chains)])
        everything = np.concatenate([np.zeros(0, dtype=np.uint32), *self._chains])
        start = self._start + bases[self._part]
        rows = np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], self._length)
        return Chains(
            strings=list(self._strings),
            function_name=functions[:, 0].copy(),
            function_object=functions[:, 1].copy(),
            function_file=functions[:, 2].copy(),
            function_line=functions[:, 3].copy(),
            frame_function=frames[:, 0].copy(),
            frame_inlined=frames[:, 1].astype(np.bool_),
            frame_file=frames[:, 2].copy(),
            frame_line=frames[:, 3].copy(),
            offsets=offsets.astype(np.uint32),
            frames=frame_of[everything[rows]],
            symbol=self._symbol,
            reason=self.reason,
            address=self._addresses,
            reasons=reasons(),
            blind=sorted(name for name, known in self._inlines.items() if not known),
            unread=[f"{name}: {why}" for name, why in self._unread.items()],
        )


def distinct_rows(parts: list[NDArray[np.uint32]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Distinct rows in the order of first appearance, and for each row its new index."""
    rows = np.concatenate([np.zeros((0, 4), dtype=np.uint32), *parts])
    known: dict[bytes, int] = {}
    data, width = np.ascontiguousarray(rows).tobytes(), 16
    index = [
        known.setdefault(data[at : at + width], len(known)) for at in range(0, len(data), width)
    ]
    distinct = np.frombuffer(b"".join(known), dtype=np.uint32).reshape(-1, 4)
    return distinct, np.array(index, dtype=np.uint32)
