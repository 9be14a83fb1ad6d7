"""From a session to the letter about it: one function for each section."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profdiff import __version__
from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.mail import measured
from profdiff.mail.letter import WIDTH, Letter, Notes, Part, Prose, Quote, Section, Table, Verbatim
from profdiff.mail.reproducer import Reproducer
from profdiff.reports import experiment_text, table, text
from profdiff.reports.table import Block, Column
from profdiff.views import checklist, experiment, notes, result
from profdiff.views.claim import claim
from profdiff.views.selection import Selection

_MARKS = "profdiff.h"
_NO_MARKS = "'-DPROFDIFF_START()=' '-DPROFDIFF_STOP()='"
_REPRODUCE = "How to reproduce"
_WIDE = 100
# Of more metrics one table is shorter than one each.
_FEW = 8


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
    blocks = text.tables(findings, Selection(top=wishes.top), width=_WIDE)
    opening: list[Part] = [Prose(" ".join(claimed.more))] if claimed.more else []
    if differs := measured.state_differences(findings):
        opening.append(Notes(differs))
    return Letter(
        subject=claimed.subject,
        sentence=claimed.sentence,
        opening=opening,
        sections=[
            measured.section(findings, wishes.real_use),
            _result(findings),
            Section("Which functions", [_part(block) for block in blocks]),
            _reproduce(findings, wishes.reproducer),
            _evidence(findings, wishes),
        ],
        trailers=wishes.trailers,
        regzbot=wishes.regzbot,
        footer=_footer(findings, wishes.command),
        quote=wishes.quote,
    )


def _part(block: Block | str) -> Part:
    """A table of the report, of which title and columns' names stay, and so do the sums below the
    rule; or a paragraph."""
    return Prose(block) if isinstance(block, str) else Table(block.head, block.body, block.tail)


def _result(findings: Findings) -> Section:
    """Sweep or ladder, every boot's value, and how the numbers came about; of recordings that exist
    each one's whole."""
    results, setting = findings.results, findings.setting
    if not results.every:
        return Section("Result", [_totals(findings)] if findings.comparisons else [])
    here = results.at(setting)
    grids = experiment.grids(results, setting)
    # The ladder and the tables kernel by kernel say the same.
    if grids and len(results.kernels) > 2 and not results.swept:
        grids = grids[-len(here) :] if len(here) <= _FEW else grids[: -len(here)]
    parts = [_part(block) for grid in grids for block in experiment_text.draw(grid, _WIDE)]
    if floors := [f"{one.metric.name} {told}" for one in here if (told := result.floor(one))]:
        parts.append(Prose(f"A/A: {', '.join(floors)}."))
    at = f" at {setting.title}" if setting.title else ""
    boots = [
        line
        for one in here
        for kernel in experiment.shown(results, one).kernels
        for line in units.wrap(
            units.printable(f"{one.metric.name}, {kernel.label}: {kernel.values}"), _WIDE, 2
        )
    ]
    parts.append(Table([units.printable(f"Value of every boot{at}, not rounded:")], boots))
    return Section("Result", [*parts, Notes([note.text for note in notes.notes(results)])])


def _totals(findings: Findings) -> Table:
    """Every recording's whole, unrounded, where nothing else tells it."""
    rows = []
    for comparison in findings.comparisons:
        sums = comparison.run_counts.sum(axis=0)
        for run, total in zip(comparison.runs, sums.tolist(), strict=True):
            rows.append([f"{total:,}", comparison.metric.title, run.id])
    columns = [Column("total"), Column("metric"), Column("recording", name=True)]
    (block,) = table.draw("", columns, rows, _WIDE)
    return Table(block.head, block.body)


def _reproduce(findings: Findings, reproducer: Reproducer | None) -> Section:
    parts: list[Part] = [Verbatim(_command(findings.manifest.command), 2)]
    if reproducer and reproducer.text:
        parts += [Prose(f"{reproducer.name}:"), Verbatim(reproducer.text)]
        if _MARKS in reproducer.text:
            built = f"touch {_MARKS}; cc -O2 -pthread {_NO_MARKS} {shlex.quote(reproducer.name)}"
            why = f"To build without profdiff ({_MARKS} only marks the region to count):"
            parts += [Prose(why), Verbatim(built, 2)]
    elif reproducer:
        parts.append(Prose(f"{reproducer.name} is too long for this mail."))
    else:
        parts.append(Prose("The source of the workload is not available."))
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
    source: Literal["included", "too long"] | None = None
    if wishes.reproducer:
        source = "included" if wishes.reproducer.text is not None else "too long"
    known = checklist.Known(findings, wishes.real_use, fixes[0] if fixes else None, source)
    boxes = [
        f"[{'x' if item.done else '_'}] {item.text}: {item.note}" for item in checklist.items(known)
    ]
    return Section("Evidence, and what is missing ([_])", [Notes(boxes, 4)])


def _footer(findings: Findings, command: Sequence[str]) -> list[str]:
    """The tool and what it was given: Documentation/process/generated-content.rst."""
    return [
        f"Text and tables by profdiff {__version__}: {shlex.join(command)}",
        f"Recorded by profdiff {findings.manifest.profdiff}; see '{_REPRODUCE}'.",
    ]
