"""Probes: values of a function's variable in each call, which the plugin reads where the function
begins, or of what it returns. Debug information says what holds the variable there."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.probe.entry import ProbedVariable
from profdiff.symbolization._native import NativeError, probed

MOST = 16
"""How many probes a recording may have."""
# A place that execution never comes to: of a kernel that has none.
_NOWHERE = "0:nothing::0:u8"
# An argument of QEMU has at most 128 KiB.
_MOST_PLACES = 1500
_MOST_BYTES = 16 << 20
# By DWARF's numbers, what gdb calls them (System V ABI for x86-64, 3.6.2; AADWARF64, 4.1; RISC-V
# DWARF specification), and how far the frame's address is from the stack pointer of a call.
_X86 = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)))
_ARM = (*(f"x{n}" for n in range(31)), "sp")
_RISCV = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
)
_REGISTERS = {"x86_64": (_X86, "rsp", 8), "aarch64": (_ARM, "sp", 0), "riscv64": (_RISCV, "sp", 0)}


class Begin(NamedTuple):
    """Where a function begins: in its own code, or ``within`` another function. ``why`` nothing
    holds the variable there, "" where something does; ``argument``: the plugin's, without the
    probe's number."""

    address: int
    within: str
    why: str
    argument: str


class Places(NamedTuple):
    """Where a function begins in a kernel, and whether the kernel has it, and the variable.
    ``variables``: names of those that the function has."""

    begins: Sequence[Begin]
    has_function: bool
    has_variable: bool
    variables: Sequence[str]


def places(kernel: KernelFiles, architecture: str, probe: ProbedVariable) -> Places:
    """Where the function begins in a kernel. Raises InputError."""
    if kernel.debug_elf is None:
        raise InputError(f"--probe: {kernel.label} has no debug ELF: name IMAGE,vmlinux=ELF")
    return _places(kernel.debug_elf, architecture, probe)


@cache
def _places(elf: Path, architecture: str, probe: ProbedVariable) -> Places:
    try:
        found = probed(str(elf), architecture, *probe)
    except NativeError as error:
        raise InputError(str(error)) from error
    if found is None:
        raise InputError(f"--probe: {elf} has no debug information")
    rows, has_function, has_variable, variables = found
    begins = [_begin(row, architecture, probe) for row in rows[:_MOST_PLACES]]
    return Places(begins, has_function, has_variable, variables)


def _begin(
    row: tuple[int, str, str, int, int, str, int, bool], architecture: str, probe: ProbedVariable
) -> Begin:
    address, within, how, number_of_register, number, why, size, signed = row
    _, stack, behind = _REGISTERS[architecture]
    named = register(number_of_register, architecture)
    if how == "frame" and within == probe.function:
        how, named, number = "memory", stack, number + behind
    elif how == "frame":
        how, why = "nothing", "it is in the frame of another function"
    elif how in ("value", "memory", "return") and not named:
        how, why = "nothing", "it is in a register that holds no integer"
    kind = f"{'s' if signed else 'u'}{size or 8}"
    return Begin(address, within, why, f"{address:x}:{how}:{named}:{number}:{kind}")


def register(number: int, architecture: str) -> str:
    """What gdb calls the register that has a number in DWARF; "" for one that holds no integer."""
    names, _, _ = _REGISTERS[architecture]
    return names[number] if number < len(names) else ""


def arguments(kernel: KernelFiles, architecture: str, wanted: Iterable[str]) -> str:
    """The plugin's, each with a comma before it. Raises InputError."""
    found = []
    for number, probe in enumerate(map(ProbedVariable.parse, wanted)):
        one = places(kernel, architecture, probe)
        begins = [begin.argument for begin in one.begins if one.has_variable]
        found += [f",probe={number}:{argument}" for argument in begins or [_NOWHERE]]
    return "".join(found)


def refuse(kernels: Sequence[KernelFiles], architecture: str, wanted: Sequence[str]) -> None:
    """Raise InputError where a probe can be read on none of these kernels."""
    if len(wanted) > MOST:
        raise InputError(f"--probe: at most {MOST} of them")
    for probe in map(ProbedVariable.parse, wanted):
        every = {kernel.label: places(kernel, architecture, probe) for kernel in kernels}
        having = {label: one for label, one in every.items() if one.has_function}
        if not having:
            raise InputError(f"--probe '{probe}': no kernel has a function {probe.function}")
        found = any(one.has_variable for one in having.values())
        if probe.returns and not found:
            raise InputError(f"--probe '{probe}': {probe.function} returns nothing")
        if not found:
            known = sorted({name for one in having.values() for name in one.variables})
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(
                f"--probe '{probe}': {probe.function} has no variable {probe.variable}; {has}"
            )
        telling = {label: one for label, one in having.items() if one.has_variable}
        begins = [(label, begin) for label, one in telling.items() for begin in one.begins]
        if not begins:
            raise InputError(
                f"--probe '{probe}': {' and '.join(telling)} declare {probe.function}, and have no "
                "code of it"
            )
        if all(begin.why for _, begin in begins):
            label, begin = begins[0]
            where = f" in {begin.within}" if begin.within != probe.function else ""
            raise InputError(
                f"--probe '{probe}': nothing holds it at any of the {len(begins)} places where the "
                f"function begins; at {begin.address:x}{where} on {label}, {begin.why}"
            )


class Values(msgspec.Struct, frozen=True):
    """What a run read of a probe. ``places``: how many the function begins at, 0 where the kernel
    lacks the function or the variable; ``calls``: how often execution came there, ``unread`` of
    which the value is not known, such as calls that have not returned; ``counts`` by value;
    ``others``: calls with values beyond the first 4,096 different ones."""

    places: int
    calls: int
    unread: int
    counts: dict[int, int]
    others: int


def read(path: Path, probes: int) -> list[Values]:
    """What the plugin wrote of each probe (``collectors/tcg-plugin/core/src/probes.rs``). Raises
    SessionError."""
    damaged = SessionError(f"{path} is damaged: record this run again")
    try:
        lines = bounded.read(path, _MOST_BYTES).decode("ascii").splitlines()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise damaged from None
    found = [[0, 0, 0, 0] for _ in range(probes)]
    counts: list[dict[int, int]] = [{} for _ in range(probes)]
    for line in lines:
        words = line.split(" ")
        try:
            kind, number = words[0], int(words[1])
            somewhere = int(words[2], 16) != 0
            numbers = [int(word) for word in words[3 if kind == "place" else 2 :]]
        except (ValueError, IndexError):
            raise damaged from None
        if not 0 <= number < probes or any(abs(one) >= 2**64 for one in numbers):
            raise damaged
        if kind == "place" and len(numbers) == 2 and 0 <= numbers[1] <= numbers[0]:
            for row, more in enumerate((int(somewhere), *numbers)):
                found[number][row] += more
        elif kind == "value" and len(numbers) == 2 and numbers[1] > 0:
            counts[number][numbers[0]] = numbers[1]
        elif kind == "others" and len(numbers) == 1 and numbers[0] >= 0:
            found[number][3] = numbers[0]
        else:
            raise damaged
    return [
        Values(places, calls, unread, dict(sorted(values.items())), others)
        for (places, calls, unread, others), values in zip(found, counts, strict=True)
    ]
