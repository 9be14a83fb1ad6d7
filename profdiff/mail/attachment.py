"""Files that go along with a mail, where somebody asked for them: lists frown on attachments."""

from dataclasses import dataclass
from typing import Literal

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports import folded_difference, svg
from profdiff.views.claims import answered

Kind = Literal["folded", "svg"]


@dataclass(frozen=True)
class Attachment:
    """A file as plain text; ``note`` says in the mail what it is."""

    name: str
    text: str
    note: str


def attach(kind: Kind, findings: Findings, room: int) -> Attachment:
    """The attachment of the first metric, at most ``room`` octets. Raises InputError where there is
    nothing to show, or the picture is too large."""
    comparisons = findings.comparisons
    if not comparisons or len(comparisons[0].labels) < 2:
        what = "only one kernel" if comparisons else "no profile"
        raise InputError(f"--attach {kind}: the session has {what}, so there is no difference")
    return _svg(findings, room) if kind == "svg" else _folded(comparisons[0], room)


def _svg(findings: Findings, room: int) -> Attachment:
    text = svg.difference(findings.comparisons, answered.first(findings)).decode(
        errors="backslashreplace"
    )
    if len(text.encode()) > room:
        raise InputError(
            f"--attach svg: the picture has {len(text.encode()):,} octets, the mail has room "
            f"for {room:,}: publish it in a lasting place and link to it"
        )
    return Attachment("difference.svg", text, "difference.svg: the difference as a flamegraph")


def _folded(comparison: Comparison, room: int) -> Attachment:
    """The stacks whose counts differ most between the base and the kernel that costs most, sorted,
    as many as there is room for."""
    most = 1 + int(comparison.totals()[1:].argmax())
    label, lines = list(folded_difference.files(comparison))[most - 1]
    every = lines.decode().splitlines(keepends=True)
    kept = []
    for line in sorted(every, key=_difference, reverse=True):
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    what = f"the {len(kept):,} of {len(every):,} stacks that differ most"
    return Attachment(
        "difference.folded",
        "".join(sorted(kept)),
        f"difference.folded: {what if len(kept) < len(every) else 'all stacks'}, with their "
        f"{comparison.metric.title} on {comparison.labels[0]} and on {label}; for flamegraph.pl",
    )


def _difference(line: str) -> int:
    _, base, other = line.rsplit(" ", 2)
    return abs(int(other) - int(base))
