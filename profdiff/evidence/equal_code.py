"""Whether another kernel has the same code for all that one executed: what it would count then is
known without a boot. ``docs/equal-code.md`` says what is compared, and what the comparison does not
see."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, SessionError
from profdiff.profile.runs import recorded
from profdiff.profile.session_symbols import kernel_symbols
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization._native import (
    Kallsyms,
    NativeError,
    compare_code,
    elf_build_id,
    verdicts,
)
from profdiff.symbolization.kernel_chains import open_index
from profdiff.symbolization.places import KERNEL_HALF

_UNKNOWN = "unknown"


class Different(NamedTuple):
    """A function that is not the same: ``why`` is one of ``verdicts()``, ``detail`` says it in
    words."""

    function: str
    why: str
    detail: str


class EqualCode(msgspec.Struct, frozen=True):
    """``functions``: how many were compared. ``different``: those that differ; ``unknown``: what
    could not be compared, which therefore may differ."""

    functions: int
    different: tuple[Different, ...] = ()
    unknown: tuple[Different, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all code is the same that was executed, and something was."""
        return bool(self.functions) and not self.different and not self.unknown

    @property
    def summary(self) -> str:
        """What was found, as a sentence without an end."""
        if self.equal:
            return f"the same code in all {self.functions:,} executed functions"
        every = (*self.different, *self.unknown)
        if not every:
            return "no kernel code was executed"
        first, more = every[0], f" and {len(every) - 1:,} more" if len(every) > 1 else ""
        verb = "differs" if self.different else "cannot be compared"
        return f"{first.function} {verb} ({first.detail}){more}"

    @staticmethod
    def of(session: Session, label: str, candidate: Path) -> "EqualCode":
        """Compare what the kernel ``label`` executed in its finished runs with the vmlinux
        ``candidate`` (plain, ``.zst``, ``.xz``) of another kernel of the same architecture.

        What a session alone does not know, such as a debug ELF that is gone, makes it unequal.
        Raises InputError for a file that is not a kernel or damaged, SessionError for a damaged
        session.
        """
        addresses: list[NDArray[np.uint64]] = []
        debug_elf: Path | None = None
        for run in session.manifest.runs:
            if run.kernel != label or run.failure:
                continue
            found = recorded(session, run)
            if found is None or found.places.code is None:
                continue  # only exact counts name everything that ran
            executed = found.places.address[found.places.address >= KERNEL_HALF]
            try:
                symbols = kernel_symbols(session, run, {})
            except SessionError as error:
                return _incomparable(str(error))
            debug_elf = symbols.debug_elf
            if debug_elf is None:
                return _incomparable(f"{label} has no debug ELF")
            moved = _moved(session, run, debug_elf)
            if moved is None:
                return _incomparable(f"nothing tells where {label} lay in memory")
            addresses.append(executed - np.uint64(moved))
        if debug_elf is None:
            return _incomparable(f"{label} has no exact counts")
        return _compared(debug_elf, candidate, np.unique(np.concatenate(addresses)))


def _moved(session: Session, run: Run, debug_elf: Path) -> int | None:
    """By how much the kernel of a run lay behind where it was linked."""
    told = session.read(run, "kallsyms")
    if told is None:
        return None
    try:
        return Kallsyms(told).displacement(open_index(debug_elf, symbol_cache()))
    except NativeError as error:
        raise InputError(str(error)) from error


def _compared(debug_elf: Path, candidate: Path, svma: NDArray[np.uint64]) -> EqualCode:
    try:
        # The same build is the same kernel, whatever of it cannot be compared.
        mine, other = (elf_build_id(str(path)) for path in (debug_elf, candidate))
        found = compare_code(str(debug_elf), str(candidate), svma)
    except NativeError as error:
        raise InputError(str(error)) from error
    names = verdicts()
    every = [
        Different(name, names[verdict], detail)
        for name, verdict, detail in zip(
            found.name, found.verdict.tolist(), found.detail, strict=True
        )
        if names[verdict] != "equal"
    ]
    unknown = [one for one in every if one.why == _UNKNOWN]
    if mine is not None and mine == other:
        unknown = []
    if outside := int((found.function < 0).sum()):
        unknown.append(Different("code outside of vmlinux", _UNKNOWN, _places(outside)))
    return EqualCode(
        functions=len(found.name),
        different=tuple(one for one in every if one.why != _UNKNOWN),
        unknown=tuple(unknown),
    )


def _places(number: int) -> str:
    return f"{number:,} executed addresses are of a module, or made by the kernel"


def _incomparable(reason: str) -> EqualCode:
    return EqualCode(0, unknown=(Different("the kernel", _UNKNOWN, reason),))
