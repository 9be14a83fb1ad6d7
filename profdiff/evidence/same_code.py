"""The steps of a series that change no code that runs."""

from collections.abc import Iterable

from profdiff.base.errors import InputError, MissingError, SessionError
from profdiff.evidence.equal_code import EqualCode
from profdiff.profile.session_symbols import kernel_symbols
from profdiff.session.session import Session


def same_code(session: Session, pairs: Iterable[tuple[str, str]]) -> set[str]:
    """The second label of each pair whose kernel has the same code as the first one for all that
    that one executed. Only kernels from git are looked at, which takes a second a pair; what cannot
    be compared, such as where a debug ELF is gone, is not the same."""
    return {new for before, new in pairs if _is_same(session, before, new)}


def _is_same(session: Session, before: str, new: str) -> bool:
    if session.kernel(before).source is None or session.kernel(new).source is None:
        return False
    runs = session.manifest.runs
    run = next((one for one in runs if one.kernel == new and not one.failure), None)
    try:
        debug_elf = kernel_symbols(session, run, {}).debug_elf if run else None
        return bool(debug_elf and EqualCode.of(session, before, debug_elf).equal)
    except (InputError, MissingError, SessionError, OSError):
        return False
