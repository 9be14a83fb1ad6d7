"""The accesses of all kernels of a comparison."""

from profdiff.base.errors import InputError
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_code import ACCESSES
from profdiff.profile.picked_counts import picked_counts
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses

NOT_EXACT = (
    "which data instructions access is known only of exact counts: record with --collector exact"
)


def accesses_of(comparison: Comparison, session: Session | None) -> list[DataAccesses]:
    """By kernel. Raises InputError where those of one are not known, or counts are not exact;
    SessionError where what a session keeps is damaged."""
    if not class_names(comparison) or session is None:
        raise InputError(NOT_EXACT)
    found = []
    for kernel, described in enumerate(comparison.kernels):
        runs = [run for run in comparison.runs if run.kernel == described.label]
        run = runs[comparison.picked[kernel]]
        addresses = picked_counts(comparison, kernel)[0].addresses
        accesses, missing = ACCESSES.known(session, run, addresses)
        if accesses is None:
            raise InputError(
                f"{described.label}: which data its instructions access is not known: {missing}; "
                "record it again, with a kernel that has debug information"
            )
        found.append(accesses)
    return found
