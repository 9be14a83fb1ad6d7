"""Which instructions of a function's kernels belong together: by place, then in order; as text."""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.kernel_functions import FunctionCode, Place
from profdiff.profile.function_identity import fold
from profdiff.symbolization._native import align, classes, disassemble, flows
from profdiff.symbolization.places import among

_FLOWS = flows()
_CONDITIONAL = _FLOWS.index("conditional")
_JUMPS = (_CONDITIONAL, _FLOWS.index("jump"))
# After these the next instruction still belongs to the block.
_WITHIN = ("next", "call", "indirect-call")
_LEADS = np.array([number in _JUMPS for number in range(len(_FLOWS))], np.bool_)
_STAYS = np.array([name in _WITHIN for name in _FLOWS], np.bool_)
_CLASSES = classes()


class DecodedCode(msgspec.Struct, frozen=True):
    """N instructions. ``text``: as objdump prints them, addresses as symbol+offset. ``key``: what
    is equal where two instructions do the same: operation, operands with registers as their kinds,
    and what they refer to outside of the function. ``target``: where a direct jump leads, 0: no
    such. ``conditional`` and ``starts_block``: bool[N]. ``classes``: what kind each is of."""

    text: list[str]
    operation: list[str]
    key: list[tuple[str, str, str]]
    target: NDArray[np.uint64]
    conditional: NDArray[np.bool_]
    starts_block: NDArray[np.bool_]
    classes: list[list[str]]


class Symbols(Protocol):
    """What names the addresses that code refers to: a kernel, or a file."""

    @property
    def architecture(self) -> str:
        """The name of its architecture."""

    def named(self, reference: NDArray[np.uint64]) -> list[tuple[str, int]]:
        """The symbol of each address and how many bytes it is behind it; "": none is known."""


def decoded(kernel: Symbols, code: FunctionCode) -> DecodedCode:
    """The instructions of a function of a kernel."""
    found = disassemble(kernel.architecture, code.address, code.code)
    strings = found.strings
    distinct, where = np.unique(found.reference, return_inverse=True)
    named = kernel.named(distinct)
    ends = [fold(name)[0] for name, _ in named]
    own = [fold(name)[0] for name in code.strings]
    texts, keys, operations = [], [], []
    columns = zip(
        found.operation.tolist(),
        found.operands.tolist(),
        found.reference.tolist(),
        found.shape.tolist(),
        found.flow.tolist(),
        where.tolist(),
        code.symbol.tolist(),
        code.code[:, 0].tolist(),
        strict=True,
    )
    for operation, operands, reference, shape, flow, at, symbol, length in columns:
        operator, text = strings[operation], strings[operands]
        operations.append(operator)
        refers = ""
        if not length:
            operator = text = ""
        elif reference:
            name, offset = named[at]
            if name:
                told = f"{name}+{offset:#x}" if offset else name
                text = text.replace(f"{reference:#x}", told)
                inside = flow in _JUMPS and ends[at] == own[symbol]
                refers = "" if inside else f"{ends[at]}+{offset:#x}"
        keys.append((operator, strings[shape], refers))
        texts.append(f"{operator} {text}".rstrip() if length else "")
    jumps = _LEADS[found.flow]
    target = np.where(jumps, found.reference, np.uint64(0))
    return DecodedCode(
        text=texts,
        operation=operations,
        key=keys,
        target=target,
        conditional=found.flow == _CONDITIONAL,
        starts_block=_starts(code, found.flow, target),
        classes=[_named(kinds) for kinds in found.classes.tolist()],
    )


