"""From a session to the letter about it: one function for each section."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from profdiff import __version__
from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.statistics import Verdict
from profdiff.mail import measured, tables, topics
from profdiff.mail.letter import (
    FEWEST_FUNCTIONS,
    LINES,
    ROWS,
    WIDTH,
    Letter,
    Notes,
    Part,
    Prose,
    Quote,
    Section,
    Table,
    Verbatim,
)
from profdiff.mail.measured import basis
from profdiff.mail.reproducer import Reproducer, kernel_lines
from profdiff.profile.sharing.recorded import is_all
from profdiff.session import manifest as m
from profdiff.session.held import held
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.sharing.measure import Lines
from profdiff.topics.types.measure import Accesses
from profdiff.views.bisection import sentences
from profdiff.views.blame import Blame
from profdiff.views.claims import checklist
from profdiff.views.claims.claim import claim
from profdiff.views.results import result, time_split

_MARKS = "profdiff.h"
# How many differences of the builds a message names.
_TOLD = 3
_NO_MARKS = ("PROFDIFF_START()", "PROFDIFF_STOP()", "PROFDIFF_OP()")


@dataclass(frozen=True)
class MailOptions:
    """What the writer adds to what the session knows. ``command``: the command line that made the
    letter; ``without``: names of SECTIONS; ``reproducer``: the source, None where it is not known
    or not wanted; ``trailers`` and ``regzbot`` are checked lines; ``blame``: of the kernel
    that the letter is `about`; ``types``: which data kernels access, None where nobody asked;
    ``inventory`` and ``sharing``: which kinds of instructions ran, and which lines change hands,
    likewise."""

    command: Sequence[str]
    real_use: str | None = None
    top: int = 8
    without: Sequence[str] = ()
    trailers: Sequence[str] = ()
    regzbot: Sequence[str] = ()
    reproducer: Reproducer | None = None
    quote: Quote | None = None
    checklist: bool = False
    blame: Blame | None = None
    types: Accesses | None = None
    inventory: Inventory | None = None
    sharing: Lines | None = None


def about(findings: Findings) -> str:
    """The label of the kernel that the letter is about."""
    return _kernel(findings, largest_change(findings.results, findings.setting))


def refuse_accident(findings: Findings) -> None:
    """Raise InputError if the change that the letter is about is not a regression of the kernel:
    it depends on state or was seen in one, timer ticks can make it, or the kernels are built
    otherwise."""
    found = largest_change(findings.results, findings.setting)
    label = _kernel(findings, found)
    if found is not None:
        _refuse_uncertain(findings, label, found)
    _refuse_other_builds(findings, label)


def _refuse_uncertain(findings: Findings, label: str, found: LargestChange) -> None:
    if found.change.verdict is Verdict.DEPENDS:
        raise InputError(f"--regression: {label}: {result.told(findings, label, found.change)}")
    if found.change.alone:
        raise InputError(
            f"--regression: {label}: {result.told(findings, label, found.change)}, and may be an "
            f"accident of it; to see it in others{_again(findings)}"
        )
    if found.change.verdict is Verdict.UNSURE and found.change.counted:
        raise InputError(
            f"--regression: {label}: {found.change.reason}, and so it may be none: record more ops"
        )


def _refuse_other_builds(findings: Findings, label: str) -> None:
    """Raise InputError if a compiler or an option can have made the change. A bisection builds all
    kernels alike."""
    if findings.manifest.bisection is not None:
        return
    base, facts = findings.kernels[0].label, findings.facts
    pair = [facts.compilers.get(one, "") for one in (base, label)]
    told = [" and ".join(pair)] if all(pair) and pair[0] != pair[1] else []
    options = [one.between(base, label) for one in facts.config if one.relevant and one.everywhere]
    told += [f"{one.option} ({one.values[base]} and {one.values[label]})" for one in options if one]
    if told:
        more = f", and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        raise InputError(
            f"--regression: {base} and {label} are built differently, which may be the cause: "
            f"{', '.join(told[:_TOLD])}{more}: record kernels that are built alike "
            "(git:LINUX@REV), or bisect"
        )


def _again(findings: Findings) -> str:
    """The command that records a session in varied states, too. A suite repeats what changed by
    more, a bisection too; their workload's file may lie elsewhere."""
    words = list(findings.manifest.command)
    suite = any(word.partition("=")[0] == "--suite" for word in words)
    if suite or words[1:2] != ["record"]:
        return f", record its workload by itself with --vary-state {result.MORE}"
    end = words.index("--") if "--" in words else len(words)
    given, command = words[:end], words[end:]
    kept: list[str] = []
    skipped = False
    for word in given:
        if not skipped and not word.startswith("--vary-state"):
            kept.append(word)
        skipped = word == "--vary-state"
    kept += ["--vary-state", str(result.MORE)]
    folder = findings.session.folder if findings.session else None
    if folder is not None and not {"-o", "--output"} & {one.partition("=")[0] for one in kept}:
        kept += ["-o", str(folder.parent if held(folder.parent) == "parts" else folder)]
    return f": {units.printable(shlex.join([*kept, *command]))}"


