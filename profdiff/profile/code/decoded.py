"""A function's instructions on one kernel as text, and what alignment compares of them."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.function import FunctionCode
from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.function_identity import fold
from profdiff.symbolization._native import classes, disassemble, flows
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


def decoded(kernel: KernelFunctions, code: FunctionCode) -> DecodedCode:
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
