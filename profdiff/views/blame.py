"""The delta of a kernel by the commits that made it, ``profdiff.blame/1``: what ``blame --json``
writes. ``docs/blame.md`` explains it. The instructions of all rows sum to ``delta``.
"""

from typing import Final, Literal

from profdiff.views.record import Record

SCHEMA: Final = "profdiff.blame/1"

# commit: instructions of lines that a commit added, changed or removed. more-often, other-code:
# of lines that both kernels have, executed more or less often, or compiled to other code.
# unmatched: lines that no commit between the revisions explains (the sources are not those that
# the kernel was built from). no-line: the debug information has none. generated: not in the
# repository. unresolved: no function was found.
Kind = Literal[
    "commit",
    "more-often",
    "other-code",
    "config",
    "unmatched",
    "no-line",
    "generated",
    "unresolved",
]


class Share(Record, frozen=True):
    """What of a row one function has; ``function`` as reports print it."""

    function: str
    instructions: int


class Row(Record, frozen=True):
    """Instructions of one kind. ``commit`` is a hash, ``subject`` and ``author_date`` (ISO 8601)
    are its own. Of other kinds ``subject`` says what they are. ``instructions`` = ``added``
    (executed by the new kernel) + ``removed`` (negative: executed by the base), in the whole
    window. ``suspects``: commits that changed lines of callers, for what is executed more or less
    often. ``functions``: largest first."""

    kind: Kind
    commit: str | None
    subject: str
    author_date: str | None
    instructions: int
    added: int
    removed: int
    functions: list[Share]
    suspects: list[str]


class Pair(Record, frozen=True):
    """A function that vanished and a new one that may be it, renamed or moved. ``alike``: from 0 to
    1, how much of their code or source is the same."""

    vanished: str
    new: str
    alike: float


class Blame(Record, frozen=True):
    """``base`` and ``new``: labels; ``revisions``: by label. Rows are sorted by size."""

    schema: Literal["profdiff.blame/1"]
    base: str
    new: str
    revisions: dict[str, str]
    ops: int | None
    delta: int
    rows: list[Row]
    renamed: list[Pair]
    notes: list[str]
