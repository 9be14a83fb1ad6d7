"""One setting of a session, or of recordings that exist: read when it is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings
    from profdiff.session.session import Session


@dataclass(frozen=True)
class OneSetting:
    """What a report of a session is made of, at one setting. Nothing is read of the recordings
    before ``findings`` are asked for, which are made once, or the ``folded`` stacks of each
    kernel. ``ops``: None where they are unknown."""

    ops: int | None
    find: "Callable[[], Findings]"
    folded: Callable[[], Sequence[tuple[str, Callable[[], bytes]]]]

    @staticmethod
    def of(session: "Session", at: str | None = None) -> "OneSetting":
        """At the setting that ``choose`` chooses. Raises what it does."""
        from profdiff.evidence.findings import Findings, choose
        from profdiff.evidence.results import Results
        from profdiff.profile.recordings import Recordings

        results = Results.gather(session.manifest)
        setting = choose(session.manifest, at, results)
        find = partial(Findings.of, session, setting, results)
        return OneSetting(
            setting.ops, find, Recordings(session, setting, results.state(setting)).folded
        )

    @cached_property
    def findings(self) -> "Findings":
        """Raises what ``Findings.of`` does."""
        return self.find()
