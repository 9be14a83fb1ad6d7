"""What a session keeps of kernels that have run: names, code, what each function executed,
and how often events happened."""

from collections.abc import Sequence

from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.profile import kept_cells, kept_chains
from profdiff.profile.kept_events import EventSums
from profdiff.profile.kept_functions import FunctionCounts, FunctionSums
from profdiff.profile.runs import held
from profdiff.session.session import Session


def keep(session: Session, kernels: Sequence[KernelFiles] = ()) -> None:
    """Resolve every place of every kernel with a result, and keep the chains in the session, which
    the caller has locked, what each function executed, and how often events happened; nothing
    where it has all of that.

    Raises InputError for a damaged debug ELF, SessionError, OSError.
    """
    with held(session):
        if not FunctionCounts.of(session).kept:
            for kernel in kernels:
                kept_chains.keep(session, kernel.label, module_files(kernel.modules))
        kept_cells.keep(session, (FunctionSums, EventSums))
