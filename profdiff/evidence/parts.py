"""The results and the findings of several architectures, or compilers, side by side. Each part
stays its own: nothing is added up, and no value of one is compared with a value of another."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.base.errors import SessionError
from profdiff.base.metric import Metric
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import LargestChange, largest, largest_change
from profdiff.evidence.results import Result, Results
from profdiff.session.held import ARCHITECTURE, PartKind
from profdiff.session.manifest import Collector
from profdiff.session.parts import Parts
from profdiff.session.points import Setting, named, varied_names
from profdiff.session.session import Session


class PartsMetric(NamedTuple):
    """What values are of. ``per_op``: whether they are divided by operations."""

    collector: Collector
    metric: Metric
    per_op: bool

    @staticmethod
    def of(result: Result) -> "PartsMetric":
        """That of a result."""
        return PartsMetric(result.collector, result.metric, result.per_op)


class PartsSetting(msgspec.Struct, frozen=True):
    """One setting of all parts that have it. ``parts``: what it is in the session of each;
    ``varied``: what differs from one joint setting to another."""

    parts: Mapping[str, Setting]
    varied: Sequence[str] = ()

    @property
    def one(self) -> Setting:
        """That of the first part: parameters, vCPUs and ops are those of all."""
        return replace(next(iter(self.parts.values())), varied=self.varied)

    @property
    def names(self) -> Sequence[str]:
        """All names that have a value."""
        return self.one.names

    def value(self, name: str) -> str:
        """A parameter's value, or the number of vCPUs."""
        return self.one.value(name)

    @property
    def title(self) -> str:
        """What tells it from the others; "" for the only one."""
        return self.one.title


class PartsLargest(NamedTuple):
    """The largest change of all parts, and at which setting."""

    part: str
    setting: PartsSetting
    change: LargestChange


class PartsResults(msgspec.Struct, frozen=True, dict=True):
    """``parts``: the results of each part that was begun, in order. ``settings``: of all, those of
    the first part first; ``labels``: of the kernels, the base's first; ``kind``: what parts differ
    by."""

    parts: Mapping[str, Results]
    settings: Sequence[PartsSetting]
    labels: Sequence[str]
    kind: PartKind = ARCHITECTURE

    @staticmethod
    def gather(sessions: Mapping[str, Session], kind: PartKind) -> "PartsResults":
        """The results of a folder's sessions, by part. Raises SessionError where there is none,
        and for sessions that have different bases."""
        if not sessions:
            raise SessionError(f"no {kind.name} has been recorded yet: finish the recording")
        return PartsResults.of(
            {name: Results.gather(session.manifest) for name, session in sessions.items()}, kind
        )

    @staticmethod
    def of(parts: Mapping[str, Results], kind: PartKind = ARCHITECTURE) -> "PartsResults":
        """The results of all parts. Raises SessionError as ``gather``, and where one
        has the same point twice."""
        bases = {name: results.labels[0] for name, results in parts.items()}
        if len(set(bases.values())) > 1:
            told = ", ".join(f"{base} {kind.at(name)}" for name, base in bases.items())
            raise SessionError(f"the {kind.plural} have different bases: {told}")
        labels = dict.fromkeys(label for results in parts.values() for label in results.labels)
        return PartsResults(parts, _settings(parts), list(labels), kind)

    @property
    def swept(self) -> Sequence[str]:
        """What differs from setting to setting."""
        return self.settings[0].varied

    def metrics(self) -> list[PartsMetric]:
        """What was measured of any part, in order."""
        return list(self._by_metric)

    def of_metric(self, metric: PartsMetric) -> list[tuple[PartsSetting, dict[str, Result]]]:
        """The results of a metric by setting; of each those of the parts that have one."""
        found = self._by_metric.get(metric, {})
        rows = []
        for setting in self.settings:
            by_part = {
                name: result
                for name, one in setting.parts.items()
                if (result := found.get((name, one.point)))
            }
            if by_part:
                rows.append((setting, by_part))
        return rows

    def largest(self, setting: PartsSetting | None = None) -> PartsLargest | None:
        """The largest change at a setting, or of all, by its ratio and as ``largest_change``
        chooses; of the metric that it chooses of the first part that has one. None where
        nothing can be compared."""
        found: list[tuple[str, LargestChange]] = []
        for name, results in self.parts.items():
            own = setting.parts.get(name) if setting else None
            one = largest_change(results, own) if setting is None or own else None
            if one is not None:
                found.append((name, one))
        if not found:
            return None
        metric = PartsMetric.of(found[0][1].result)
        some = [(name, one) for name, one in found if PartsMetric.of(one.result) == metric]
        chosen = largest([one for _, one in some], next(iter(self.parts.values())).rule)
        name = next(name for name, one in some if one is chosen)
        point = chosen.result.setting.point
        where = next(
            one for one in self.settings if name in one.parts and one.parts[name].point == point
        )
        return PartsLargest(name, where, chosen)

    def choose(self, wanted: str | None) -> PartsSetting:
        """The setting that ``NAME=VALUE,...`` names; without it the one with the largest change, or
        the last. Raises InputError when it names none or several."""
        if wanted is None:
            found = self.largest()
            return found.setting if found else self.settings[-1]
        return named(self.settings, wanted)

    @cached_property
    def _by_metric(self) -> dict[PartsMetric, dict[tuple[str, int], Result]]:
        found: dict[PartsMetric, dict[tuple[str, int], Result]] = {}
        for name, results in self.parts.items():
            for result in results.every:
                of = found.setdefault(PartsMetric.of(result), {})
                of[name, result.setting.point] = result
        return found


def _settings(parts: Mapping[str, Results]) -> list[PartsSetting]:
    """Settings with the same parameters and vCPUs are one. Raises SessionError."""
    found: dict[Hashable, dict[str, Setting]] = {}
    for name, results in parts.items():
        for setting in results.settings:
            identity = tuple(sorted(setting.parameters.items())), setting.cpus
            by_part = found.setdefault(identity, {})
            if name in by_part:
                at = f": {setting.title}" if setting.title else ""
                raise SessionError(f"{name or 'the session'} has the same point twice{at}")
            by_part[name] = setting
    joint = [PartsSetting(by_part) for by_part in found.values()]
    varied = varied_names([one.one.parameters for one in joint], [one.one.cpus for one in joint])
    return [replace(one, varied=varied) for one in joint]


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
