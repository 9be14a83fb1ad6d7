"""The table of functions' code as text: how large it is, and whether it ran inlined."""

from profdiff.forms.columns import Block, Column, draw
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.inline_sites import CodeSizes, Inlining, code_sizes, inlining
from profdiff.session.session import Session
from profdiff.topics.functions import measure
from profdiff.topics.functions.measure import Rows
from profdiff.views.profile.code import way

_LEGEND = (
    "Code: bytes with what is inlined, in functions that ran; inlined N: in N places; both: also "
    "called by itself."
)


def render(
    comparison: Comparison, session: Session | None, rows: Rows, width: int
) -> list[Block | str]:
    """The shown functions that differ from the base's; all, if there is a single kernel.
    Nothing where none does."""
    if not class_names(comparison):
        return []
    sizes, ran = code_sizes(comparison, session), inlining(comparison)
    labels, alone = comparison.labels, len(comparison.labels) == 1
    named = measure.functions(comparison, rows.shown)
    body = []
    for row, one in zip(rows.shown.tolist(), named, strict=True):
        ways = [_way(ran, row, kernel) for kernel in range(len(labels))]
        cells = [*(_size(sizes, row, kernel) for kernel in range(len(labels))), *ways]
        if alone or len({*cells[: len(labels)]}) > 1 or len({*ways}) > 1:
            body.append([*cells, one.title])
    missing = [f"{label}: {why}" for label, why in zip(labels, sizes.missing, strict=True) if why]
    told: list[Block | str] = (
        [f"Code sizes are not known: {'; '.join(missing)}."] if missing else []
    )
    if not body:
        return told
    several = len(labels) > 2
    columns = [
        Column(f"{what} {label}", part=part if several else None, spare=0)
        for what in ("code", "ran")
        for part, label in enumerate(labels)
    ]
    title = "code of functions in bytes" + ("" if alone else ", where it differs")
    blocks = draw(title, [*columns, Column("function", name=True)], body, width)
    return [*blocks, *told, _LEGEND]


def _size(sizes: CodeSizes, row: int, kernel: int) -> str:
    size = int(sizes.size[row, kernel])
    return f"{size:,}" if size else "-"


def _way(ran: Inlining, row: int, kernel: int) -> str:
    found, copies = way(ran, row, kernel), int(ran.copies[row, kernel])
    if found == "not executed":
        return "-"
    return f"{found} {copies}" if found in ("inlined", "both") else found
