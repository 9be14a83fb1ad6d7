"""From a session to the letter about it: one function for each section."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from profdiff import __version__
from profdiff.comparison import Comparison
from profdiff.findings import Findings
from profdiff.mail import checklist, measured
from profdiff.mail.letter import (
    Checklist,
    Letter,
    Notes,
    Part,
    Prose,
    Quote,
    Section,
    Table,
    Verbatim,
)
from profdiff.mail.reproducer import Reproducer
from profdiff.reports import evidence_rows, evidence_text, summary, text, units
from profdiff.reports.rows import Selection

_WIDTH = 100
_MAX_SUBJECT = 150
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
    return Letter(
        subject=_subject(findings),
        sentence=_sentence(findings),
        sections=[
            measured.section(findings, wishes.real_use),
            _experiment(findings),
            _result(findings, wishes.top),
            _reproduce(findings, wishes.reproducer),
            _evidence(findings, wishes),
        ],
        trailers=wishes.trailers,
        regzbot=wishes.regzbot,
        footer=_footer(findings, wishes.command),
        quote=wishes.quote,
    )


def _subject(findings: Findings) -> str:
    if not findings.comparisons:
        return units.shorten(_sentence(findings), _MAX_SUBJECT)
    name, how_much, other, base = _difference(findings.comparisons[0])
    where = f"on {other} than on {base}" if other else f"on {base}"
    return units.shorten(f"{name}: {how_much} {where}".replace(" Linux ", " "), _MAX_SUBJECT)


def _sentence(findings: Findings) -> str:
    if not findings.comparisons:
        said = evidence_text.answers(findings.evidence, findings.setting)
        return units.printable(f"{_name(findings)}: {said[0] if said else 'no kernel is compared'}")
    comparison = findings.comparisons[0]
    name, how_much, other, base = _difference(comparison)
    verb = "executes" if comparison.metric.exact else "takes"
    architecture = measured.architecture(findings) or "an unknown architecture"
    where = f"{architecture} under an emulator" if measured.emulated(findings) else architecture
    kernels = f"on {other} than on {base}" if other else f"on {base}"
    return f"{name} {verb} {how_much} {kernels}, on {where}."


def _name(findings: Findings | Comparison) -> str:
    """What a reader calls the workload."""
    argv = findings.manifest.workload.argv
    return units.printable(Path(argv[0]).name if argv else "") or "The workload"


def _difference(comparison: Comparison) -> tuple[str, str, str, str]:
    """The workload's name, how much more or less it costs, on which kernel ("" if there is but
    one), than on which: the kernel on which it costs most stands for all."""
    name = _name(comparison)
    metric = comparison.metric
    what = metric.name if metric.exact else metric.title
    totals = comparison.totals()
    base = _named(comparison, 0)
    if len(totals) == 1:
        return name, f"{totals[0]:,} {what}", "", base
    most = 1 + int(totals[1:].argmax())
    before, after = int(totals[0]), int(totals[most])
    if before == after:
        how_much = f"no more {what}"
    elif before == 0:
        how_much = f"{after:,} more {what}"
    else:
        more = "more" if after > before else "less" if what.endswith(")") else "fewer"
        how_much = f"{100 * abs(after - before) / before:,.1f} % {more} {what}"
    return name, how_much, _named(comparison, most), base


def _named(comparison: Comparison, kernel: int) -> str:
    """A kernel's release, and its label where that says more."""
    one = comparison.kernels[kernel]
    if not one.release:
        return f"kernel {one.label}"
    release = f"Linux {units.printable(one.release)}"
    return release if one.label.removeprefix("v") in release else f"{release} ({one.label})"


def _experiment(findings: Findings) -> Section:
    """The sweep, the ladder, and every boot's value: where more than two runs were made."""
    evidence, setting = findings.evidence, findings.setting
    if not evidence_text.worth_showing(evidence):
        return Section("", [])
    parts: list[Part] = [Notes(evidence_text.answers(evidence, setting))]
    for table in evidence_rows.tables(evidence, setting):
        parts += _tables(evidence_text.draw(table, _WIDTH))
    parts.append(Table(["every boot, not rounded"], evidence_rows.boots(evidence, setting)))
    return Section("Every kernel and size", parts)


def _result(findings: Findings, top: int) -> Section:
    parts: list[Part] = [
        Prose(sentence)
        for comparison in findings.comparisons
        for sentence in summary.answers(comparison)
    ]
    lines = text.tables(findings, Selection(top=top), width=_WIDTH)
    return Section("Which functions" if lines else "", [*parts, *_tables(lines)])


def _tables(lines: Sequence[str]) -> list[Part]:
    """Tables of a report: title and columns' names stay, and so do the sums below the rule."""
    found: list[Part] = []
    for blank, members in groupby(lines, key=lambda line: not line.strip()):
        block = list(members)
        if blank:
            continue
        rules = [index for index, line in enumerate(block) if set(line.strip()) == {"-"}]
        end = rules[0] if rules else len(block)
        found.append(Table(block[:2], block[2:end], block[max(end, 2) :]))
    return found


def _reproduce(findings: Findings, reproducer: Reproducer | None) -> Section:
    parts: list[Part] = [Verbatim(shlex.join(findings.manifest.command), 2)]
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


def _evidence(findings: Findings, wishes: Wishes) -> Section:
    fixes = [one.partition(": ")[2] for one in wishes.trailers if one.startswith("Fixes: ")]
    known = checklist.Evidence(
        findings, wishes.real_use, fixes[0] if fixes else None, wishes.reproducer
    )
    return Section("Evidence, and what is missing", [Checklist(checklist.items(known))])


def _footer(findings: Findings, command: Sequence[str]) -> list[str]:
    """The tool and what it was given: Documentation/process/generated-content.rst."""
    return [
        f"Text and tables by profdiff {__version__}: {shlex.join(command)}",
        f"Recorded by profdiff {findings.manifest.profdiff}, as said under '{_REPRODUCE}'.",
    ]
