"""The functions of a comparison on one of its kernels, as code: their instructions in all places
where they are."""

from collections.abc import Collection, Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import fold
from profdiff.profile.kept_code import ACCESSES, CODE, Known, architecture_of
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization._native import Kallsyms
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.kernel_code import KernelCode
from profdiff.symbolization.places import KERNEL_HALF, among, distinct

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


class KernelFunctions:
    """``kernel``: its number. ``session``: where its code is kept; without one, only what executed
    is known. What is read is read once."""

    def __init__(self, comparison: Comparison, kernel: int, session: Session | None) -> None:
        self._comparison = comparison
        self._kernel = kernel
        self._session = session

    @cached_property
    def parts(self) -> list[PickedCounts]:
        """The counts of the picked run."""
        return picked_counts(self._comparison, self._kernel)

    @cached_property
    def known(self) -> Known[KernelCode]:
        """The code of the kernel's functions that executed. Raises InputError, SessionError."""
        if self._session is None or not self.parts:
            return Known(None, "no session keeps it")
        return CODE.known(self._session, self._run, self.parts[0].addresses)

    @cached_property
    def accesses(self) -> DataAccesses | None:
        """What its instructions that executed access, if the session keeps it: to find that out
        takes seconds. Raises SessionError."""
        if self._session is None or not self.parts:
            return None
        return ACCESSES.kept(self._session, self._run, self.parts[0].addresses)

    @property
    def architecture(self) -> str:
        """The name of its architecture."""
        return self.known.part.architecture if self.known.part else architecture_of(self._run)

    def places(self, function: int) -> set[Place]:
        """Where something of a function executed; functions are rows of the comparison."""
        found: set[Place] = set()
        for part in self.parts:
            rows = np.flatnonzero((part.function == function) & part.ran)
            found.update(places_of(part.functions, rows))
        return found

    def code(self, function: int, wanted: Collection[Place]) -> FunctionCode:
        """A function's instructions at the places that are ``wanted``: those that executed, and
        around them those that are known."""
        known = self._known(function, wanted)
        pieces = [self._executed(part, function, wanted, known) for part in self.parts]
        if known is not None:
            pieces.append(known.only(~self._overlapping(known)))
        return joined(pieces)

    def named(self, reference: NDArray[np.uint64]) -> list[tuple[str, int]]:
        """The symbol of each address that the kernel's code refers to, and how many bytes it is
        behind it; "" where no symbol is known."""
        if self.known.part is not None:
            return _looked_up(self.known.part, reference)
        names, number, offset = self._kallsyms.nearest(reference)
        return [(names[n], far) for n, far in zip(number.tolist(), offset.tolist(), strict=True)]

    @cached_property
    def _run(self) -> Run:
        """The run that the numbers are of."""
        label = self._comparison.kernels[self._kernel].label
        runs = [run for run in self._comparison.runs if run.kernel == label]
        return runs[self._comparison.picked[self._kernel]]

    @cached_property
    def _kallsyms(self) -> Kallsyms:
        found = self._session and self._session.read(self._run, "kallsyms")
        return Kallsyms(found or b"")

    @cached_property
    def _stretches(self) -> tuple[ChainFunctions, NDArray[np.int64]] | None:
        """The functions of the known code's stretches, and the row of each one's innermost."""
        code = self.known.part
        if code is None:
            return None
        functions = ChainFunctions.of(code.chains, np.ones(len(code.chains), np.bool_))
        known = self._comparison.numbers[self._kernel]
        rows = np.array([known.get(function, -1) for function in functions.functions], np.int64)
        rows[rows >= len(self._comparison.functions)] = -1
        return functions, rows[functions.frames[functions.offsets[1:].astype(np.int64) - 1]]

    @cached_property
    def _ran(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Where the kernel's instructions that executed begin, sorted, and end."""
        parts = self.parts
        start = np.concatenate([part.addresses.places.address[part.ran] for part in parts])
        length = np.concatenate([part.addresses.executed[part.ran, 0] for part in parts])
        kernel = start >= KERNEL_HALF
        start, end = start[kernel], start[kernel] + np.maximum(length[kernel], 1)
        order = np.argsort(start, kind="stable")
        return start[order], end[order]

    def _known(self, function: int, wanted: Collection[Place]) -> Piece | None:
        """All instructions of the function that are known, whether they executed or not."""
        code, stretches = self.known.part, self._stretches
        if code is None or stretches is None:
            return None
        functions, innermost = stretches
        mine = np.flatnonzero(innermost == function)
        there = [place in wanted for place in places_of(functions, mine)]
        mine = mine[np.array(there, np.bool_)]
        ranges = distinct(code.ranges_of(code.chains.address[mine]))
        every = code.instructions(ranges)
        own = among(every.stretch, mine)
        number = int(own.sum())
        sampled = any(part.samples is not None for part in self.parts)
        jumps = all(part.taken is not None for part in self.parts)
        told = all(part.untold is not None for part in self.parts)
        return Piece(
            chains=code.chains,
            functions=functions,
            chain=every.stretch[own],
            address=every.address[own],
            code=every.code[own],
            count=np.zeros(number, np.int64),
            samples=np.zeros(number, np.int64) if sampled else None,
            taken=np.zeros(number, np.int64) if jumps else None,
            untold=np.zeros(number, np.int64) if told else None,
        )

    def _executed(
        self, part: PickedCounts, function: int, wanted: Collection[Place], known: Piece | None
    ) -> Piece:
        rows = np.flatnonzero((part.function == function) & part.ran)
        there = [place in wanted for place in places_of(part.functions, rows)]
        rows = rows[np.array(there, np.bool_)]
        addresses = part.addresses
        code, address = addresses.executed[rows].copy(), addresses.places.address[rows]
        unseen = np.flatnonzero(code[:, 0] == 0)
        if known is not None and len(known.address):
            # Samples are of addresses alone.
            order = np.argsort(known.address)
            at = np.searchsorted(known.address, address[unseen], sorter=order)
            at = order[np.minimum(at, len(order) - 1)]
            same = known.address[at] == address[unseen]
            code[unseen[same]] = known.code[at[same]]
        return Piece(
            chains=addresses.chains,
            functions=part.functions,
            chain=rows,
            address=address,
            code=code,
            count=part.sign * part.count[rows],
            samples=None if part.samples is None else part.samples[rows],
            taken=None if part.taken is None else part.sign * part.taken[rows],
            untold=None if part.untold is None else part.sign * part.untold[rows],
        )

    def _overlapping(self, known: Piece) -> NDArray[np.bool_]:
        """bool[N]: what shares bytes with something that executed."""
        start, end = self._ran
        if not len(start):
            return np.zeros(len(known.address), np.bool_)
        behind = known.address + known.code[:, 0]
        before = np.searchsorted(start, behind) - 1
        return (before >= 0) & (end[before] > known.address)


def _looked_up(code: KernelCode, reference: NDArray[np.uint64]) -> list[tuple[str, int]]:
    if not len(code.reference):
        return [("", 0)] * len(reference)
    row = np.minimum(np.searchsorted(code.reference, reference), len(code.reference) - 1)
    known = code.reference[row] == reference
    number, offset = code.reference_name[row].tolist(), code.reference_offset[row].tolist()
    return [
        (code.names[n], far) if there else ("", 0)
        for n, far, there in zip(number, offset, known.tolist(), strict=True)
    ]
