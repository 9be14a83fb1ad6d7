"""From a session to the letter about it: one function for each section."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from profdiff import __version__
from profdiff.evidence.findings import Findings
from profdiff.mail import checklist, measured, results
from profdiff.mail.claim import claim
from profdiff.mail.letter import (
    WIDTH,
    Checklist,
    Letter,
    Notes,
    Part,
    Prose,
    Quote,
    Section,
    Verbatim,
)
from profdiff.mail.reproducer import Reproducer

_MARKS = "profdiff.h"
_NO_MARKS = "'-DPROFDIFF_START()=' '-DPROFDIFF_STOP()='"
_REPRODUCE = "How to reproduce"


@dataclass(frozen=True)
class Wishes:
    """What the writer adds to what the session knows. ``command``: the command line that made the
    letter; ``trailers`` and ``regzbot`` are checked lines."""

    command: Sequence[str]
    real_use: str | None = None
    top: int = 20
    trailers: Sequence[str] = ()
    regzbot: Sequence[str] = ()
    reproducer: Reproducer | None = None
    quote: Quote | None = None


def letter(findings: Findings, wishes: Wishes) -> Letter:
    """The letter about what a session shows."""
    claimed = claim(findings)
    opening: list[Part] = [Prose(" ".join(claimed.more))] if claimed.more else []
    if differs := measured.state_differences(findings):
        opening.append(Notes(differs))
    return Letter(
        subject=claimed.subject,
        sentence=claimed.sentence,
        opening=opening,
        sections=[
            measured.section(findings, wishes.real_use),
            results.section(findings),
            results.functions(findings, wishes.top),
            _reproduce(findings, wishes.reproducer),
            _evidence(findings, wishes),
        ],
        trailers=wishes.trailers,
        regzbot=wishes.regzbot,
        footer=_footer(findings, wishes.command),
        quote=wishes.quote,
    )


def _reproduce(findings: Findings, reproducer: Reproducer | None) -> Section:
    parts: list[Part] = [Verbatim(_command(findings.manifest.command), 2)]
    if reproducer and reproducer.text:
        parts += [Prose(f"{reproducer.name}:"), Verbatim(reproducer.text)]
        if _MARKS in reproducer.text:
            built = f"touch {_MARKS}; cc -O2 -pthread {_NO_MARKS} {shlex.quote(reproducer.name)}"
            parts += [Prose(f"Without profdiff, whose {_MARKS} marks what is counted:")]
            parts += [Verbatim(built, 2)]
    elif reproducer:
        parts.append(Prose(f"{reproducer.name} is too long for this mail."))
    else:
        parts.append(Prose("The source of the workload is not here."))
    return Section(_REPRODUCE, parts)


def _command(words: Sequence[str]) -> str:
    """A command line for a shell, an option and its value on a line where it is long."""
    lines = [""]
    for word in map(shlex.quote, words):
        full = len(lines[-1]) + 1 + len(word) > WIDTH - 8
        if lines[-1] and (full or (len(shlex.join(words)) > WIDTH and word.startswith("--"))):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return " \\\n    ".join(lines)


def _evidence(findings: Findings, wishes: Wishes) -> Section:
    fixes = [one.partition(": ")[2] for one in wishes.trailers if one.startswith("Fixes: ")]
    known = checklist.Evidence(
        findings, wishes.real_use, fixes[0] if fixes else None, wishes.reproducer
    )
    return Section("Evidence, and what is missing ([_])", [Checklist(checklist.items(known))])


def _footer(findings: Findings, command: Sequence[str]) -> list[str]:
    """The tool and what it was given: Documentation/process/generated-content.rst."""
    return [
        f"Text and tables by profdiff {__version__}: {shlex.join(command)}",
        f"Recorded by profdiff {findings.manifest.profdiff}, as said under '{_REPRODUCE}'.",
    ]
