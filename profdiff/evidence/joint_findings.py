"""What a report of several architectures shows: the findings of each at one setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profdiff.base.errors import SessionError
from profdiff.evidence.findings import Findings
from profdiff.evidence.joint_results import JointResults, JointSetting
from profdiff.session.architectures import Architectures
from profdiff.session.folder import Session


@dataclass(frozen=True)
class JointFindings:
    """``parts``: by architecture, the findings at ``setting``; without those that have none there.
    ``missing``: by architecture, why it has none."""

    architectures: Architectures
    results: JointResults
    setting: JointSetting
    sessions: Mapping[str, Session]
    parts: Mapping[str, Findings]
    missing: Mapping[str, str]

    @staticmethod
    def of(architectures: Architectures, at: str | None = None) -> "JointFindings":
        """Of a folder, at the setting that ``at`` names, or else at the one with the largest
        change. Raises SessionError where no architecture has findings there, InputError."""
        sessions = architectures.sessions()
        results = JointResults.gather(sessions)
        setting = results.choose(at)
        parts: dict[str, Findings] = {}
        missing: dict[str, str] = {}
        for name in architectures.names:
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
            raise SessionError(f"no architecture has a result: {told}")
        return JointFindings(architectures, results, setting, sessions, parts, missing)

    @property
    def names(self) -> Sequence[str]:
        """The architectures, with findings or without."""
        return self.architectures.names
