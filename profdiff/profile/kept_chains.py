"""The chains of every place that a session's kernels executed: resolved once, kept in the session,
and with them the code of their functions and what that accesses.

They are what makes a session self-contained: a report needs no debug ELF, which may be a hundred
times as large and on another machine.
"""

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.cache import symbol_cache
from profdiff.profile import kept_code
from profdiff.profile.folding import chains_without, folded
from profdiff.profile.kept_code import Modules, kernel_symbols
from profdiff.profile.runs import recorded
from profdiff.session.held import symbols_file
from profdiff.session.inlines import joined
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.binaries import VDSO, Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import KERNEL_HALF, Places, distinct, of_keys, rows_of
from profdiff.symbolization.symbolizer import symbolize


def chains_of(session: Session, run: Run, places: Places) -> Chains:
    """The chains of places that a run recorded: those kept in the session if they still fit, else
    resolved anew. Nothing is kept: who reads a session does not write it. Without inlined functions
    where another kernel lacks them.

    Raises SessionError, and InputError for a damaged debug ELF.
    """
    if kept := _kept(session, run, places):
        if places.code is None:
            if np.array_equal(kept.address, places.address):
                return kept
        elif (rows := kept.rows(places)) is not None:
            return kept.taken(rows)
    return folded(_resolve(session, run, places, {}), session.folds)


def keep(session: Session, label: str, modules: Modules) -> None:
    """Resolve every place that finished runs of a kernel executed, and write the chains, the code
    of its functions and what that accesses into the session, which the caller has locked.
    ``modules`` maps a module's name to its file with symbols.

    Raises what ``chains_of`` does, and OSError.
    """
    keys: list[NDArray[np.void]] = []
    executed: list[NDArray[np.uint8]] = []
    own: dict[str, str] = {}
    told: list[dict[str, bool]] = []
    shared = None
    for run in _finished(session, label):
        found = recorded(session, run)
        if found and found.places.code is not None:
            keys.append(found.places.keys())
            executed.append(found.executed)
            shared = shared or run
        elif found and found.samples and "symbols" in run.files:
            told.append(session.kernel(label).inlines or {})
        elif found and found.samples:
            own[run.id] = f"runs/{run.id}/symbols.npz"
            resolved = _resolve(session, run, found.places, modules)
            session.write(own[run.id], resolved.save)
            told.append(resolved.inlines)
    kernels, runs = session.manifest.kernels, session.manifest.runs
    kept: dict[str, str | None] = {}
    if shared:
        known = distinct(np.concatenate(keys))
        ran = np.zeros((len(known), 16), np.uint8)
        for mine, last in zip(reversed(keys), reversed(executed), strict=True):
            ran[rows_of(known, mine)] = last
        places = of_keys(known)
        relative = symbols_file(label)
        session.disclaim(symbols_file(label, what) for what in ("", "code", "accesses"))
        chains = _resolve(session, shared, places, modules)
        session.write(relative, replace(chains, code=_user_code(places)).save)
        told.append(chains.inlines)
        code = kept_code.CODE.keep(session, shared, places, ran, modules)
        accesses = kept_code.ACCESSES.keep(session, shared, places, ran, modules)
        kept = {"symbols": relative, "code": code, "accesses": accesses}
    if own:
        runs = [
            msgspec.structs.replace(run, files={**run.files, "symbols": own[run.id]})
            if run.id in own
            else run
            for run in runs
        ]
    if shared or own:
        inlines = joined(told)
        kernels = [
            msgspec.structs.replace(kernel, **kept, inlines=inlines)
            if kernel.label == label
            else kernel
            for kernel in kernels
        ]
        session.save(msgspec.structs.replace(session.manifest, kernels=kernels, runs=runs))


def _kept(session: Session, run: Run, places: Places) -> Chains | None:
    """What is kept of a run alone, or of its kernel."""
    kernel = session.kernel(run.kernel)
    relative = run.files.get("symbols") if places.code is None else kernel.symbols
    if relative is None or session.whole(relative) is None:
        return None
    return session.loaded(chains_without(session.folds), relative)


def _user_code(places: Places) -> NDArray[np.void]:
    return places.keys()["code"][places.address < KERNEL_HALF]


def _finished(session: Session, label: str) -> list[Run]:
    return [run for run in session.manifest.runs if run.kernel == label and not run.failure]


def _resolve(session: Session, run: Run, places: Places, modules: Modules) -> Chains:
    files = {
        file.guest_path: session.path(file.path)
        for file in session.manifest.files_of(run.kernel)
        if file.path
    }
    if "vdso" in run.files:
        files[VDSO] = session.path(run.files["vdso"])
    symbols = kernel_symbols(session, run, modules)
    # A guest has no other files than those that travelled; another machine's are known by id.
    binaries = Binaries(files, local=session.kernel(run.kernel).local)
    return symbolize(places, symbols, binaries, symbol_cache())
