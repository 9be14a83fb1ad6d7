"""Which commits a session's delta is blamed on: the kernel, the repository and the revisions that a
user named, or that the session knows."""

from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.blame.attribution import INEXACT
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.recording.origin import own_repository
from profdiff.sources.repository import Repository, revision
from profdiff.views.blame import Blame, blame


def of_findings(
    findings: Findings,
    repo: Path | None,
    given: tuple[str | None, str | None] = (None, None),
    label: str | None = None,
    ignore_revs: Path | None = None,
) -> Blame:
    """The delta of the kernel ``label``, or of the last one. ``repo``: a git repository, None for
    the one that both kernels were built from; ``given``: the revisions of base and kernel that were
    named. Raises InputError."""
    comparison = next((one for one in findings.comparisons if one.metric == INSTRUCTIONS), None)
    if comparison is None or not comparison.metric.exact:
        raise InputError(INEXACT)
    others = comparison.labels[1:]
    if not others:
        raise InputError(f"{comparison.labels[0]} is the only kernel: record two kernels")
    if label is not None and label not in others:
        raise InputError(f"--kernel {label}: the session compares {', '.join(others)}")
    kernel = comparison.labels.index(label or others[-1])
    repository = Repository.open(repo or _own(findings, comparison, kernel), ignore_revs)
    return blame(comparison, kernel, repository, revisions(comparison, kernel, repository, given))


def _own(findings: Findings, comparison: Comparison, kernel: int) -> Path:
    """The repository that profdiff built both the base and a kernel from. Raises InputError where
    it did not, it is not here, or is not to be read unasked (``recording.origin``)."""
    sources = [comparison.kernels[number].source for number in (0, kernel)]
    names = {source.repository if source else "" for source in sources}
    if len(names) == 1 and (name := names.pop()):
        session = findings.session
        if session is not None:
            return own_repository(session.folder, session.manifest, name, "--repo")
    raise InputError("name the git repository that the kernels were built from with --repo")


def revisions(
    comparison: Comparison,
    kernel: int,
    repository: Repository,
    given: tuple[str | None, str | None] = (None, None),
) -> tuple[str, str]:
    """What the base and a kernel were built from, as full hashes: what was ``given``, what the
    session knows of it, or the tags of their releases. Raises InputError."""
    found = []
    for number, name in zip((0, kernel), given, strict=True):
        one = comparison.kernels[number]
        if name is not None:
            found.append(repository.commit(name))
        elif one.source is not None:
            found.append(repository.commit(one.source.built))
        elif one.release is None:
            side = "base" if number == 0 else "new"
            raise InputError(
                f"{one.label}: its release is unknown: name what it was built from "
                f"with --{side} REV"
            )
        else:
            found.append(revision(repository, one.release))
    return found[0], found[1]
