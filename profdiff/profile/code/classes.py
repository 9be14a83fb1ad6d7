"""What kind of instructions functions executed: exact sums over addresses by item.

An item counts instructions that executed, of which the recording holds the bytes: no model, and no
memory accesses (``rep movsb`` is one load, one store and one repeated instruction). A kind
(``invlpg``) is an item of one architecture. ``docs/inventory.md`` says what each is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import X86_64
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison, Side
from profdiff.session.manifest import Run
from profdiff.symbolization._native import Disassembly, classes, disassemble, flows
from profdiff.symbolization.places import CODE, distinct, rows_of


class Item(NamedTuple):
    """``about``: what its instructions do. ``costly``: few that cost more than others; ``kind``: of
    one architecture."""

    name: str
    about: str
    costly: bool = False
    kind: bool = False


class _Kind(NamedTuple):
    """``text``: a pattern of the operation, and of the operands of ``mov``."""

    name: str
    text: str
    about: str


_SERIALISES, _ORDERS, _OTHER = "serialises", "orders memory or execution", "changes processor state"
# By the names that QEMU has for architectures.
_KINDS: Mapping[str, tuple[_Kind, ...]] = {
    "x86_64": (
        _Kind("cpuid", "cpuid", _SERIALISES),
        _Kind("invlpg", "invlpg", _SERIALISES),
        _Kind("iret", r"iret[qlw]?", _SERIALISES),
        *(_Kind(f"mov-cr{n}", rf"mov .*,%cr{n}", _SERIALISES) for n in (0, 3, 4)),
        _Kind("mov-dr", r"mov .*,%(db|dr)\d+", _SERIALISES),
        _Kind("wrmsr", r"wrmsr\w*", _SERIALISES),
        _Kind("serialize", "serialize", _SERIALISES),
        _Kind("lfence", "lfence", _ORDERS),
        _Kind("mfence", "mfence", _ORDERS),
        _Kind("sfence", "sfence", _ORDERS),
        _Kind("pause", "pause", "waits in a loop"),
        _Kind("verw", "verw", "clears buffers of the processor"),
        _Kind("invpcid", "invpcid", "forgets translations"),
        _Kind("swapgs", "swapgs", _OTHER),
        _Kind("syscall", "syscall", "enters the kernel"),
        _Kind("sysret", r"sysret[ql]?", "returns to user space"),
        _Kind("rdmsr", "rdmsr", _OTHER),
        _Kind("cli-sti", "cli|sti", _OTHER),
        _Kind("popf", r"popf[qw]?", _OTHER),
        _Kind("clac-stac", "clac|stac", _OTHER),
        _Kind("xsave-xrstor", r"(xsave|xrstor)\w*", _OTHER),
        _Kind("rdtsc", "rdtscp?", "reads the clock"),
    ),
    "aarch64": (
        _Kind("dsb", "dsb", _SERIALISES),
        _Kind("isb", "isb", _SERIALISES),
        _Kind("eret", r"eret\w*", _SERIALISES),
        _Kind("dmb", "dmb", _ORDERS),
        _Kind("sb", "sb", _ORDERS),
        _Kind("tlbi", "tlbi", "forgets translations"),
        _Kind("cache-maintenance", "dc|ic", "works on caches"),
        _Kind("dc-zva", "dc zva,.*", "clears a block of memory"),
        _Kind("msr", "msr", _OTHER),
        _Kind("mrs", "mrs", "reads processor state"),
        _Kind("svc", "svc", "enters the kernel"),
        _Kind("pointer-authentication", r"(pac|aut)\w+|(ret|b|bl)r?a[ab]z?", "signs, or checks"),
        _Kind("wait", "wfe|wfi|yield", "waits"),
    ),
    "riscv64": (
        _Kind("fence-i", r"fence\.i", _SERIALISES),
        _Kind("sfence-vma", r"sfence\.vma", _SERIALISES),
        _Kind("sret", "sret", _SERIALISES),
        _Kind("fence", r"fence(\.tso)?", _ORDERS),
        _Kind("csr", r"csr\w+|fs?[cr]\w*csr", "reads or writes processor state"),
        _Kind("ecall", "ecall", "enters the kernel"),
        _Kind("wfi", "wfi", "waits"),
    ),
}


def _kind_items() -> dict[str, Item]:
    every = (kind for kinds in _KINDS.values() for kind in kinds)
    return {kind.name: Item(kind.name, kind.about, costly=True, kind=True) for kind in every}


TAKEN, NOT_TAKEN, TAKEN_JUMPS = "taken", "not-taken", "taken-jumps"
ITERATIONS, BYTES = "rep-iterations", "rep-bytes"
_CALLED = "calls what a register or memory names"
#: All items by name, in the order in which tables show them.
ITEMS = {
    item.name: item
    for item in (
        Item("returns", "leaves a function", costly=True),
        Item("indirect-calls", _CALLED, costly=True),
        Item("indirect-jumps", "jumps to where a register or memory says", costly=True),
        Item("locked", "changes memory atomically", costly=True),
        Item("divisions", "divides", costly=True),
        Item("serialising", "waits until all before it is done", costly=True),
        *_kind_items().values(),
        Item("privileged", "faults in user mode", costly=True),
        Item("repeated", "repeats a string operation, counted once", costly=True),
        Item(ITERATIONS, "what repeated string operations repeated"),
        Item(BYTES, "what they read, wrote or compared"),
        Item("direct-calls", "calls a function that it names"),
        Item("conditional", "jumps or not"),
        Item(TAKEN, "of these, jumped"),
        Item(NOT_TAKEN, "of these, did not"),
        Item("jumps", "jumps always, to where it names"),
        Item(TAKEN_JUMPS, "all jumps but calls and returns that were taken"),
        Item("loads", "reads memory"),
        Item("stores", "writes memory"),
        Item("vector", "works with vector registers"),
    )
}
CLASSES = tuple(ITEMS)
# Items by the decoder's names of classes and flows.
_OF_CLASS = {
    "load": "loads",
    "store": "stores",
    "locked": "locked",
    "serialising": "serialising",
    "privileged": "privileged",
    "division": "divisions",
    "repeated": "repeated",
    "call": "direct-calls",
    "indirect-call": "indirect-calls",
    "indirect-jump": "indirect-jumps",
    "conditional": "conditional",
    "vector": "vector",
}
_OPERANDS = {"mov": re.compile("%[cd][rb]"), "dc": re.compile("^zva,")}
_OF_FLOW = {"return": "returns", "jump": "jumps"}


def item_definitions() -> str:
    """How the items are told, as text."""
    return repr((_KINDS, _OF_CLASS, _OPERANDS, _OF_FLOW))


class InstructionClasses(msgspec.Struct, frozen=True):
    """The items in one comparison with F functions, U that stand for unresolved ones, K kernels
    and R runs.

    ``names``: C of ``CLASSES``; ``taken`` and ``not-taken`` are those of conditional branches, but
    for those of which it is not known. What some recording says nothing of is missing, and so are
    kinds of other architectures.
    ``run_counts``: int64[F + U + 2, C, R], how many instructions of each item ran in a function
    itself; the last two rows are of functions of the kernel and of user space of which two lengths
    executed the same number, which the comparison does not have. ``counts``: int64[F + U + 2, C,
    K], of the runs that stand for the kernels. ``in_kernel``: bool[F + U + 2]. An instruction can
    be of several items or of none. ``unseen``: int64[K], executed instructions whose bytes were
    not recorded, which are in no item.
    """

    names: tuple[str, ...]
    run_counts: NDArray[np.int64]
    counts: NDArray[np.int64]
    in_kernel: NDArray[np.bool_]
    unseen: NDArray[np.int64]

    def rows(self, side: Side | None = None) -> NDArray[np.int64]:
        """The rows of the kernel, of user space, or all."""
        if side is None:
            return np.arange(len(self.in_kernel))
        return np.flatnonzero(self.in_kernel == (side == "kernel"))


def class_names(comparison: Comparison) -> tuple[str, ...]:
    """Those of ``CLASSES`` that a comparison can tell; none where its counts are not exact, so that
    executed bytes are not known."""
    every = comparison.addresses
    if not comparison.metric.exact or not every or any(len(one) != 1 for one in every):
        return ()
    return _names([addresses for (addresses,) in every], architecture(comparison.runs))


def _names(every: Sequence[Addresses], architecture: str) -> tuple[str, ...]:
    unknown = {*_kind_items()} - {kind.name for kind in _KINDS.get(architecture, ())}
    if any(one.taken is None or one.untold is None for one in every):
        unknown |= {TAKEN, NOT_TAKEN, TAKEN_JUMPS}
    if any(one.iterations is None for one in every):
        unknown |= {ITERATIONS, BYTES}
    return tuple(name for name in CLASSES if name not in unknown)


def item_counts(addresses: Addresses, architecture: str) -> dict[str, NDArray[np.int64]]:
    """By item, int64[R]: how often it ran in each run of a kernel; nothing where no bytes were
    recorded."""
    if not addresses.executed[:, 0].any():
        return {}
    own = np.ascontiguousarray(addresses.executed).view(CODE).reshape(-1)
    unique = distinct(own)
    of_code, code, counts = _Decoded(unique, architecture), rows_of(unique, own), addresses.counts
    return {
        name: of_code.values(name, code, counts[:, :, 0], addresses)[1].sum(axis=0)
        for name in _names([addresses], architecture)
    }


def instruction_classes(comparison: Comparison) -> InstructionClasses | None:
    """The sums; None where there are no names."""
    names = class_names(comparison)
    if not names:
        return None
    every = [addresses for (addresses,) in comparison.addresses]
    codes = [np.ascontiguousarray(one.executed).view(CODE).reshape(-1) for one in every]
    unique = distinct(np.concatenate(codes))
    of_code = _Decoded(unique, architecture(comparison.runs))
    known = [*comparison.functions, *comparison.unnamed]
    in_kernel = np.array([*(one.in_kernel for one in known), True, False])
    sums, unseen = [], []
    for kernel, (addresses, own) in enumerate(zip(every, codes, strict=True)):
        counts = addresses.counts[:, :, addresses.metrics.index(comparison.metric)]
        where, code = _functions(comparison, kernel, addresses), rows_of(unique, own)
        result = np.zeros((len(in_kernel), len(names), counts.shape[1]), np.int64)
        for column, name in enumerate(names):
            places, values = of_code.values(name, code, counts, addresses)
            np.add.at(result[:, column], where[places], values)
        sums.append(result)
        unseen.append(int(counts[addresses.executed[:, 0] == 0, comparison.picked[kernel]].sum()))
    return InstructionClasses(
        names=names,
        run_counts=np.concatenate(sums, axis=2),
        counts=np.stack([one[:, :, comparison.picked[k]] for k, one in enumerate(sums)], axis=2),
        in_kernel=in_kernel,
        unseen=np.array(unseen, np.int64),
    )


def _known(column: NDArray[np.int64] | None, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A column of addresses; zeros where it is not known, so that no name asks for it."""
    return np.zeros_like(counts) if column is None else column


