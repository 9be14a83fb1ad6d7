"""The delta of a kernel, by the commits that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from profdiff.evidence.blame import config_lines
from profdiff.evidence.blame.attribution import Kind, Part, attribute
from profdiff.evidence.blame.executed import INEXACT as INEXACT
from profdiff.evidence.blame.executed import Functions, counted, executed
from profdiff.evidence.blame.history import Side, history
from profdiff.evidence.blame.renamed import Pair, renamed
from profdiff.evidence.blame.shapes import shapes
from profdiff.evidence.blame.suspects import suspects
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.sources.repository import Commit, Repository


@dataclass(frozen=True)
class Blamed:
    """``parts``: what ``delta`` is the sum of. ``functions``: what their numbers mean, beginning
    with those of the comparison. ``commits``: those of parts and suspects, by hash. ``suspects``:
    of kinds that are no commit's, by function. ``strange``: by label, files
    of another version than the kernel was built from. ``together``: commits with those that changed
    the same lines before or after them."""

    delta: int
    parts: Sequence[Part]
    functions: Sequence[Function]
    commits: Mapping[str, Commit]
    suspects: Mapping[tuple[Kind, int], tuple[str, ...]]
    renamed: Sequence[Pair]
    strange: Mapping[str, Sequence[str]]
    together: Mapping[str, frozenset[str]]


def blamed(
    comparison: Comparison, kernel: int, repository: Repository, revisions: tuple[str, str]
) -> Blamed:
    """The delta of ``kernel`` to the base. ``revisions``: full hashes of what the base and the
    kernel were built from. Raises InputError: no exact counts, or git has not what is needed."""
    functions = Functions(comparison)
    counts = [counted(comparison, one) for one in (0, kernel)]
    sides = [
        Side(
            executed(one, number, functions, shapes(comparison, number, one.addresses)),
            revision,
            one.addresses,
        )
        for one, number, revision in zip(counts, (0, kernel), revisions, strict=True)
    ]
    base, new = sides
    known = history(repository, base, new, functions.unresolved)
    makefiles = {
        str(PurePosixPath(file).parent / "Makefile")
        for file in known.texts[1]
        if comparison.facts.config
    }
    option = config_lines.option_of(
        comparison,
        kernel,
        known.texts,
        {
            name: data.splitlines()
            for name, data in repository.files(new.revision, sorted(makefiles)).items()
        },
    )
    parts = attribute(
        base.lines,
        new.lines,
        known.same,
        known.before,
        known.after,
        functions.unresolved,
        option,
    )
    labels = comparison.labels[0], comparison.labels[kernel]
    return Blamed(
        delta=int(counts[1].count.sum() - counts[0].count.sum()),
        parts=parts,
        functions=functions.every,
        commits=repository.commits({part.reason for part in parts if part.kind == "commit"}),
        suspects=suspects(comparison, kernel, parts),
        renamed=renamed(base.lines, new.lines, functions.every, known.same, known.texts),
        strange=dict(zip(labels, known.strange, strict=True)),
        together=known.together,
    )
