"""The code and the symbols of a session's kernels, as the session keeps them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import architecture
from profdiff.profile.addresses import Addresses
from profdiff.profile.folding import code_without, folded
from profdiff.session.held import symbols_file
from profdiff.session.manifest import Kernel, Run
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.kernel_code import KernelCode, kernel_code
from profdiff.symbolization.places import Places
from profdiff.symbolization.section_text import build_id

Modules = Mapping[str, Path]


def kernel_symbols(session: Session, run: Run, modules: Modules) -> KernelSymbols:
    """The symbols of a run's kernel; ``modules`` maps a module's name to its file with symbols.

    Raises SessionError where the debug ELF is gone or another one, InputError where it is damaged.
    """
    return KernelSymbols(
        debug_elf=_debug_elf(session.kernel(run.kernel)),
        kallsyms=session.read(run, "kallsyms") or b"",
        module_files=modules,
        sections=session.read(run, "sections") or b"",
    )


def architecture_of(run: Run) -> str:
    """The name of the architecture that a run was on: its guest's, or else this machine's."""
    told = architecture.named((run.qemu and run.qemu.architecture) or "")
    return (told or architecture.host()).name


def _debug_elf(kernel: Kernel) -> Path | None:
    """The kernel's debug ELF, if it is still the one that was recorded with."""
    if not kernel.debug_elf:
        return None
    path = Path(kernel.debug_elf)
    if not path.is_file():
        kept = kernel.symbols
        lacks = f"{kept} is gone or damaged" if kept else "the session has no symbols yet"
        raise SessionError(
            f"{kernel.label}: {lacks}, and {path} is gone: run "
            "profdiff report where it was recorded"
        )
    try:
        found = build_id(path)
    except NativeError as error:
        raise InputError(str(error)) from error
    if found != kernel.build_id:
        raise SessionError(
            f"{kernel.label}: {path} changed since the session was recorded: its build id is "
            f"not {kernel.build_id}"
        )
    return path


Part = TypeVar("Part", KernelCode, DataAccesses)


class Known(NamedTuple, Generic[Part]):
    """``part``: None where only what executed is known, and ``missing`` why."""

    part: Part | None
    missing: str = ""


@dataclass(frozen=True)
class _Kept(Generic[Part]):
    """One part of what is known. ``name``: of the file, and of the kernel's field in the manifest;
    ``of_elf`` finds it in a debug ELF, which may lack ``what`` it needs."""

    name: Literal["code", "accesses"]
    what: str
    of_elf: Callable[[KernelSymbols, Places, NDArray[np.uint8], str, Path | None], Part | None]
    loader: Callable[[frozenset[str]], Callable[[Path], Part]]

    def keep(
        self,
        session: Session,
        run: Run,
        places: Places,
        executed: NDArray[np.uint8],
        modules: Modules,
    ) -> str | None:
        """Write what is known of the kernel's ``places`` of a run into the session; ``executed``:
        uint8[N, 16], what ran there. Returns where, None where nothing is known.

        Raises InputError, SessionError, OSError.
        """
        symbols = kernel_symbols(session, run, modules)
        found = self.of_elf(symbols, places, executed, architecture_of(run), symbol_cache())
        if found is None:
            return None
        relative = symbols_file(run.kernel, self.name)
        session.write(relative, found.save)
        return relative

    def kept(self, session: Session, run: Run, addresses: Addresses) -> Part | None:
        """What the session keeps of the ``addresses`` of a run. Raises SessionError."""
        file = getattr(session.kernel(run.kernel), self.name)
        if addresses.sampled is not None or not file or not session.whole(file):
            return None
        return session.loaded(self.loader(session.folds), file)

    def known(self, session: Session, run: Run, addresses: Addresses) -> Known[Part]:
        """What is known of ``addresses``, which ``run`` is one of.

        Raises SessionError, and InputError for a damaged debug ELF.
        """
        kept = self.kept(session, run, addresses)
        if kept is not None:
            return Known(kept)
        try:
            symbols = kernel_symbols(session, run, {})
        except SessionError:
            return Known(None, "its debug ELF is gone")
        if symbols.debug_elf is None:
            return Known(None, "it has no debug ELF")
        places, executed = addresses.places, addresses.executed
        found = self.of_elf(symbols, places, executed, architecture_of(run), symbol_cache())
        if isinstance(found, KernelCode):
            found = replace(found, chains=folded(found.chains, session.folds))
        return Known(found, "" if found else f"its debug ELF has no {self.what}")


def _accesses(
    symbols: KernelSymbols,
    places: Places,
    executed: NDArray[np.uint8],
    architecture: str,
    cache: Path | None,
) -> DataAccesses | None:
    from profdiff.symbolization.data_accesses import kernel_accesses

    return kernel_accesses(symbols, places, executed, architecture, cache)


CODE = _Kept("code", "code", kernel_code, code_without)
ACCESSES = _Kept("accesses", "types", _accesses, lambda _: DataAccesses.load)
