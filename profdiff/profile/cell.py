"""A cell: what the runs of an exact collector executed at one setting in one state."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from profdiff.base.errors import SessionError
from profdiff.collectors import registry
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_chains import chains_of
from profdiff.profile.recordings import Recordings
from profdiff.profile.runs import paired, recorded
from profdiff.session.manifest import Run
from profdiff.session.points import Setting, settings
from profdiff.session.session import Session


class Cell:
    """``runs``: of each kernel those to subtract, and those to subtract them from."""

    def __init__(self, session: Session, collector: str, setting: Setting, state: int = 0) -> None:
        self.session, self.collector, self.setting, self.state = session, collector, setting, state
        self.runs = {
            kernel.label: paired(session, kernel.label, collector, setting, state)
            for kernel in session.compared
        }
        self._addresses: dict[str, Addresses] = {}

    def addresses(self, label: str) -> Addresses:
        """What the runs of a kernel executed, summed when it is first asked for. Raises InputError,
        and SessionError where there is none, or one has no recording."""
        if label not in self._addresses:
            self._addresses[label] = addresses_of(self.session, self.runs[label])
        return self._addresses[label]

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison of the collector's first metric in the plain state; None where the base
        has no result."""
        try:
            comparisons = Recordings(self.session, self.setting).of_collector(self.collector)
        except SessionError:
            return None
        first = comparisons[0]
        for label, (addresses,) in zip(first.labels, first.addresses, strict=True):
            self._addresses.setdefault(label, addresses)
        return first


def exact_collector(session: Session) -> str | None:
    """The session's first collector that counts every event and tells functions apart."""
    exact = (name for name in session.profiling if registry.collector(name).kind.exact)
    return next(exact, None)


def cells(session: Session) -> Iterator[Cell]:
    """Those of every setting, in the plain state and in each that was recorded; none where nothing
    was counted exactly."""
    collector = exact_collector(session)
    runs = [run for run in session.manifest.runs if run.collector == collector]
    if collector is None or all(run.failure for run in runs):
        return
    for setting in settings(session.manifest):
        for state in sorted({0, *(run.state for run in runs if run.point == setting.point)}):
            yield Cell(session, collector, setting, state)


def addresses_of(session: Session, runs: tuple[Sequence[Run], Sequence[Run]]) -> Addresses:
    """What runs of one kernel executed; ``runs``: those to subtract first. Raises InputError, and
    SessionError where there is none, or one has no recording."""
    short, long = runs
    read = []
    for run in [*long, *short]:
        found = recorded(session, run)
        if found is None:
            raise SessionError(f"run {run.id} has no recording")
        read.append(found)
    if not read:
        raise SessionError(f"{session.folder}: not every run has a recording")
    addresses, _ = Addresses.of_runs(read, partial(chains_of, session, long[0]))
    return addresses.subtracted(len(long)) if short else addresses
