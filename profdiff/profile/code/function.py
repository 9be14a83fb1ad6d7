"""The instructions of a function on one kernel, in all places where it is."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.function_identity import fold
from profdiff.symbolization.chains import Chains

#: The names of the functions from the physical one to the innermost.
Place = tuple[str, ...]


class FunctionCode(msgspec.Struct, frozen=True):
    """N instructions of a function on one kernel: by place, parts that the compiler moved away
    (``.cold``) behind the others, by address.

    ``place``: row of ``places``. ``address``: uint64[N], avma. ``code``: uint8[N, 16], length and
    bytes: what executed, or else what the debug ELF has; zeros where nothing tells. ``count``:
    int64[N]; ``samples``: int64[N], None for exact counts; ``taken``: int64[N], how often a
    conditional branch jumped, None where that was not recorded; ``untold``: int64[N], of how many
    of its executions it is not known. ``file`` and ``symbol``: rows of ``strings``; ``line``:
    int64[N], 0 if unknown.
    """

    places: list[Place]
    place: NDArray[np.int64]
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    taken: NDArray[np.int64] | None
    untold: NDArray[np.int64] | None
    strings: list[str]
    file: NDArray[np.int64]
    line: NDArray[np.int64]
    symbol: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.address)


class Piece(msgspec.Struct, frozen=True):
    """Some of the instructions, in any order. ``chain``: int64[N], their rows in ``chains``, of
    which ``functions`` is made."""

    chains: Chains
    functions: ChainFunctions
    chain: NDArray[np.int64]
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    taken: NDArray[np.int64] | None
    untold: NDArray[np.int64] | None

    def only(self, wanted: NDArray[np.bool_]) -> "Piece":
        """Those that are ``wanted``, bool[N]."""
        return Piece(
            self.chains,
            self.functions,
            self.chain[wanted],
            self.address[wanted],
            self.code[wanted],
            self.count[wanted],
            None if self.samples is None else self.samples[wanted],
            None if self.taken is None else self.taken[wanted],
            None if self.untold is None else self.untold[wanted],
        )


def places_of(functions: ChainFunctions, rows: NDArray[np.int64]) -> list[Place]:
    """The place of each of some rows of chains."""
    known: dict[bytes, Place] = {}
    found = []
    starts, ends = functions.offsets[rows].tolist(), functions.offsets[rows + 1].tolist()
    for start, end in zip(starts, ends, strict=True):
        frames = functions.frames[start:end]
        key = frames.tobytes()
        place = known.get(key)
        if place is None:
            place = tuple(functions.functions[number].name for number in frames.tolist())
            known[key] = place
        found.append(place)
    return found


def joined(pieces: Sequence[Piece]) -> FunctionCode:
    """Pieces of one function as its code. Instructions at one address with the same bytes are
    one."""
    strings, places = {"": 0}, dict[Place, int]()
    keys = np.concatenate([_keys(piece, strings, places) for piece in pieces])
    address = np.concatenate([piece.address for piece in pieces])
    code = np.concatenate([piece.code for piece in pieces])
    names = list(strings)
    moved = np.array([".cold" in fold(name)[1] for name in names], np.bool_)[keys["symbol"]]
    order = np.lexsort((address, moved, keys["place"]))
    keys, address, code = keys[order], address[order], code[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (address[1:] != address[:-1]) | (keys["place"][1:] != keys["place"][:-1])
    first[1:] |= (code[1:] != code[:-1]).any(axis=1)
    starts = np.flatnonzero(first)

    def summed(columns: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
        known = [column for column in columns if column is not None]
        if len(known) < len(columns):
            return None
        whole = np.concatenate(known)[order]
        result: NDArray[np.int64] = np.add.reduceat(whole, starts) if len(starts) else whole
        return result

    count = summed([piece.count for piece in pieces])
    assert count is not None  # noqa: S101  # every piece has one
    return FunctionCode(
        places=list(places),
        place=keys["place"][first],
        address=address[first],
        code=code[first],
        count=count,
        samples=summed([piece.samples for piece in pieces]),
        taken=summed([piece.taken for piece in pieces]),
        untold=summed([piece.untold for piece in pieces]),
        strings=names,
        file=keys["file"][first],
        line=keys["line"][first],
        symbol=keys["symbol"][first],
    )


_KEYS = np.dtype([(name, np.int64) for name in ("place", "file", "line", "symbol")])


def _keys(piece: Piece, strings: dict[str, int], places: dict[Place, int]) -> NDArray[np.void]:
    """Place, file, line and symbol of each instruction of a piece."""
    chains, rows = piece.chains, piece.chain
    found = np.empty(len(rows), _KEYS)
    where = places_of(piece.functions, rows)
    found["place"] = [places.setdefault(place, len(places)) for place in where]
    frame = chains.frames[chains.offsets[rows + 1].astype(np.int64) - 1]
    found["line"] = chains.frame_line[frame]
    for name, column in (("file", chains.frame_file[frame]), ("symbol", chains.symbol[rows])):
        used, inverse = np.unique(column, return_inverse=True)
        texts = [chains.strings[text] for text in used.tolist()]
        numbers = np.array([strings.setdefault(text, len(strings)) for text in texts], np.int64)
        found[name] = numbers[inverse] if len(numbers) else 0
    return found
