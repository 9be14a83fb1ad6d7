"""Judged conditions as Markdown, for the file that GITHUB_STEP_SUMMARY names."""

import string
from collections.abc import Sequence

from profdiff.base import units
from profdiff.evidence.conditions.condition import Judgement
from profdiff.views.judgements import VERDICTS, notes, relative, values

_COLUMNS = ("result", "fails if", "kernel", "change", "base", "other", "note")
# An entity never counts as Markdown or HTML (GitHub Flavored Markdown, 2.5 and 6.2).
_ENTITIES = str.maketrans({mark: f"&#{ord(mark)};" for mark in string.punctuation})


def render(judgements: Sequence[Judgement]) -> bytes:
    """A sentence and a table, a row for each judgement, failing ones first."""
    verdicts = list(VERDICTS.values())
    judged = [(VERDICTS[judgement.outcome], judgement) for judgement in judgements]
    order = (verdicts[0], verdicts[2], verdicts[1])
    counts = [(sum(verdict == one for one, _ in judged), verdict) for verdict in order]
    told = ", ".join(f"{verdict}: {count}" for count, verdict in counts if count)
    lines = ["### profdiff check", "", f"{told or 'nothing judged'}", ""]
    if judged:
        lines += [f"| {' | '.join(_COLUMNS)} |", "|" + " --- |" * len(_COLUMNS)]
        judged.sort(key=lambda pair: order.index(pair[0]))
        lines += [_row(verdict, judgement) for verdict, judgement in judged]
    return ("\n".join(lines) + "\n").encode(errors="backslashreplace")


def _row(verdict: str, judgement: Judgement) -> str:
    change, (counted, per) = judgement.change, values(judgement)
    cells = [
        f"**{verdict}**" if judgement.outcome == "holds" else verdict,
        _code(str(judgement.condition)),
        _code(change.where),
        relative(change),
        *(one + per for one in counted),
        _text(notes(change)),
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    # In code nobody is mentioned and nothing is linked.
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    return units.printable(text).translate(_ENTITIES)
