"""What a report of several architectures, or compilers, shows: the findings of each at one
setting."""

from collections.abc import Mapping, Sequence

import msgspec

from profdiff.base.errors import SessionError
from profdiff.evidence.findings import Findings
from profdiff.evidence.parts.results import PartsResults, PartsSetting
from profdiff.session.held import PartKind
from profdiff.session.parts import Parts
from profdiff.session.session import Session


class PartsFindings(msgspec.Struct, frozen=True):
    """``parts``: by name, the findings at ``setting``; without those that have none there.
    ``missing``: by name, why a part has none."""

    recording: Parts
    results: PartsResults
    setting: PartsSetting
    sessions: Mapping[str, Session]
    parts: Mapping[str, Findings]
    missing: Mapping[str, str]

    @staticmethod
    def of(recording: Parts, at: str | None = None) -> "PartsFindings":
        """The findings of a folder, at the setting that ``at`` names, or else at the one with the
        largest change. Raises SessionError where no part has findings there, InputError."""
        sessions = recording.sessions()
        results = PartsResults.gather(sessions, recording.kind)
        setting = results.choose(at)
        parts: dict[str, Findings] = {}
        missing: dict[str, str] = {}
        for name in recording.names:
            own = setting.parts.get(name)
            if name not in sessions:
                missing[name] = "not recorded yet"
            elif own is None:
                missing[name] = "it does not have this point"
            else:
                try:
                    parts[name] = Findings.of(sessions[name], own, results.parts[name])
                except SessionError as error:
                    missing[name] = str(error)
        if not parts:
            told = "; ".join(f"{name}: {why}" for name, why in missing.items())
            raise SessionError(f"no {recording.kind.name} has a result: {told}")
        return PartsFindings(recording, results, setting, sessions, parts, missing)

    @property
    def names(self) -> Sequence[str]:
        """The parts, with findings or without."""
        return self.recording.names

    @property
    def kind(self) -> PartKind:
        """What the parts differ by."""
        return self.recording.kind

    @property
    def ops(self) -> int | None:
        """The ops of a part that knows them; None if none does."""
        return next((one.setting.ops for one in self.parts.values() if one.setting.ops), None)