def _starts(
    code: FunctionCode, flow: NDArray[np.uint8], target: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Where basic blocks begin, as far as the function's own code tells."""
    starts = among(code.address, target)
    if len(starts):
        starts[0] = True
        starts[1:] |= ~_STAYS[flow[:-1]]
        behind = code.address[:-1] + code.code[:-1, 0]
        starts[1:] |= code.address[1:] != behind
    return starts


def _named(kinds: int) -> list[str]:
    return [name for bit, name in enumerate(_CLASSES) if kinds >> bit & 1]


# The kind of pairs that stand elsewhere in the order.
_MOVED = 2


class KernelSide(msgspec.Struct, frozen=True):
    """A function on one kernel. ``line``: int64[N], a number that is the same for instructions of
    kernels that may be of one source line, 0: unknown."""

    code: FunctionCode
    decoded: DecodedCode
    line: NDArray[np.int64]


class AlignedPlace(msgspec.Struct, frozen=True):
    """A place where some kernels have the function. ``chains``: by kernel, None where it has not.
    ``rows``: int64[R, K], instructions by kernel that belong together, -1: none; each instruction
    of the place is in one row."""

    chains: list[Place | None]
    rows: NDArray[np.int64]


def aligned(sides: Sequence[KernelSide]) -> list[AlignedPlace]:
    """The places of a function on K kernels, those with the largest counts first."""
    groups = paired_places([_weights(side.code) for side in sides])
    keys = _numbers(sides)
    found = []
    for chains in groups:
        members = [
            np.flatnonzero(side.code.place == side.code.places.index(chain))
            if chain is not None and chain in side.code.places
            else np.empty(0, np.int64)
            for side, chain in zip(sides, chains, strict=True)
        ]
        found.append(AlignedPlace(chains, _rows(members, keys)))
    return found


def paired_places(kernels: Sequence[dict[Place, int]]) -> list[list[Place | None]]:
    """Places by kernel that belong together, the largest first; ``kernels``: what each place costs.

    Equal chains of names are one place. What is left is paired with what another kernel has left in
    the same physical function, then with anything that executed, largest with largest: a caller
    that was renamed, or a function that is inlined one level deeper.
    """
    names = list(dict.fromkeys(place for places in kernels for place in places))
    groups: list[list[Place | None]] = [
        [name if name in places else None for places in kernels] for name in names
    ]

    def cost(group: list[Place | None]) -> int:
        pairs = zip(group, kernels, strict=True)
        return max((abs(places[one]) for one, places in pairs if one is not None), default=0)

    for same in (True, False):
        groups.sort(key=lambda group: (-cost(group), _first(group)))
        # Code of another function that nothing executed is not what this one was.
        able = [group for group in groups if same or cost(group)]
        rest = [group for group in groups if not (same or cost(group))]
        groups = [*_merged_groups(able, same), *rest]
    return sorted(groups, key=lambda group: (-cost(group), _first(group)))


def _merged_groups(groups: Sequence[list[Place | None]], same: bool) -> list[list[Place | None]]:
    """Each group with the first one before it that it fits: no kernel has both; and, where ``same``
    matters, both are in one physical function."""
    merged: list[list[Place | None]] = []
    # Numbers of groups that lack kernels, as heaps: by physical function, and by what they have.
    # A function may be inlined in a thousand places.
    waiting: dict[str, dict[tuple[bool, ...], list[int]]] = {}
    for group in groups:
        of_root = waiting.setdefault(_first(group)[0] if same else "", {})
        having = _having(group)
        fits = [
            heap
            for other, heap in of_root.items()
            if heap and not any(a and b for a, b in zip(having, other, strict=True))
        ]
        if fits:
            number = heappop(min(fits))
            partner = merged[number]
            partner[:] = [a or b for a, b in zip(partner, group, strict=True)]
            having = _having(partner)
        else:
            number = len(merged)
            merged.append(group)
        if not all(having):
            heappush(of_root.setdefault(having, []), number)
    return merged


def _having(group: Sequence[Place | None]) -> tuple[bool, ...]:
    return tuple(one is not None for one in group)


def _first(group: list[Place | None]) -> Place:
    return next(place for place in group if place is not None)


def _weights(code: FunctionCode) -> dict[Place, int]:
    cost = np.zeros(len(code.places), np.int64)
    np.add.at(cost, code.place, code.count)
    return dict(zip(code.places, cost.tolist(), strict=True))


def _numbers(sides: Sequence[KernelSide]) -> list[NDArray[np.uint32]]:
    """uint32[N, 5] of each side, as ``align`` takes them; the order of the sides does not matter to
    how they compare."""
    keys = sorted({key for side in sides for key in side.decoded.key})
    operations = sorted({name for side in sides for name in side.decoded.operation})
    key_of = {key: number for number, key in enumerate(keys)}
    operation_of = {name: number for number, name in enumerate(operations)}
    return [
        np.stack(
            [
                np.array([key_of[key] for key in side.decoded.key], np.uint32),
                np.array([operation_of[name] for name in side.decoded.operation], np.uint32),
                side.line.astype(np.uint32),
                side.decoded.starts_block.astype(np.uint32),
                (side.code.count != 0).astype(np.uint32),
            ],
            axis=1,
        )
        for side in sides
    ]


def _rows(
    members: Sequence[NDArray[np.int64]], keys: Sequence[NDArray[np.uint32]]
) -> NDArray[np.int64]:
    """Kernel after kernel, each aligned with what the ones before have become."""
    rows = np.full((0, len(members)), -1, np.int64)
    # What each row does, on the last kernel that has it.
    does = np.empty((0, 5), np.uint32)
    for kernel, (mine, numbers) in enumerate(zip(members, keys, strict=True)):
        own = np.ascontiguousarray(numbers[mine])
        rows, does = _merged(rows, does, mine, own, kernel)
    return rows


def _merged(
    rows: NDArray[np.int64],
    does: NDArray[np.uint32],
    mine: NDArray[np.int64],
    own: NDArray[np.uint32],
    kernel: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Rows with the instructions of one more kernel. Those without a partner stand before the row
    of the next one that has one in order."""
    old, new, kind = align(does, own)
    rows, does = rows.copy(), does.copy()
    rows[old, kernel] = mine[new]
    does[old] = own[new]
    alone = np.ones(len(mine), np.bool_)
    alone[new] = False
    in_order = kind != _MOVED
    # The row before which each would stand.
    before = np.full(len(mine) + 1, len(rows), np.int64)
    before[new[in_order]] = old[in_order]
    before = np.minimum.accumulate(before[::-1])[::-1][:-1]
    more = np.full((int(alone.sum()), rows.shape[1]), -1, np.int64)
    more[:, kernel] = mine[alone]
    # Rows that stay are at odd places, new ones at the even place before.
    place = np.concatenate([np.arange(len(rows)) * 2 + 1, before[alone] * 2])
    order = np.argsort(place, kind="stable")
    return np.concatenate([rows, more])[order], np.concatenate([does, own[alone]])[order]
