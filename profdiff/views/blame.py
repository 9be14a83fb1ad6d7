"""The delta of a kernel by the commits that made it, ``profdiff.blame/1``: what ``blame --json``
writes. ``docs/blame.md`` explains it. The instructions of all rows sum to ``delta``, and so do
their effects.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from profdiff.base import units
from profdiff.evidence.blame import delta as blame_delta
from profdiff.evidence.blame.attribution import BlamedPart, Kind
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.sources.repository import Repository
from profdiff.topics.functions import measure
from profdiff.views.record import Record, schema_of

SCHEMA: Final = "profdiff.blame/1"

SAID: Final[Mapping[str, str]] = {
    "more-often": "same line, executed more or less often",
    "other-code": "same line, other code",
    # First what is read where there is no room for all.
    "config": "{}: compiled into one kernel alone",
    "unmatched": "built from other sources than these",
    "no-line": "no line in the debug information",
    "generated": "not in the repository: generated, libraries, workload",
    "unresolved": "no function was found",
}


class Share(Record, frozen=True):
    """What of a row one function has; ``function`` as reports print it."""

    function: str
    instructions: int
    effect: int


class Row(Record, frozen=True):
    """Instructions of one kind. ``commit`` is a hash, ``subject`` and ``author_date`` (ISO 8601)
    are its own. For other kinds ``subject`` says what they are. ``instructions`` = ``added``
    (executed by the new kernel) + ``removed`` (negative: executed by the base), in the whole
    window; of lines of no commit only what the kernels differ by. ``effect``: of a commit,
    also what ran below the calls that it added or removed, which other rows have not then.
    ``functions``: the largest effect first.

    ``suspects``: of lines that are executed more or less often, commits that changed lines nearest
    on the stacks; of other code, commits that changed lines of the same function. Rows of these
    kinds differ by them. ``together``: other commits that changed the same lines, of which only the
    rows together say what they cost: the base's line went with the first, and what is there now
    came with the last."""

    kind: Kind
    commit: str | None
    subject: str
    author_date: str | None
    instructions: int
    added: int
    removed: int
    effect: int
    functions: list[Share]
    suspects: list[str]
    together: list[str]


class Pair(Record, frozen=True):
    """A function that vanished and a new one that may be it, renamed or moved. ``alike``: from 0 to
    1, how much of their code or source is the same."""

    vanished: str
    new: str
    alike: float


class Blame(Record, frozen=True):
    """``base`` and ``new``: labels; ``revisions``: by label. Rows are sorted by effect."""

    schema: Literal["profdiff.blame/1"]
    base: str
    new: str
    revisions: dict[str, str]
    ops: int | None
    delta: int
    rows: list[Row]
    renamed: list[Pair]
    notes: list[str]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/blame.schema.json`` is a copy."""
    return schema_of(Blame, SCHEMA)


def blame(
    comparison: Comparison, kernel: int, repository: Repository, built_from: tuple[str, str]
) -> Blame:
    """The delta of a kernel, by its number, to the base. ``built_from``: as `revisions`. Raises
    InputError: no exact counts, or git has not what is needed."""
    found = blame_delta.blamed(comparison, kernel, repository, built_from)
    titles = _titles(comparison, found.functions)
    grouped: dict[tuple[Kind, str, tuple[str, ...]], tuple[list[BlamedPart], list[BlamedPart]]]
    grouped = defaultdict(lambda: ([], []))
    for account, parts in enumerate((found.parts, found.effects)):
        for part in parts:
            blamed = found.suspects.get((part.kind, part.function), ())
            grouped[part.kind, part.reason, blamed][account].append(part)
    rows = [_row(*key, *both, found, titles) for key, both in grouped.items()]
    labels = comparison.labels[0], comparison.labels[kernel]
    return Blame(
        schema=SCHEMA,
        base=labels[0],
        new=labels[1],
        revisions=dict(zip(labels, built_from, strict=True)),
        ops=comparison.ops,
        delta=found.delta,
        rows=sorted(
            rows,
            key=lambda row: (
                *(-abs(size) for size in (row.effect, row.instructions)),
                row.removed - row.added,
                row.subject,
            ),
        ),
        renamed=[
            Pair(vanished=titles[one.vanished], new=titles[one.new], alike=round(one.alike, 3))
            for one in found.renamed
        ],
        notes=[_strange(label, files) for label, files in found.strange.items() if files],
    )


def _row(
    kind: Kind,
    reason: str,
    suspects: tuple[str, ...],
    parts: list[BlamedPart],
    effects: list[BlamedPart],
    found: blame_delta.Blamed,
    titles: list[str],
) -> Row:
    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for account, some in enumerate((parts, effects)):
        for part in some:
            sizes[titles[part.function]][account] += part.delta
    shares = [
        Share(function=name, instructions=own, effect=effect)
        for name, (own, effect) in sizes.items()
    ]
    commit = found.commits[reason] if kind == "commit" else None
    return Row(
        kind=kind,
        commit=commit.hash if commit else None,
        subject=commit.subject if commit else SAID[kind].format(reason),
        author_date=commit.author_date if commit else None,
        instructions=sum(part.delta for part in parts),
        added=sum(part.added for part in parts),
        removed=sum(part.removed for part in parts),
        effect=sum(part.delta for part in effects),
        functions=sorted(shares, key=by_size),
        suspects=list(suspects),
        together=sorted(found.together.get(reason, ()) & found.commits.keys()) if commit else [],
    )


def by_size(share: Share) -> tuple[int, int, str]:
    """How functions of a row are sorted."""
    return -abs(share.effect), -abs(share.instructions), share.function


def _titles(comparison: Comparison, every: Sequence[Function]) -> list[str]:
    """Functions as reports print them."""
    known = measure.functions(comparison, np.arange(len(comparison.functions)))
    return [*(one.title for one in known), *(one.name for one in every[len(known) :])]


def _strange(label: str, files: Sequence[str]) -> str:
    more = len(files) - 1
    several = f" and {units.counted(more, 'more file')}" if more else ""
    return (
        f"{files[0]}{several} of {label}: functions are not where the debug information has them, "
        "so that it is another version: its lines are unmatched"
    )