def letter(findings: Findings, wishes: MailOptions) -> Letter:
    """The letter about what a session shows."""
    return fitting(lambda wishes: _letter(findings, wishes), wishes)


def fitting(make: Callable[[MailOptions], Letter], wishes: MailOptions) -> Letter:
    """The letter that ``make`` makes. Where it is too long, it has fewer functions: the row of the
    others sums up those too."""
    said, top = make(wishes), wishes.top
    while said.excess and top > ROWS:
        top = max(min(top, LINES) - said.excess, ROWS)
        said = make(replace(wishes, top=top))
    while said.remaining and top > FEWEST_FUNCTIONS:
        top -= 1
        said = make(replace(wishes, top=top))
    return said


def _letter(findings: Findings, wishes: MailOptions) -> Letter:
    claimed, largest = claim(findings), largest_change(findings.results, findings.setting)
    kernel = _kernel(findings, largest)
    bisected = findings.manifest.bisection is not None
    lines = _sharing(kernel, wishes.sharing)
    # Where nothing else was recorded, the lines are the result.
    alone = is_all(findings.manifest) and bool(lines.parts)
    sections = {
        "result": lines if alone else _result(findings, largest),
        "bisection": _bisection(findings),
        "fits": topics.sentences_section("fits", findings, kernel),
        "gaps": topics.sentences_section("gaps", findings),
        "functions": _functions(findings, kernel, wishes.top),
        "paths": topics.paths_section(findings, kernel),
        "programs": topics.programs_section(findings),
        "events": topics.events_section(findings, kernel, _where(findings, kernel)),
        "inventory": topics.items_section(
            findings, wishes.inventory, kernel, _where(findings, kernel)
        ),
        "memory": topics.memory_section(findings, kernel),
        "prices": topics.costs_section(findings, kernel),
        "accesses": _accesses(findings, kernel, wishes.types),
        "sharing": Section("", []) if alone else lines,
        "suspects": topics.suspects_section(None if bisected else wishes.blame),
        "measured": measured.section(findings, kernel, largest),
        "state": measured.states(findings),
        "config": measured.config(findings, kernel),
        "reproducer": reproduce(findings, wishes.reproducer),
    }
    opening: list[Part] = [Prose(" ".join(claimed.more))] if claimed.more else []
    opening += measured.state_differences(findings)
    if rests := basis(findings, largest):
        opening.append(Prose(rests))
    kept = [plain(section) for name, section in sections.items() if name not in wishes.without]
    if wishes.real_use:
        used = Prose(f"Used by: {wishes.real_use}", 2)
        kept.append(Section("", [used], bounded=False))
    if wishes.checklist:
        kept.append(Section("Checklist", [Notes(boxes(findings, wishes), 4)], bounded=False))
    return Letter(
        subject=claimed.subject,
        sentence=measured.without_paths(" ".join([claimed.sentence, *_time(findings, kernel)])),
        opening=[without_paths(part) for part in opening],
        sections=kept,
        trailers=wishes.trailers,
        regzbot=wishes.regzbot,
        footer=footer(findings, wishes.command),
        quote=wishes.quote,
    )


