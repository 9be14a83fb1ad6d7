"""What a session keeps of kernels that have run: names, code, and what each function executed."""

from collections.abc import Sequence

from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.profile import kept_chains, kept_functions
from profdiff.session.session import Session


def keep(session: Session, kernels: Sequence[KernelFiles]) -> None:
    """Resolve every place of every kernel with a result, and keep the chains in the session, which
    the caller has locked, and what each function executed; nothing where it has all of that.

    Raises InputError for a damaged debug ELF, SessionError, OSError.
    """
    if kept_functions.FunctionCounts.of(session).kept:
        return
    for kernel in kernels:
        kept_chains.keep(session, kernel.label, module_files(kernel.modules))
    kept_functions.keep(session)
