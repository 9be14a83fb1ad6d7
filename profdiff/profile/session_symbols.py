"""The chains of every place that a session's kernel executed: resolved once, kept in the session.

They are what makes a session self-contained: a report needs no debug ELF, which may be a hundred
times as large and on another machine.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, SessionError
from profdiff.session.folder import Session, place_columns
from profdiff.session.manifest import Kernel, Run
from profdiff.symbolization._native import NativeError, PerfData, elf_build_id
from profdiff.symbolization.binaries import VDSO, Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.perf_chains import symbolize_perf
from profdiff.symbolization.symbolize import symbolize


def chains(session: Session, label: str) -> Chains:
    """Chains of ``session.places(label)``, in their order: the ones kept in the session if they
    still fit its runs, else resolved anew. Nothing is kept: who reads a session does not write it.

    Raises SessionError, and InputError for a damaged debug ELF.
    """
    kernel = session.kernel(label)
    addresses, _ = place_columns(session.places(label))
    if kernel.symbols:
        path = session.path(kernel.symbols)
        if path.is_file():
            kept = Chains.load(path)
            if np.array_equal(kept.address, addresses):
                return kept
    return resolve(session, kernel, {})


def resolve(session: Session, kernel: Kernel, modules: Mapping[str, Path]) -> Chains:
    """Resolve all places of ``kernel``. ``modules`` maps a module's name to its file with symbols.

    Raises as ``chains``.
    """
    addresses, code = place_columns(session.places(kernel.label))
    run = next(iter(session.finished(kernel.label, "exact")), None)
    user_files = {
        file.guest_path: session.path(file.path)
        for file in session.manifest.workload.files
        if file.path
    }
    if run and "vdso" in run.files:
        user_files[VDSO] = session.path(run.files["vdso"])
    return symbolize(
        addresses,
        code,
        kernel=kernel_symbols(session, kernel, run, modules),
        user_files=user_files,
        cache=symbol_cache(),
    )


def perf_chains(
    session: Session, run: Run, data: PerfData, modules: Mapping[str, Path] | None = None
) -> Chains:
    """Chains of the places of a run's perf.data: the ones kept with the run if they still fit, else
    resolved anew. Raises as ``chains``."""
    if "symbols" in run.files:
        path = session.path(run.files["symbols"])
        if path.is_file():
            kept = Chains.load(path)
            if np.array_equal(kept.address, data.place_address):
                return kept
    kernel = session.kernel(run.kernel)
    files = {
        file.guest_path: session.path(file.path)
        for file in session.manifest.workload.files
        if file.path
    }
    if "vdso" in run.files:
        files[VDSO] = session.path(run.files["vdso"])
    # A guest has no other files than those that travelled; another machine's are known by id.
    local = kernel.spec.partition(",")[0] == "running"
    symbols = kernel_symbols(session, kernel, run, modules or {})
    return symbolize_perf(data, symbols, Binaries(files, local=local), symbol_cache())


def kernel_symbols(
    session: Session, kernel: Kernel, run: Run | None, modules: Mapping[str, Path]
) -> KernelSymbols:
    """What a run and its kernel's debug ELF say of the kernel's addresses. Raises as ``chains``."""
    debug_elf = Path(kernel.debug_elf) if kernel.debug_elf else None
    if debug_elf and not debug_elf.is_file():
        raise SessionError(
            f"{kernel.label}: the session has no symbols yet, and {debug_elf} is gone: run "
            "profdiff report where it was recorded"
        )
    if debug_elf and _build_id(debug_elf) != kernel.build_id:
        raise SessionError(
            f"{kernel.label}: {debug_elf} is not what it was when the session was recorded: its "
            f"build id is not {kernel.build_id}"
        )
    return KernelSymbols(
        debug_elf=debug_elf,
        kallsyms=(session.read(run, "kallsyms") if run else None) or b"",
        module_files=modules,
        sections=(session.read(run, "sections") if run else None) or b"",
    )


def _build_id(path: Path) -> str | None:
    try:
        return elf_build_id(str(path))
    except NativeError as error:
        raise InputError(str(error)) from error


def keep(session: Session, kernel: Kernel, result: Chains) -> None:
    """Write the chains of ``kernel`` into the session, locked by the caller. Raises OSError."""
    relative = f"symbols/{kernel.label}.npz"
    path = session.path(relative)
    path.parent.mkdir(exist_ok=True)
    result.save(path)
    kernels = [
        msgspec.structs.replace(known, symbols=relative) if known.label == kernel.label else known
        for known in session.manifest.kernels
    ]
    session.save(msgspec.structs.replace(session.manifest, kernels=kernels))


def keep_perf(session: Session, run: Run, result: Chains) -> None:
    """Write the chains of a run's perf.data beside it, locked by the caller. Raises OSError."""
    relative = f"runs/{run.id}/symbols.npz"
    result.save(session.path(relative))
    files = {**run.files, "symbols": relative}
    runs = [
        msgspec.structs.replace(known, files=files) if known.id == run.id else known
        for known in session.manifest.runs
    ]
    session.save(msgspec.structs.replace(session.manifest, runs=runs))