def boxes(findings: Findings, wishes: MailOptions) -> list[str]:
    """The checklist, a line for each item."""
    fixes = [
        trailer.partition(": ")[2] for trailer in wishes.trailers if trailer.startswith("Fixes: ")
    ]
    source: Literal["included", "too long"] | None = None
    if wishes.reproducer and "reproducer" not in wishes.without:
        source = "included" if wishes.reproducer.text is not None else "too long"
    known = checklist.Grounds(findings, wishes.real_use, fixes[0] if fixes else None, source)
    return [
        f"[{'x' if item.done else '_'}] {item.text}: {item.note}" for item in checklist.items(known)
    ]


def _kernel(findings: Findings, largest: LargestChange | None) -> str:
    if largest:
        return findings.results.kernels[largest.kernel].label
    if findings.comparisons:
        comparison = findings.comparisons[0]
        totals = comparison.totals().tolist()
        return comparison.labels[max(range(len(totals)), key=lambda at: (at > 0, totals[at]))]
    return findings.kernels[-1].label


def _result(findings: Findings, largest: LargestChange | None) -> Section:
    """The sweep, the metrics or the ladder, and the values of boots where they scatter."""
    if largest is None:
        comparisons = findings.comparisons
        return Section("", tables.recordings(comparisons[0]) if comparisons else [])
    shown = largest.result.collector, largest.result.metric
    # The last row of the functions' table is the only value of a metric at one point.
    summed = any((one.runs[0].collector, one.metric) == shown for one in findings.comparisons[:1])
    alone = not findings.results.swept and not findings.results.varied
    counted = summed and alone and len(findings.kernels) < 3
    parts = [] if counted else tables.changes(findings, largest)
    values = [units.ended(boot, 2 * WIDTH - 4) for boot in tables.boots(findings, largest)]
    return Section("", [*parts, *([Notes(values)] if values else [])])


def _bisection(findings: Findings) -> Section:
    """The section about a bisection, of its last session."""
    found = findings.manifest.bisection
    return Section("", [Notes(sentences(found), stays=True)] if found else [])


def _where(findings: Findings, kernel: str) -> str:
    """What the figures of functions and data are of."""
    at = f" at {findings.setting.title}" if findings.setting.title else ""
    return at + result.where(findings, kernel)


def _accesses(findings: Findings, kernel: str, types: Accesses | None) -> Section:
    """The data that the kernel accesses more, or less."""
    if types is None or kernel not in types.labels[1:]:
        return Section("", [])
    return Section("", topics.parts(types, kernel, _where(findings, kernel)))


def _time(findings: Findings, kernel: str) -> list[str]:
    """What of the kernel's time instructions are, where that is less than half."""
    found = time_split.said(findings.results, findings.setting)
    return [one.sentence for one in found if one.label == kernel and one.less_than_half]


def _sharing(kernel: str, lines: Lines | None) -> Section:
    """The lines that change hands, of a kernel for which they are known."""
    if lines is None:
        return Section("", [])
    known = kernel if kernel in lines.labels else lines.labels[-1]
    return Section("", topics.sharing_parts(lines, known))


def _functions(findings: Findings, kernel: str, top: int) -> Section:
    """The functions by the first metric that has a profile of the kernel."""
    for comparison in findings.comparisons:
        if kernel in comparison.labels:
            number, setting = comparison.labels.index(kernel), findings.setting
            at = _where(findings, kernel)
            # A bisection's table of results has its steps.
            bisected = findings.manifest.bisection is not None
            steps = [] if bisected else tables.steps(comparison, setting.ops, at)
            changed = tables.functions(comparison, number, setting.ops, at, top)
            return Section("", [*steps, *changed])
    return Section("", [])