def architecture(runs: Sequence[Run]) -> str:
    """What the code is: what the runs say, or that of most recordings."""
    known = (run.qemu.architecture for run in runs if run.qemu)
    return next(filter(None, known), X86_64.name)


class _Decoded:
    """Which items N distinct instructions, V16[N], belong to; none where no bytes were seen."""

    def __init__(self, codes: NDArray[np.void], architecture: str) -> None:
        code = codes.view(np.uint8).reshape(-1, 16)
        seen = np.flatnonzero(code[:, 0])
        # Items do not depend on the address.
        nowhere = np.zeros(len(seen), np.uint64)
        decoded = disassemble(architecture, nowhere, np.ascontiguousarray(code[seen]))
        self._is: dict[str, NDArray[np.bool_]] = {}

        def add(name: str, which: NDArray[np.bool_]) -> None:
            self._is[name] = np.zeros(len(code), np.bool_)
            self._is[name][seen] = which

        for bit, name in enumerate(classes()):
            add(_OF_CLASS[name], (decoded.classes >> np.uint32(bit) & 1).astype(np.bool_))
        for number, name in enumerate(flows()):
            if name in _OF_FLOW:
                add(_OF_FLOW[name], decoded.flow == number)
        kinds = _KINDS.get(architecture, ())
        of_kind = _kind_numbers(decoded, kinds)
        for number, kind in enumerate(kinds):
            add(kind.name, of_kind == number)
        self._sizes = _element_sizes(code)

    def values(
        self,
        name: str,
        codes: NDArray[np.intp],
        counts: NDArray[np.int64],
        addresses: Addresses,
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The places that have an item, and int64[P, R], how many. ``codes``: of each place;
        ``counts``: of it in R runs."""
        if name in (ITERATIONS, BYTES):
            places = np.flatnonzero(self._is["repeated"][codes])
            sizes = self._sizes[codes[places], None] if name == BYTES else 1
            return places, _known(addresses.iterations, counts)[places] * sizes
        if name in self._is:
            places = np.flatnonzero(self._is[name][codes])
            return places, counts[places]
        places = np.flatnonzero(self._is["conditional"][codes])
        branches = addresses.taken, addresses.untold
        taken, unknown = (_known(column, counts)[places] for column in branches)
        if name == TAKEN:
            return places, taken
        if name == NOT_TAKEN:
            return places, counts[places] - taken - unknown
        always = np.flatnonzero((self._is["jumps"] | self._is["indirect-jumps"])[codes])
        return np.concatenate([places, always]), np.concatenate([taken, counts[always]])


def _kind_numbers(decoded: Disassembly, kinds: Sequence[_Kind]) -> NDArray[np.int64]:
    """int64[N]: of which kind each instruction is, -1 for none."""
    strings = decoded.strings
    of_string = np.full(len(strings), -1, np.int64)
    for operation in np.unique(decoded.operation).tolist():
        of_string[operation] = _kind_number(strings[operation], kinds)
    result = of_string[decoded.operation]
    for operation, pattern in _OPERANDS.items():
        known = strings.index(operation) if operation in strings else -1
        for row in np.flatnonzero(decoded.operation == known).tolist():
            operands = strings[decoded.operands[row]]
            if pattern.search(operands):
                result[row] = _kind_number(f"{operation} {operands}", kinds)
    return result


def _kind_number(text: str, kinds: Sequence[_Kind]) -> int:
    return next((n for n, kind in enumerate(kinds) if re.fullmatch(kind.text, text)), -1)


def _element_sizes(code: NDArray[np.uint8]) -> NDArray[np.int64]:
    """int64[N]: how many bytes one iteration of a repeated x86-64 instruction works on: its opcode
    is the last byte, and even where that is 1."""
    rows = np.arange(len(code))
    length = code[:, 0].astype(np.int64)
    opcode, before = code[rows, length], code[rows, np.maximum(length - 1, 1)]
    # INS and OUTS ignore REX.W.
    wide = (before & 0xF8 == 0x48) & (opcode > 0x6F)
    short = (code[:, 1:4] == 0x66).any(axis=1)
    size = np.where(wide, 8, np.where(short, 2, 4))
    return np.where(opcode & 1 == 0, 1, size).astype(np.int64)


def _functions(comparison: Comparison, kernel: int, addresses: Addresses) -> NDArray[np.int64]:
    """int64[N]: the row of the innermost function of each place."""
    functions = addresses.functions
    number = comparison.numbers[kernel]
    rest = len(comparison.functions) + len(comparison.unnamed)
    rows = [
        number.get(function, rest + (not function.in_kernel)) for function in functions.functions
    ]
    leaf = functions.frames[functions.offsets[1:].astype(np.int64) - 1]
    return np.array(rows, np.int64)[leaf]
