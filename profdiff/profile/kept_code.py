"""The code of the kernel's functions that executed: kept in the session, or else from the debug ELF
where that is still there."""

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.base.errors import SessionError
from profdiff.profile.addresses import Addresses
from profdiff.profile.folding import code_without, folded
from profdiff.profile.session_symbols import Modules, architecture_of, kernel_symbols
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.kernel_code import KernelCode, kernel_code
from profdiff.symbolization.places import Places


class KnownCode(NamedTuple):
    """``code``: None where only what executed is known, and ``missing`` why."""

    code: KernelCode | None
    missing: str = ""


def keep(
    session: Session, run: Run, places: Places, executed: NDArray[np.uint8], modules: Modules
) -> str | None:
    """Write the code of all kernel functions that executed at ``places`` of a run's kernel into the
    session; ``executed``: uint8[N, 16], what ran there. Returns where, None where it is not known.

    Raises InputError, SessionError, OSError.
    """
    found = kernel_code(
        kernel_symbols(session, run, modules),
        places,
        executed,
        architecture_of(run),
        symbol_cache(),
    )
    if found is None:
        return None
    relative = f"symbols/{run.kernel}.code.npz"
    session.write(relative, found.save)
    return relative


def known_code(session: Session, run: Run, addresses: Addresses) -> KnownCode:
    """The code of the functions that executed at ``addresses``, which ``run`` is one of.

    Raises SessionError, and InputError for a damaged debug ELF.
    """
    kernel = session.kernel(run.kernel)
    if addresses.sampled is None and kernel.code and session.whole(kernel.code):
        return KnownCode(session.loaded(code_without(session.folds), kernel.code))
    try:
        symbols = kernel_symbols(session, run, {})
    except SessionError:
        return KnownCode(None, "its debug ELF is gone")
    if symbols.debug_elf is None:
        return KnownCode(None, "it has no debug ELF")
    found = kernel_code(
        symbols, addresses.places, addresses.executed, architecture_of(run), symbol_cache()
    )
    if found is None:
        return KnownCode(None, "its debug ELF has no code")
    return KnownCode(replace(found, chains=folded(found.chains, session.folds)))
