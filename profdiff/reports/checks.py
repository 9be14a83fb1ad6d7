"""Judged conditions for other programs: as Markdown, for a comment on a pull request and a step's
summary, and as a JUnit file, which Jenkins, GitLab and others read.

JUnit's elements and attributes are those of Jenkins' schema (jenkinsci/xunit-plugin,
junit-10.xsd).
"""

import math
import re
import string
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.evidence.conditions.condition import Checked, Judgement
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.forms import text
from profdiff.forms.numbers import Numbers
from profdiff.reports import suite_document
from profdiff.reports.text.suite import largest
from profdiff.session.state import compare_states
from profdiff.session.suite import Suite
from profdiff.topics.functions import measure, shapes
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answered import leading
from profdiff.views.kernels import state
from profdiff.views.results import result
from profdiff.views.rows.judgements import (
    ACKNOWLEDGED,
    VERDICTS,
    notes,
    relative,
    sentence,
    values,
    verdict,
)

#: Of a comment on GitHub, whose API refuses longer ones: "body is too long".
MAX_CHARACTERS = 65_536
_COLUMNS = ("result", "fails if", "kernel", "change", "base", "other", "note")
_FAILS, _PASSES, _INCONCLUSIVE = VERDICTS.values()
# Behind how many rows of a table are left out.
_MORE = " more, for which a comment has no room"
_TOP, _MAX_LINES, _MAX_LINE = 5, 10, 300
# An entity never counts as Markdown or HTML (GitHub Flavored Markdown, 2.5 and 6.2). Some marks
# mean nothing in either.
_ENTITIES = str.maketrans({mark: f"&#{ord(mark)};" for mark in {*string.punctuation} - {*",%;("}})
# GitHub and GitLab look for these in what is rendered, outside of code; a space without width keeps
# them from naming somebody, an issue, a commit or a place.
_REFERENCES = re.compile(
    r"[@#!~$&]|%(?=[\w\"])|:(?=//)|www(?=\.)|GH(?=-[0-9])"
    r"|(?=[0-9]*[a-f])[0-9a-f]{6}(?=[0-9a-f])",
    re.IGNORECASE,
)


class Block(NamedTuple):
    """A table: ``title`` above it, behind which it is ``folded``."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False


class Context(NamedTuple):
    """What a recording says beside conditions: ``sentences``, what changed most, and whether
    kernels ran in the same ``state``."""

    sentences: Sequence[str] = ()
    largest: Sequence[Block] = ()
    state: Sequence[str] = ()


def of_sessions(parts: Iterable[tuple[str, Findings]]) -> Context:
    """What a session says, named "", or its parts."""
    sentences, blocks, states = list[str](), list[Block](), list[str]()
    for part, found in parts:
        begin = f"{part}: " if part else ""
        said = [*found.foremost, *result.sentences(found, depending=True), *leading(found)]
        sentences += [f"{begin}{one}" for one in said]
        states += [f"{begin}{one.text}" for one in state.lines(found.state)]
        for comparison in found.comparisons[:1]:
            rows = measure.select(comparison, Selection(top=_TOP))
            exact = comparison.metric.exact
            table = (
                shapes.exact(comparison, rows) if exact else shapes.sampled(comparison, rows, None)
            )
            columns, body, _ = text.texts(table, Numbers())
            title = f"{begin}{text.heading(table)}"
            blocks.append(Block(title, [column.title for column in columns], body))
    return Context(sentences, blocks, states)


def of_suite(suite: Suite) -> Context:
    """What a suite says, and its cells that changed most. Raises what ``SuiteResults.gather``
    does."""
    document = suite_document.build(suite)
    title, header, rows = largest(document, _TOP)
    filled = [number for number in range(len(header)) if any(row[number] for row in rows)]
    header, *rows = ([row[number] for number in filled] for row in (header, *rows))
    differ, verdicts = list[str](), Counter[str]()
    for workload, part, session in suite.recorded(lambda *_: None):
        compared = compare_states(session, Results.gather(session.manifest).runs)
        verdicts.update(one.verdict for one in state.points(compared))
        name = "@".join(filter(None, [workload.name, part]))
        lines = state.lines(compared)
        differ += [f"{name}: {one.text}" for one in lines if one.kind == "differs"]
    each = ", ".join(f"{word} {count:,}" for word, count in verdicts.items())
    states = [f"state of cells: {each}", *differ]
    return Context([document.sentence], [Block(title, header, rows)], states)


def render_markdown(found: Checked, context: Context) -> bytes:
    """What fails, what changed most, and folded what is acknowledged and what passes; at most
    ``MAX_CHARACTERS``: rows that are too many are left out, those at the end first."""
    words = [(verdict(one), one) for one in found.judgements]
    order = (_FAILS, _INCONCLUSIVE, ACKNOWLEDGED, _PASSES)
    by_word = {word: [_row(one) for own, one in words if own == word] for word in order}
    counts = ", ".join(f"{word}: {len(rows):,}" for word, rows in by_word.items() if rows)
    head = ["### profdiff check", "", f"**{counts or 'nothing judged'}**"]
    head += _paragraphs(context.sentences)
    tail = _paragraphs([*_limited(context.state), *found.remarks])
    blocks = [Block("", _COLUMNS, [*by_word[_FAILS], *by_word[_INCONCLUSIVE]])]
    blocks += [
        Block(one.title, one.header, [[_code(cell) for cell in row] for row in one.rows])
        for one in context.largest
    ]
    blocks += [
        Block(f"{word}: {len(by_word[word]):,}", _COLUMNS, by_word[word], folded=True)
        for word in (ACKNOWLEDGED, _PASSES)
    ]
    shown = [(block, *_frame(block)) for block in blocks if block.rows]
    fixed = [*head, *tail, *(line for _, before, after in shown for line in (*before, *after))]
    left = MAX_CHARACTERS - sum(len(line) + 1 for line in fixed) - len(shown) * 64
    for block, before, after in shown:
        head += before
        for number, row in enumerate(block.rows):
            line = f"| {' | '.join(row)} |"
            left -= len(line) + 1
            if left < 0:
                head += ["", f"{len(block.rows) - number:,}{_MORE}"]
                break
            head.append(line)
        head += after
    return ("\n".join([*head, *tail]) + "\n").encode(errors="backslashreplace")


def _frame(block: Block) -> tuple[list[str], list[str]]:
    """The lines before a table's rows, and behind them."""
    title = _text(block.title)
    before = ["", f"<details><summary>{title}</summary>"] if block.folded else []
    before += ["", title] if title and not block.folded else []
    names = [_text(name) for name in block.header]
    before += ["", f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]
    return before, ["", "</details>"] if block.folded else []


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return [each for line in _limited(lines) for each in ("", _text(_ended(line)))]


