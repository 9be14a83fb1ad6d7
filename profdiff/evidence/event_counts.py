"""How often events happened in the kernels of a comparison: by the file that a session keeps, or by
its recordings."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.cell import Cell
from profdiff.profile.comparison import Comparison
from profdiff.profile.events.counts import EventCount, beginnings, event_counts
from profdiff.profile.events.kept import KeptEvents
from profdiff.session.session import Session

Known = Mapping[str, EventCount]


class RecordedCounts:
    """``plain``: by kernel of a comparison, what is known of each event. Raises InputError where
    nothing is known of some kernel, SessionError where a recording is damaged."""

    def __init__(self, comparison: Comparison, session: Session) -> None:
        self._comparison, self._session = comparison, session
        self._begins = []
        self._read: dict[int, list[Known]] = {}
        self.plain: list[Known] = []
        for kernel, label in enumerate(comparison.labels):
            runs = [run for run in comparison.runs if run.kernel == label]
            picked, addresses = comparison.picked[kernel], comparison.addresses[kernel][0]
            begins = beginnings(session, runs[picked])
            if not begins:
                raise InputError(f"{label}: its kallsyms does not say where its functions are")
            self._begins.append(begins)
            self.plain.append(event_counts(session, runs[picked], addresses, begins, picked))

    def states(self, kernel: int) -> list[Known]:
        """What is known of a kernel in each other state of the session, read once."""
        if kernel not in self._read:
            comparison, session = self._comparison, self._session
            label, collector = comparison.labels[kernel], comparison.runs[0].collector
            every = {run.state for run in session.manifest.runs} - {comparison.runs[0].state}
            self._read[kernel] = found = []
            for state in sorted(every):
                known: Known = {}
                # Of a damaged run, nothing is known.
                with suppress(InputError, SessionError):
                    cell = Cell(session, collector, comparison.setting, state)
                    addresses, begins = cell.addresses(label), self._begins[kernel]
                    known = event_counts(session, cell.runs[label][1][0], addresses, begins, 0)
                found.append(known)
        return self._read[kernel]


class KeptCounts:
    """The same, of a file that tells of all kernels of a comparison."""

    def __init__(self, plain: Sequence[Known], varied: Sequence[Sequence[Known]]) -> None:
        """``varied``: in each varied state, by kernel."""
        self.plain, self._varied = plain, varied

    @staticmethod
    def of(comparison: Comparison, session: Session) -> "KeptCounts | None":
        """None where the session keeps nothing of some kernel."""
        kept, labels, point = KeptEvents.of(session), comparison.labels, comparison.setting.point
        if kept is None or not set(labels) <= set(kept.labels):
            return None
        shown = comparison.runs[0].state
        others = [state for state in (0, *kept.states(point)) if state != shown]
        plain, *varied = (
            [kept.event_counts(here, label) if here else {} for label in labels]
            for here in (kept.at(point, state) for state in (shown, *others))
        )
        return KeptCounts(plain, varied) if all(plain) else None

    def states(self, kernel: int) -> list[Known]:
        """What is known of a kernel in each varied state."""
        return [state[kernel] for state in self._varied]
