"""What programs execute in user space, by object and function, and the kernel for each: by system
call, by fault, and by the function that asked for it."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import SessionError
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.function_identity import title
from profdiff.profile.picked_counts import picked_counts
from profdiff.session.session import Session
from profdiff.symbolization._native import place_user
from profdiff.symbolization.binaries import Binaries

# syscall_wrapper.h of each architecture; DEFINE_SYSCALLx() of include/linux/syscalls.h.
_CALL = re.compile(r"__(?:x64|ia32|arm64|riscv|se|do)_sys_(\w+)")
# What a fault of user space enters; arm64's and riscv64's are functions of C.
_FAULT = re.compile(r"(asm_)?exc_page_fault|el0_[di]a|do_page_fault|do_mem_abort|handle_page_fault")
# What calls the functions of system calls, and what else these call.
_DISPATCHERS = {
    *("do_syscall_64", "do_syscall_x64", "x64_sys_call", "invoke_syscall", "__invoke_syscall"),
    *("do_trap_ecall_u", "syscall_handler", "do_int80_emulation", "ia32_sys_call"),
}
_HELPERS = ("__x86_", "__fentry__", "syscall_", "exit_", "enter_", "add_random", "choose_random")
_PREFIX = re.compile("ksys_|do_sys_|__sys_|do_")
FAULTS, OTHER = "page faults", "other kernel code"
# How programs are called that execute other programs' code.
_INTERPRETER = re.compile(
    r"(lib)?(python|perl|ruby|lua|node|php|java|bash|dash|busybox)[\d.]*(\.so.*)?"
)
_UNKNOWN = {
    "no-object": "of no file that travelled: a JIT's, or made at run time",
    "no-symbol": "code without a symbol, of a stripped file or between functions",
    "ambiguous": "of one of several files that are alike",
}
_REASON = "no-symbol"
_NAMELESS = f"unresolved: {_REASON}"
# The least part of what user space executes that is worth a sentence.
_PART = 0.01


class Row(NamedTuple):
    """``self``: instructions by kernel; ``times``: how often it was entered, None where that is not
    counted; ``kernel``: instructions of the kernel for a function, which is in ``object``."""

    name: str
    side: Side
    self: Sequence[int]
    times: Sequence[int] | None = None
    kernel: Sequence[int] = ()
    object: str = ""


class Programs:
    """Those of a comparison of exact counts. ``session``: keeps what travelled; None for none."""

    def __init__(self, comparison: Comparison, session: Session | None) -> None:
        self.comparison, self.labels = comparison, comparison.labels
        self._session = session
        self._functions = [*comparison.functions, *comparison.unnamed]
        self._in_kernel = np.array([one.in_kernel for one in self._functions], np.bool_)

    @cached_property
    def parts(self) -> list[Row]:
        """Objects of user space, then what the kernel does, each by how much it differs."""
        objects: dict[str, NDArray[np.int64]] = {}
        for number in np.flatnonzero(~self._in_kernel).tolist():
            one = self._functions[number]
            name = one.object or f"unresolved: {one.reason}"
            objects[name] = objects.get(name, 0) + self._self[number]
        for name, counts in self._nameless.items():
            objects[name] = objects.get(name, 0) + counts
            objects[_NAMELESS] = objects[_NAMELESS] - counts
        user = [Row(name, "user", one.tolist()) for name, one in objects.items() if one.any()]
        return [*_ordered(user), *_ordered(self._kernel_parts())]

    @cached_property
    def functions(self) -> list[Row]:
        """Those of user space, what differs most first, and what the kernel executed for each: as
        the innermost one when it was entered."""
        stacks = self.comparison.stacks
        own = np.where(self._in_kernel[stacks.function], -1, stacks.function)
        asked = self._inherited(own)
        sums = np.zeros((len(self._functions), len(self.labels)), np.int64)
        known = self._in_kernel[stacks.function] & (asked >= 0)
        np.add.at(sums, asked[known], self.comparison.counts[known])
        found = [
            self._function(number, kernel.tolist())
            for number, kernel in enumerate(sums)
            if not self._in_kernel[number] and (self._self[number].any() or kernel.any())
        ]
        return _ordered(found)

    def total(self, side: Side | None = None) -> list[int]:
        """By kernel, of user space, of the kernel, or of both."""
        return [int(count) for count in self.comparison.totals(side)]

    @property
    def limits(self) -> list[str]:
        """What these counts do not tell of the programs, in a sentence each."""
        whole, found = max(*self.total("user"), 1), []
        for (reason, in_kernel), many in self.comparison.unresolved.items():
            if not in_kernel and max(many) >= _PART * whole:
                why = _UNKNOWN.get(reason, f"({reason})")
                part = f"{max(many) / whole:.0%}"
                found.append(f"{part} of user space is {why}. No function is known of it.")
        for name, side, counts, *_ in self.parts:
            part = f"{max(counts) / whole:.0%}"
            if side == "user" and _INTERPRETER.fullmatch(name) and max(counts) > whole / 2:
                found.append(
                    f"{name} is an interpreter: {part} of user space is its code, and functions of "
                    "the program that it runs are not told apart."
                )
        return found

    @cached_property
    def _nameless(self) -> dict[str, NDArray[np.int64]]:
        """By object, int64[K] of its code that no symbol names."""
        found: dict[str, NDArray[np.int64]] = {}
        for kernel, label in enumerate(self.labels):
            files = self._files(label)
            for picked in picked_counts(self.comparison, kernel) if files else ():
                places, chains = picked.addresses.places, picked.addresses.chains
                user = np.flatnonzero(~places.in_kernel)
                if places.code is None or _REASON not in chains.reasons:
                    continue
                code = np.ascontiguousarray(places.code[user], np.uint8)
                paths = [str(path) for path in files.values()]
                owners, _, unplaced = place_user(paths, places.address[user], code)
                lacks = chains.reason[user] == chains.reasons.index(_REASON)
                for owner, guest in enumerate(files):
                    mine = user[lacks & (owners == owner) & (unplaced == 0)]
                    sums = found.setdefault(Path(guest).name, np.zeros(len(self.labels), np.int64))
                    sums[kernel] += picked.sign * picked.count[mine].sum()
        return {name: counts for name, counts in found.items() if counts.any()}

    def _files(self, label: str) -> dict[str, Path]:
        """The ELF files that travelled into a kernel's guest; none where one is damaged."""
        session = self._session
        try:
            every = session.manifest.files_of(label) if session else []
            kept = {one.guest_path: session.path(one.path) for one in every if session and one.path}
        except SessionError:
            return {}
        return Binaries(kept).elf_files()

    @cached_property
    def _self(self) -> NDArray[np.int64]:
        """int64[F, K]."""
        stacks, every = self.comparison.stacks, len(self._functions)
        return stacks.self_by_function(self.comparison.counts, every)

    def _kernel_parts(self) -> list[Row]:
        """By what the kernel was entered for. Inside a system call, all is the call's."""
        comparison, stacks = self.comparison, self.comparison.stacks
        own, called = self._in_kernel[stacks.function], ~comparison.inlined.any(axis=1)
        names = [one.name if one.in_kernel else "" for one in self._functions]
        # A call whose function ends with a jump to another one has that one in its place.
        jumps = np.array([name in _DISPATCHERS for name in names], np.bool_)
        inside = own & (stacks.parent >= 0) & jumps[stacks.function[stacks.parent]] & called
        known: dict[str, int] = {OTHER: 0}
        direct, instead = (
            np.array([known.setdefault(told, len(known)) if told else -1 for told in every])
            for every in (map(_entry, names), map(_jumped, names))
        )
        group = direct[stacks.function]
        entered, jumped = group >= 0, inside & (group < 0)
        group = self._inherited(np.where(jumped, instead[stacks.function], group))
        group[own & (group < 0)] = 0
        outer = np.ones(len(stacks), np.bool_)
        below = stacks.parent >= 0
        outer[below] = group[stacks.parent[below]] != group[below]
        found = []
        for name, at in known.items():
            mine = own & (group == at)
            counts, calls = comparison.counts[mine].sum(axis=0), comparison.calls
            times = None
            if calls is not None and at:
                both = (calls[mine & outer & one].sum(axis=0) for one in (entered, jumped))
                times = np.maximum(*both).tolist()
            if counts.any():
                found.append(Row(name, "kernel", counts.tolist(), times))
        return found

    def _inherited(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[S]: a stack's value of ``values``, or the nearest below it; -1 for none. What the
        kernel begins keeps what its outermost function is."""
        stacks, found = self.comparison.stacks, values.copy()
        order = np.argsort(stacks.depth, kind="stable")
        levels = np.flatnonzero(np.diff(stacks.depth[order])) + 1
        for level in np.split(order, levels)[1:]:
            below = found[stacks.parent[level]]
            inside = self._in_kernel[stacks.function[level]] & (below >= 0)
            found[level] = np.where(inside | (found[level] < 0), below, found[level])
        return found

    def _function(self, number: int, kernel: Sequence[int]) -> Row:
        one, name = self._functions[number], ""
        if number < len(self.comparison.functions):
            name = title(one.name, "", one.file, namesakes=self.comparison.namesakes[number])
        name = name or f"unresolved: {one.reason}"
        return Row(name, "user", self._self[number].tolist(), None, kernel, one.object)


def _entry(name: str) -> str:
    """What the kernel was entered for if it begins with a function of this name; "" for others."""
    if match := _CALL.fullmatch(name):
        return f"{match[1]}()"
    return FAULTS if _FAULT.fullmatch(name) else ""


def _jumped(name: str) -> str:
    """The system call of which a function does all: ``write()`` of ``ksys_write``."""
    if not name or name in _DISPATCHERS or name.startswith(_HELPERS):
        return ""
    return f"{_PREFIX.sub('', name, count=1)}()"


def _ordered(rows: list[Row]) -> list[Row]:
    """What differs most first; of that, what executes more."""

    def key(row: Row) -> tuple[int, int, str]:
        every = [a + b for a, b in zip(row.self, row.kernel or [0] * len(row.self), strict=True)]
        return -max(abs(one - every[0]) for one in every), -max(every), row.name

    return sorted(rows, key=key)