def _ended(text: str) -> str:
    # Marks above letters take no column.
    return units.ended(text[: _MAX_LINE + 1], _MAX_LINE)


def _limited(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], *([f"{more:,} more"] if more > 0 else [])]


def _row(judgement: Judgement) -> list[str]:
    change, (counted, per) = judgement.change, values(judgement)
    measured = [relative(change), *(one + per for one in counted)]
    if math.isnan(change.base) or math.isnan(change.other):
        measured = [""] * len(measured)
    word = verdict(judgement)
    return [
        f"**{word}**" if word == _FAILS else word,
        _code(str(judgement.condition)),
        _code(change.where),
        *measured,
        _text(_ended("; ".join(filter(None, [judgement.acknowledged, notes(change)])))),
    ]


def _code(text: str) -> str:
    # In code nobody is mentioned and nothing is linked.
    return f"<code>{units.printable(text).translate(_ENTITIES)}</code>"


def _text(text: str) -> str:
    return _REFERENCES.sub("\\g<0>\u200b", units.printable(text)).translate(_ENTITIES)


def render_junit(found: Checked) -> bytes:
    """A suite for each kernel, a case for each condition; a case fails where the condition holds,
    and is skipped where that is inconclusive or acknowledged, as pytest's are that were expected
    to fail: readers show no text of a case that passes."""
    judgements = found.judgements
    root = ET.Element("testsuites", {"name": "profdiff check", **_counts(judgements)})
    for kernel in dict.fromkeys(judgement.change.where for judgement in judgements):
        name = units.printable(kernel)
        cases = [judgement for judgement in judgements if judgement.change.where == kernel]
        skipped = sum(verdict(one) in (_INCONCLUSIVE, ACKNOWLEDGED) for one in cases)
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(cases)})
        suite.set("skipped", str(skipped))
        for judgement in cases:
            condition = units.printable(str(judgement.condition))
            case = ET.SubElement(suite, "testcase", name=condition, classname=name, time="0")
            told, word = sentence(judgement), verdict(judgement)
            if word == _FAILS:
                ET.SubElement(case, "failure", type="condition", message=told).text = told
            elif word == _PASSES:
                ET.SubElement(case, "system-out").text = told
            else:
                ET.SubElement(case, "skipped", type=word, message=told)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _counts(judgements: Sequence[Judgement]) -> dict[str, str]:
    failures = sum(verdict(judgement) == _FAILS for judgement in judgements)
    return {"tests": str(len(judgements)), "failures": str(failures), "errors": "0"}