def reproduce(findings: Findings, reproducer: Reproducer | None) -> Section:
    commands = [measured.into(one.command, one.name) for one in findings.manifest.recordings]
    lines = [
        typed_command(measured.recorded(m.replace(findings.manifest, command=command)))
        for command in [*commands, findings.manifest.command]
    ]
    parts: list[Part] = [Verbatim("\n".join(lines), 2)]
    if told := kernel_lines(findings):
        parts.append(Notes(told))
    if findings.manifest.workload.replay:
        parts.append(Prose("The trace is the sender's: strace -f -y -o FILE PROGRAM writes one."))
        reproducer = None
    if reproducer and reproducer.text:
        parts += [Prose(f"{reproducer.name}:"), Verbatim(reproducer.text)]
        if _MARKS in reproducer.text:
            used = [mark for mark in _NO_MARKS if mark.removesuffix("()") in reproducer.text]
            words = [*(f"-D{one}=" for one in used), reproducer.name]
            built = f"touch {_MARKS}; cc -O2 -pthread {shlex.join(words)}"
            why = f"To build it without profdiff ({_MARKS} only marks the region to count):"
            parts += [Prose(why), Verbatim(built, 2)]
    elif reproducer:
        parts.append(Prose(f"{reproducer.name} is too long for this mail."))
    return Section("How to reproduce", parts, bounded=False)


def typed_command(words: Sequence[str]) -> str:
    """A command line for a shell; where it is long, an option stands on one line with its value."""
    parts: list[str] = []
    options = True
    for word in words:
        bare = bool(parts) and parts[-1].startswith("-") and " " not in parts[-1]
        if options and bare and not word.startswith("-"):
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
        options = options and word != "--"
    lines = [""]
    for part in parts:
        if lines[-1] and len(f"{lines[-1]} {part}") > WIDTH - 8:
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".strip()
    return " \\\n    ".join(lines)


def plain(section: Section) -> Section:
    """A section of ours without paths; a reproducer has none but the source's own."""
    if not section.bounded:
        return section
    return replace(section, parts=[without_paths(part) for part in section.parts])


def without_paths(part: Part) -> Part:
    """A part that names no files of the writer's."""
    if isinstance(part, Prose):
        return replace(part, text=measured.without_paths(part.text))
    if isinstance(part, Notes):
        return replace(part, texts=[measured.without_paths(text) for text in part.texts])
    if isinstance(part, Table):
        rows = [measured.without_paths(row) for row in part.rows]
        return replace(part, rows=rows)
    return part


def footer(findings: Findings, command: Sequence[str]) -> list[str]:
    """The tool and what it was given: Documentation/process/generated-content.rst."""
    recorded = findings.manifest.profdiff
    by = "" if recorded == __version__ else f"; recorded by profdiff {recorded}"
    words = shlex.join(measured.words_without_paths(command))
    return [units.ended(f"profdiff {__version__}{by}: {units.printable(words)}", 2 * WIDTH)]


def accessed_types(findings: Findings) -> Accesses:
    """Which data the kernels access. Raises InputError where that is not known."""
    try:
        return Accesses.of(findings)
    except InputError as error:
        raise InputError(f"--types: {error}") from error


def executed_items(findings: Findings) -> Inventory:
    """Which kinds of instructions ran. Raises InputError where that is not known."""
    try:
        return Inventory(findings)
    except InputError as error:
        raise InputError(f"--inventory: {error}") from error


def shared_lines(findings: Findings, *, wanted: bool) -> Lines | None:
    """The lines that change hands, at the findings' setting if they were recorded there: if
    ``wanted``, or where nothing else was recorded. Raises InputError where somebody wants them and
    no run recorded them, SessionError."""
    if findings.session is None or not (wanted or is_all(findings.manifest)):
        return None
    try:
        return Lines.near(findings.session, findings.setting)
    except InputError as error:
        if wanted:
            raise InputError(f"--sharing: {error}") from error
        return None
