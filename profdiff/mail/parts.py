"""From a recording over several architectures, or compilers, to the letter about it: what each
costs there, side by side."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import largest_change
from profdiff.evidence.parts import PartsFindings, PartsMetric
from profdiff.forms.text import drawn
from profdiff.mail import content, measured
from profdiff.mail.content import MailOptions
from profdiff.mail.letter import Letter, Notes, Part, Prose, Section
from profdiff.mail.measured import basis
from profdiff.mail.tables import WIDTH, table
from profdiff.reports.text.parts import draw, functions_table
from profdiff.session import manifest as m
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims import claim as claims
from profdiff.views.kernels import state
from profdiff.views.parts.claim import PartsClaim, alike, function_sentences, parts_claim
from profdiff.views.parts.functions import parts_functions
from profdiff.views.parts.results import grids
from profdiff.views.results.result import ABSENT


def letter(findings: PartsFindings, wishes: MailOptions) -> Letter:
    """The letter about what several architectures, or compilers, show."""
    return content.fitting(lambda wishes: _letter(findings, wishes), wishes)


def _letter(findings: PartsFindings, wishes: MailOptions) -> Letter:
    parts = findings.parts
    first = next(iter(parts.values()))
    name = claims.workload_name(first)
    claim = parts_claim(findings.results, findings.setting, findings.names, name)
    subject, sentence = _claimed(findings, name, claim)
    opening: list[Part] = [Prose(text) for text in claim.more] if claim else []
    opening += _alike(parts, measured.state_differences)
    opening += _alike(parts, _basis)
    sections = {
        "result": Section("", _tables(findings, claim)),
        "functions": Section("", _functions(findings, wishes.top)),
        "measured": Section("How it was measured", _alike(parts, _measured, findings.missing)),
        "state": Section("", _alike(parts, _state)),
        "config": Section("", _alike(parts, _config)),
        "reproducer": content.reproduce(_whole(findings, first), wishes.reproducer),
    }
    kept = [
        content.plain(section) for name, section in sections.items() if name not in wishes.without
    ]
    if wishes.real_use:
        kept.append(Section("", [Prose(f"Used by: {wishes.real_use}", 2)], bounded=False))
    if wishes.checklist:
        kept.append(Section("Checklist", [Notes(boxes(findings, wishes), 4)], bounded=False))
    return Letter(
        subject=subject,
        sentence=measured.without_paths(sentence),
        opening=[content.without_paths(part) for part in opening],
        sections=kept,
        trailers=wishes.trailers,
        regzbot=wishes.regzbot,
        footer=content.footer(first, wishes.command),
        quote=wishes.quote,
    )


def boxes(findings: PartsFindings, wishes: MailOptions) -> list[str]:
    """The checklist, a line for each item: done where every part has it, and what the first
    that has it not lacks."""
    by_part = {name: content.boxes(part, wishes) for name, part in findings.parts.items()}
    lines = []
    for told in zip(*by_part.values(), strict=True):
        missing = [(name, one) for name, one in zip(by_part, told, strict=True) if one[1] == "_"]
        name, line = missing[0] if missing else ("", told[0])
        lines.append(f"{line} ({name})" if missing and len(set(told)) > 1 else line)
    return lines


def _claimed(findings: PartsFindings, name: str, claim: PartsClaim | None) -> tuple[str, str]:
    """Subject and sentence."""
    if claim is None:
        where = findings.kind.at(" and ".join(findings.names))
        text = f"{name}: measured {where}, nothing to compare"
        return text, f"{text}."
    largest = findings.results.largest(findings.setting)
    subject = f"{name}: {claim.subject}"
    if largest is not None and largest.part in findings.parts:
        part = findings.parts[largest.part]
        label = part.results.labels[largest.change.kernel]
        subject = claims.subject_of(part, label, subject)
    return subject, claim.sentence


def _tables(findings: PartsFindings, claim: PartsClaim | None) -> list[Part]:
    """That of the metric that is claimed, or else the first."""
    results, setting = findings.results, findings.setting
    made = grids(results, setting, findings.names)
    largest = results.largest(setting)
    if claim and largest and results.swept:
        made = [made[results.metrics().index(PartsMetric.of(largest.change.result))]]
    return [table(block) for grid in made[:1] for block in draw(grid, WIDTH)]


def _functions(findings: PartsFindings, top: int) -> list[Part]:
    found = parts_functions(findings, Selection(top=top, min_delta=1))
    shown = functions_table(findings, found) if found else None
    blocks = drawn(shown, "", WIDTH) if shown else []
    parts: list[Part] = [Prose(text) for text in function_sentences(found)] if found else []
    parts += [table(block) for block in blocks]
    if any(ABSENT in line for block in blocks for line in block.body):
        parts.append(Prose(f"{ABSENT}: the {findings.kind.name} does not execute it."))
    return parts


def _alike(
    parts: Mapping[str, Findings],
    parts_of: Callable[[Findings], Sequence[Part]],
    missing: Mapping[str, str] | None = None,
) -> list[Part]:
    """The notes of all parts: once what all of them have alike, then that of each."""
    told = {
        name: [text for one in parts_of(part) for text in _texts(one)]
        for name, part in parts.items()
    }
    same, own = alike(told, missing or {})
    return [Notes([*same, *own], stays=True)] if same or own else []


def _texts(part: Part) -> list[str]:
    if isinstance(part, Notes):
        return list(part.texts)
    return [part.text] if isinstance(part, Prose) else []


def _basis(findings: Findings) -> Sequence[Part]:
    rests = basis(findings, largest_change(findings.results, findings.setting))
    return [Prose(rests)] if rests else []


def _measured(findings: Findings) -> Sequence[Part]:
    largest = largest_change(findings.results, findings.setting)
    kernel = content.about(findings)
    return measured.section(findings, kernel, largest, with_machine=False).parts


def _state(findings: Findings) -> Sequence[Part]:
    """Whether the kernels did the same work in the same state; the figures are in an
    part's own mail."""
    lines = state.lines(findings.state)
    kinds = {line.kind for line in lines}
    rest = "the rest of what is known of " if "differs" in kinds else ""
    works = f" ({told})" if (told := measured.mitigations(findings)) else ""
    same = [Prose(f"{rest}the kernels' state is the same{works}")] if "same" in kinds else []
    return [*same, *(Prose(line.text) for line in lines if line.kind == "unknown")]


def _config(findings: Findings) -> Sequence[Part]:
    """How many options differ: which, a part's own mail says."""
    return measured.config(findings, content.about(findings), named=False).parts


def _whole(findings: PartsFindings, part: Findings) -> Findings:
    """A part's findings with the command that recorded all of them, and the kernels of all."""
    command = list(findings.recording.command)
    kernels = [kernel for one in findings.parts.values() for kernel in one.manifest.kernels]
    return replace(part, manifest=m.replace(part.manifest, command=command, kernels=kernels))
