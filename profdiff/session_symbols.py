"""The chains of every place that a session's kernel executed: resolved once, kept in the session.

They are what makes a session self-contained: a report needs no debug ELF, which may be a hundred
times as large and on another machine.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from profdiff._native import NativeError, elf_build_id
from profdiff.cache import cache_folder
from profdiff.errors import InputError, MissingError, SessionError
from profdiff.manifest import Kernel
from profdiff.session import Session, place_columns
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.symbolize import symbolize

VDSO = "[vdso]"


def chains(session: Session, label: str) -> Chains:
    """Chains of ``session.places(label)``, in their order: the ones kept in the session if they
    still fit its runs, else resolved anew and kept where the session can be written.

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
    result = resolve(session, kernel, {})
    # Not where the session is read-only, or someone records it: they keep their own.
    with contextlib.suppress(InputError, OSError), session.lock():
        if Session.open(session.folder).manifest == session.manifest:
            keep(session, kernel, result)
    return result


def resolve(session: Session, kernel: Kernel, modules: Mapping[str, Path]) -> Chains:
    """Resolve all places of ``kernel``. ``modules`` maps a module's name to its file with symbols.

    Raises as ``chains``.
    """
    addresses, code = place_columns(session.places(kernel.label))
    runs = session.finished(kernel.label)
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
    run = runs[0] if runs else None
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
        debug_elf=debug_elf,
        kallsyms=(session.read(run, "kallsyms") if run else None) or b"",
        module_files=modules,
        sections=session.read(run, "sections") if run else None,
        user_files=user_files,
        cache=_cache(),
    )


def _build_id(path: Path) -> str | None:
    try:
        return elf_build_id(str(path))
    except NativeError as error:
        raise InputError(str(error)) from error


def _cache() -> Path | None:
    # Without a cache folder everything works, only slower.
    try:
        return cache_folder("symbols")
    except MissingError:
        return None


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
