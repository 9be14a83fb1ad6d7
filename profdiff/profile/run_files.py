"""A run's files as plain arrays, by the reader of the collector that left them."""

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.recorded import Recorded
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError


def recorded(session: Session, run: Run) -> Recorded | None:
    """What a run recorded; None where it has no places, nor stacks. Raises InputError,
    SessionError."""
    paths = {what: session.path(name) for what, name in run.files.items()}
    try:
        return registry.collector(run.collector).read(paths)
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error
