"""A mail of the 0-day robot: which commit it reports, on which tests, with which tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from profdiff.base.errors import InputError
from profdiff.evidence.lkp.table import MAX_LINES, Row, Table, tables, unquoted

Word = Literal["regression", "improvement", ""]

_METRIC = r"([\w.:+/-]{3,200})"
_CHANGE = r"-?\d{1,20}(?:\.\d{1,20})?%"
_TOLD = re.compile(
    rf"noticed an? {_CHANGE} (regression|improvement) of {_METRIC} (?:on:|due to commit:)"
)
_SUBJECT = re.compile(rf"{_METRIC} +{_CHANGE} +(regression|improvement)")
# In the box of further tests.
_BOXED = re.compile(rf"\| testcase: change \| [\w.:-]{{2,100}}: +{_METRIC} +{_CHANGE} +(\w+)")
_COMMIT = re.compile(r'commit: ([0-9a-f]{10,40})\b(?: \("(.{0,300})"\))?')
_URL = re.compile(r"(?:url: )?(https?://[\w./~:@%+-]{5,300})(?: [\w./-]+)?")
_MACHINE = re.compile(r"(?:on )?test machine: (.{1,200})")
_SHORTEST = 10


@dataclass(frozen=True)
class Case:
    """A test, and its table. ``metric``: the row that the mail reports, None where it names none
    that the table has; ``word``: what it calls its change; ``column``: of the reported commit."""

    table: Table
    metric: str | None
    word: Word
    column: int

    def row(self, metric: str) -> Row | None:
        """The row of a metric, None where it did not change, or the mail leaves it out."""
        return self.table.rows.get(metric)


@dataclass(frozen=True)
class Report:
    """``commit``: a hash as long as the mail has it, "" where it reports none; ``tree``: the URL of
    a repository that has it; ``cases``: at least one, the reported test first."""

    commit: str
    subject: str
    tree: str
    machine: str
    cases: Sequence[Case]

    @staticmethod
    def read(subject: str, text: str) -> "Report":
        """Read a mail's subject and plain text. Raises InputError where it has no such table."""
        lines = list(unquoted(text))[:MAX_LINES]
        found = tables(lines)
        if not found:
            raise InputError(
                "it has no table of the 0-day robot's, in which heads of commits stand above a "
                "rule and rows of metrics: give the robot's own mail, whole"
            )
        commit, told = _commit(lines)
        changes = list(_changes(subject, lines))
        cases = [_case(table, commit, changes, number) for number, table in enumerate(found)]
        # What somebody cites in front of it is not the table that the mail is about.
        cases = [case for case in cases if case.metric] or cases
        cases.sort(key=lambda case: not changes or case.metric != changes[0][0])
        return Report(commit, told, _first(_URL, lines), _first(_MACHINE, lines), cases)


def _commit(lines: Sequence[str]) -> tuple[str, str]:
    for line in lines:
        if (found := _COMMIT.match(line)) is not None:
            return found[1], _printable(found[2] or "")
    return "", ""


def _changes(subject: str, lines: Sequence[str]) -> Iterator[tuple[str, Word]]:
    """Metrics that the mail reports, with its word for their change, in its order."""
    for line in lines:
        if (told := _TOLD.search(line)) is not None:
            yield told[2], _word(told[1])
        elif (boxed := _BOXED.search(line)) is not None:
            yield boxed[1], _word(boxed[2])
    if (named := _SUBJECT.search(" ".join(subject.split()))) is not None:
        yield named[1], _word(named[2])


def _word(text: str) -> Word:
    return "regression" if text == "regression" else "improvement" if text[:1] == "i" else ""


def _case(table: Table, commit: str, changes: Sequence[tuple[str, Word]], number: int) -> Case:
    """The metric at the table's own place in the order, where it has it; or else the first one that
    it has."""
    order = [*changes[number : number + 1], *changes]
    for metric, word in order:
        if metric in table.rows:
            return Case(table, metric, word, _column(table, commit))
    return Case(table, _workloads(table), "", _column(table, commit))


def _workloads(table: Table) -> str | None:
    """The first row that the workload itself printed."""
    test = table.parameters.get("testcase", "")
    own = [name for name in table.rows if test and name.startswith(f"{test}.")]
    return next((name for name in own if not name.startswith(f"{test}.time.")), None)


def _column(table: Table, commit: str) -> int:
    """Where the reported commit is; the first beside the base's where none has its name."""
    names = [one.name for one in table.revisions]
    for column in range(1, len(table.heads)):
        for known in (table.heads[column], *names[column : column + 1]):
            length = min(len(known), len(commit))
            if length >= _SHORTEST and known[:length] == commit[:length]:
                return column
    return 1


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> str:
    """What the first line in which it stands at the beginning has, "" for none."""
    matches = (pattern.match(line) for line in lines)
    return _printable(next((one[1] for one in matches if one), "")).strip()


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)
