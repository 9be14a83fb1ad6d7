"""Judged conditions as a JUnit file, which Jenkins, GitLab and others read.

The elements and attributes are those of Jenkins' schema (jenkinsci/xunit-plugin, junit-10.xsd).
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from profdiff.base import units
from profdiff.evidence.conditions.condition import Judgement
from profdiff.views.judgements import sentence


def render(judgements: Sequence[Judgement]) -> bytes:
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
