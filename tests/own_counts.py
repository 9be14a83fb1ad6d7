"""What a recording keeps of a run's counts."""

from profdiff.collectors.exact.context import Entries, own_context
from profdiff.collectors.exact.counts import Counts
from profdiff.session import manifest as m
from profdiff.session.session import Session


def own_counts(session: Session, run: m.Run) -> tuple[Counts, int]:
    """Those of the workload's own context, and how many instructions ran beside it."""
    entries = Entries.load(session.path(run.files["entries"]))
    found = own_context(Counts.load(session.path(run.files["counts"])), entries)
    assert found
    return found
