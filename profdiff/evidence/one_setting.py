"""One setting of a session, or of recordings that exist: read when it is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profdiff.collectors.calibration.prices import Prices
    from profdiff.evidence.findings import Findings
    from profdiff.session.session import Session

Stacks = Sequence[tuple[str, Callable[[], bytes]]]


@dataclass(frozen=True)
class LazyFindings:
    """What a report of a session is made of, at one setting. Nothing is read of the recordings
    before ``findings`` are asked for, which are made once, or the ``folded`` stacks of each
    kernel. ``ops``: None where they are unknown. ``metric``: the only one that is shown,
    ``[COLLECTOR:]NAME``; None for all, and for the first where a form shows one. ``prices``: of a
    processor, instead of those in the session's folder."""

    ops: int | None
    find: "Callable[[], Findings]"
    fold: Callable[[str | None], Stacks]
    metric: str | None = None
    prices: "Prices | None" = None

    @staticmethod
    def of(
        session: "Session",
        at: str | None = None,
        metric: str | None = None,
        prices: "Prices | None" = None,
    ) -> "LazyFindings":
        """At the setting that ``choose`` chooses. Raises what it does."""
        from profdiff.evidence.findings import Findings, choose
        from profdiff.evidence.results import Results
        from profdiff.profile.recordings import Recordings

        results = Results.gather(session.manifest)
        setting = choose(session.manifest, at, results)
        find = partial(Findings.of, session, setting, results)
        recordings = Recordings(session, setting, results.state(setting))
        return LazyFindings(setting.ops, find, recordings.folded, metric, prices)

    @cached_property
    def findings(self) -> "Findings":
        """Raises what ``Findings.of`` does, and InputError for a metric that it does not have."""
        from msgspec.structs import replace

        found = self.find()
        if self.prices is not None:
            found = replace(found, chosen_prices=self.prices)
        if self.metric is None:
            return found
        return replace(found, comparisons=[found.comparison(self.metric)])

    def folded(self) -> Stacks:
        """The stacks of each kernel in FlameGraph's format. Raises InputError, SessionError."""
        return self.fold(self.metric)
