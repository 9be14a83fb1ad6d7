"""Judged conditions for other programs: as Markdown for the file that GITHUB_STEP_SUMMARY names,
and as a JUnit file, which Jenkins, GitLab and others read.

JUnit's elements and attributes are those of Jenkins' schema (jenkinsci/xunit-plugin,
junit-10.xsd).
"""

import string
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from profdiff.base import units
from profdiff.evidence.conditions.condition import Judgement
from profdiff.views.rows.judgements import VERDICTS, notes, relative, sentence, values

_COLUMNS = ("result", "fails if", "kernel", "change", "base", "other", "note")
# An entity never counts as Markdown or HTML (GitHub Flavored Markdown, 2.5 and 6.2).
_ENTITIES = str.maketrans({mark: f"&#{ord(mark)};" for mark in string.punctuation})


def render_github_summary(judgements: Sequence[Judgement]) -> bytes:
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


def render_junit(judgements: Sequence[Judgement]) -> bytes:
    """A suite for each kernel, a case for each condition; a case fails where the condition holds,
    and is skipped where that is inconclusive."""
    root = ET.Element("testsuites", {"name": "profdiff check", **_counts(judgements)})
    for kernel in dict.fromkeys(judgement.change.where for judgement in judgements):
        name = units.printable(kernel)
        cases = [judgement for judgement in judgements if judgement.change.where == kernel]
        skipped = sum(judgement.outcome == "inconclusive" for judgement in cases)
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(cases)})
        suite.set("skipped", str(skipped))
        for judgement in cases:
            condition = units.printable(str(judgement.condition))
            case = ET.SubElement(suite, "testcase", name=condition, classname=name, time="0")
            told = sentence(judgement)
            if judgement.outcome == "holds":
                ET.SubElement(case, "failure", type="condition", message=told).text = told
            elif judgement.outcome == "inconclusive":
                ET.SubElement(case, "skipped", message=told)
            else:
                ET.SubElement(case, "system-out").text = told
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _counts(judgements: Sequence[Judgement]) -> dict[str, str]:
    failures = sum(judgement.outcome == "holds" for judgement in judgements)
    return {"tests": str(len(judgements)), "failures": str(failures), "errors": "0"}
