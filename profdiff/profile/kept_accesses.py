"""What the kernel's instructions that executed access: kept in the session, or else from the debug
ELF where that is still there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import SessionError
from profdiff.profile.addresses import Addresses
from profdiff.profile.session_symbols import Modules, architecture_of, kernel_symbols
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.places import Places


class KnownAccesses(NamedTuple):
    """``accesses``: None where they are not known, and ``missing`` why."""

    accesses: DataAccesses | None
    missing: str = ""


def keep(
    session: Session, run: Run, places: Places, executed: NDArray[np.uint8], modules: Modules
) -> str | None:
    """Write what the kernel's instructions at ``places`` of a run access into the session;
    ``executed``: uint8[N, 16], what ran there. Returns where, None where it is not known.

    Raises InputError, SessionError, OSError.
    """
    from profdiff.symbolization.kernel_accesses import kernel_accesses

    found = kernel_accesses(
        kernel_symbols(session, run, modules),
        places,
        executed,
        architecture_of(run),
        symbol_cache(),
    )
    if found is None:
        return None
    relative = f"symbols/{run.kernel}.accesses.npz"
    session.write(relative, found.save)
    return relative


def kept_accesses(session: Session, run: Run, addresses: Addresses) -> DataAccesses | None:
    """What the session keeps of what the kernel's instructions at ``addresses`` access. Raises
    SessionError."""
    kernel = session.kernel(run.kernel)
    if addresses.sampled is not None or not kernel.accesses:
        return None
    path = session.whole(kernel.accesses)
    return DataAccesses.load(path) if path else None


def known_accesses(session: Session, run: Run, addresses: Addresses) -> KnownAccesses:
    """What the kernel's instructions at ``addresses``, which ``run`` is one of, access.

    Raises SessionError, and InputError for a damaged debug ELF.
    """
    kept = kept_accesses(session, run, addresses)
    if kept is not None:
        return KnownAccesses(kept)
    from profdiff.symbolization.kernel_accesses import kernel_accesses

    try:
        symbols = kernel_symbols(session, run, {})
    except SessionError:
        return KnownAccesses(None, "its debug ELF is gone")
    if symbols.debug_elf is None:
        return KnownAccesses(None, "it has no debug ELF")
    found = kernel_accesses(
        symbols, addresses.places, addresses.executed, architecture_of(run), symbol_cache()
    )
    return KnownAccesses(found, "" if found else "its debug ELF has no types")
