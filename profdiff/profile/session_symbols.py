"""What a session, and this machine, know of a kernel's symbols."""

from collections.abc import Mapping
from pathlib import Path

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import architecture
from profdiff.session.manifest import Kernel, Run
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError
from profdiff.symbolization.kernel_chains import KernelSymbols
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
