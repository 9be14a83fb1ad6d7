"""What a report of a session shows: at one setting, or of recordings that exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.evidence.measurements import Evidence
from profdiff.profile import session_facts
from profdiff.profile.comparison import Comparison
from profdiff.profile.session_comparison import compare
from profdiff.session import points
from profdiff.session.facts import Facts
from profdiff.session.folder import Session
from profdiff.session.manifest import Kernel, Manifest
from profdiff.session.state import State, compare_states


@dataclass(frozen=True)
class Findings:
    """``comparisons`` and ``state`` are those of ``setting``, ``evidence`` is of all settings.
    ``comparisons`` is empty where all runs are timed ones. ``remarks``: why something is not shown.
    """

    manifest: Manifest
    setting: points.Setting
    comparisons: Sequence[Comparison]
    evidence: Evidence
    state: State
    facts: Facts
    remarks: Sequence[str] = ()

    @staticmethod
    def of(
        session: Session,
        setting: points.Setting,
        evidence: Evidence | None = None,
        facts: Facts | None = None,
    ) -> "Findings":
        """Everything, computed once; ``evidence`` and ``facts`` of the session, if they were
        gathered before. Raises as ``compare``."""
        evidence = evidence or Evidence.gather(session.manifest)
        facts = facts or session_facts.read(session)
        measured = any(result.cells[0].boots for result in evidence.results)
        comparisons: list[Comparison] = []
        remarks: list[str] = []
        # A recording that goes on may have other points by now, or timed runs.
        if measured and not _profiled(evidence, setting):
            if any(registry.collector(name).profiles for name in session.manifest.collectors):
                base = session.manifest.kernels[0].label
                remarks = [f"no functions are shown: {base} has no finished profile here yet"]
        else:
            comparisons = compare(session, setting, facts)
        return Findings(
            session.manifest,
            setting,
            comparisons,
            evidence,
            compare_states(session, setting, evidence.runs),
            comparisons[0].facts if comparisons else facts,
            remarks,
        )

    @staticmethod
    def of_recordings(comparisons: Sequence[Comparison]) -> "Findings":
        """Of recordings that are no session: a profile each, and nothing else is known."""
        first = comparisons[0]
        evidence = Evidence.gather(first.manifest)
        return Findings(first.manifest, first.setting, comparisons, evidence, State(), first.facts)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that have a result, the base first."""
        if self.comparisons:
            return self.comparisons[0].kernels
        return self.evidence.kernels

    @property
    def ops(self) -> int | None:
        """Operations at the setting."""
        return self.setting.ops


def _profiled(evidence: Evidence, setting: points.Setting) -> bool:
    """Whether the base has a finished run whose functions are known at all points of a setting."""
    manifest = evidence.manifest
    base = manifest.kernels[0].label
    return any(
        all(
            any(run.failure is None for run in evidence.runs.get((base, collector, point), ()))
            for point in setting.points
        )
        for collector in manifest.collectors
        if registry.collector(collector).profiles
    )


def choose(manifest: Manifest, wanted: str | None) -> points.Setting:
    """The setting that ``NAME=VALUE,...`` names; without it the last, whose sizes are the largest.

    Raises InputError when it names none or several.
    """
    known = points.settings(manifest)
    if not known:
        raise InputError("the session has no complete pair of points: record it to its end")
    if wanted is None:
        return known[-1]
    chosen = known
    for part in wanted.split(","):
        name, _, value = part.partition("=")
        chosen = [setting for setting in chosen if points.value_of(setting, name) == value]
    if len(chosen) != 1:
        names = points.varied(manifest)
        told = [
            ",".join(f"{name}={points.value_of(setting, name)}" for name in names)
            for setting in known
        ]
        near = get_close_matches(wanted, told, 1, 0)
        what = f"names {len(chosen)} settings" if chosen else "names none"
        raise InputError(
            f"--at {wanted} {what}" + (f": write for instance {near[0]}" if near and names else "")
        )
    return chosen[0]
