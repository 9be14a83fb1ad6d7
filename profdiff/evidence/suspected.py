"""Which commits to try first: those that blame names, by how much of the delta they may explain."""

from collections import defaultdict
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.blame import delta
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.session.session import Session
from profdiff.sources.repository import Repository


def suspects(
    session: Session, base: str, new: str, repository: Path, revisions: tuple[str, str]
) -> list[str]:
    """Full hashes, the likeliest culprit of ``new`` minus ``base`` first. ``base`` is the session's
    base; ``revisions``: full hashes of what the two were built from.

    A commit counts with its effect, in the direction of the delta: the instructions of its own
    lines and all below the calls that it added or removed; and of lines that nobody changed but
    that are executed more often or are other code, with those for which it is a suspect, the less
    the further down that list it stands. Commits whose effect is the other way come last. Raises
    InputError, SessionError.
    """
    results = Results.gather(session.manifest)
    findings = Findings.of(session, choose(session.manifest, None, results), results)
    compared = [one for one in findings.comparisons if one.metric == INSTRUCTIONS]
    if not compared or not compared[0].metric.exact:
        raise InputError(delta.INEXACT)
    comparison = compared[0]
    if comparison.labels[0] != base or new not in comparison.labels[1:]:
        known = ", ".join(comparison.labels)
        raise InputError(f"no comparison of {base} with {new}: the session compares {known}")
    number = comparison.labels.index(new)
    found = delta.blamed(comparison, number, Repository.open(repository), revisions)
    return ranked(found)


def ranked(found: delta.Blamed) -> list[str]:
    """The commits of a blamed delta, as ``suspects`` orders them."""
    sign = -1 if found.delta < 0 else 1
    weights: dict[str, float] = defaultdict(float)
    for part in found.effects:
        if part.kind == "commit":
            weights[part.reason] += sign * part.delta
        for place, commit in enumerate(found.suspects.get((part.kind, part.function), ()), 1):
            weights[commit] += max(sign * part.delta, 0) / place
    for commit in list(weights):
        # What is there came with the last of those that changed it.
        for other in found.together.get(commit, ()):
            weights.setdefault(other, 0)
    return sorted(weights, key=lambda commit: (-weights[commit], commit))
