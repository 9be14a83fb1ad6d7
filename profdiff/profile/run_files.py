"""A run's files as plain arrays, by the reader of the collector that left them."""

from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.perf.samples import read
from profdiff.collectors.recorded import Recorded
from profdiff.session.folder import Session
from profdiff.session.manifest import Run
from profdiff.symbolization._native import NativeError
from profdiff.symbolization.places import Places


def recorded(session: Session, run: Run) -> Recorded | None:
    """What a run recorded; None where it has no places, nor stacks. Raises InputError,
    SessionError."""
    paths = {what: session.path(name) for what, name in run.files.items()}
    try:
        if "counts" in paths:
            counts = Counts.load(paths["counts"])
            places = Places.of_code(counts.address, counts.code)
            return Recorded(
                (INSTRUCTIONS,), places, counts.code, lambda: counts.count[:, None], counts.calls
            )
        return read(paths)
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error
