"""A mail of the 0-day robot: which commit it reports, on which tests, with which tables. These are
comparisons in the layout of https://github.com/intel/lkp-tests, lib/compare.rb: heads of the
commits, a rule, and a row for each metric that changed.

The text is a stranger's: lines, rows, columns and names are bounded, and what does not read as a
row is passed over."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from typing import Literal, NamedTuple

from profdiff.base.errors import InputError

MAX_LINES, MAX_COLUMNS = 100_000, 16
_MAX_TABLES, _MAX_ROWS, _MAX_COMMITS = 32, 20_000, 100
_LONGEST_LINE, _LONGEST_NAME, _LONGEST_TEXT = 2_000, 300, 200
_RULE = re.compile(r"-{10,}(?: +-{10,})+ *")
_NUMBER = r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?"
# Where a mail says a wrong charset, another character stands for the sign (±).
_VALUE = re.compile(rf" *({_NUMBER})(?: *[^\s\d.%+-] *(\d{{1,9}})%)?(?=\s)")
_ROW_CHANGE = re.compile(r" +([+-]\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?)(%?)(?=\s)")
_FAILED = re.compile(r" *(\d{0,9}):(\d{1,9})(?=\s)")
_REPRODUCED = re.compile(r" +-?\d{1,9}%(?=\s)")
_NAME = re.compile(r" +(\S.*)")
_QUOTED = re.compile(r"^(?:> ?)+")
_TABLE_COMMIT = re.compile(r"\s+([\w.+/-]{2,80})(?: +\((.*)\))?\s*")
# What a deviation is at most where none is printed (lkp-tests prints those above 2%).
UNPRINTED = 0.02


@dataclass(frozen=True)
class Mean:
    """``spread``: the standard deviation of the runs as a fraction of their mean, None where it is
    not printed."""

    value: float
    spread: float | None = None


@dataclass(frozen=True)
class Row:
    """``means``: of each column, the base's first; ``changes``: as printed, of each column but the
    base's, percent or, ``in_points``, differences of percentages."""

    metric: str
    means: Sequence[Mean]
    changes: Sequence[float]
    in_points: bool


@dataclass(frozen=True)
class Failures:
    """``failed`` of ``runs``, of each column."""

    name: str
    failed: Sequence[int]
    runs: Sequence[int]


@dataclass(frozen=True)
class Revision:
    """A column's commit as its table names it: a hash or a tag, and its subject, "" for none."""

    name: str
    subject: str = ""


@dataclass
class Table:
    """``parameters``: the test's, by name; ``heads``: what stands above the columns, hashes cut to
    their width; ``revisions``: the same commits with their subjects, empty where they are not
    told."""

    parameters: Mapping[str, str]
    heads: Sequence[str]
    revisions: Sequence[Revision]
    rows: dict[str, Row] = field(default_factory=dict)
    failures: list[Failures] = field(default_factory=list)


def tables(lines: Sequence[str]) -> list[Table]:
    """Those in a mail's lines, with at least a row each, in its order."""
    found: list[Table] = []
    lines = lines[:MAX_LINES]
    for number, line in enumerate(lines):
        if len(found) == _MAX_TABLES:
            break
        if not number or len(line) > _LONGEST_LINE or not _RULE.fullmatch(line.rstrip()):
            continue
        heads = lines[number - 1].split()
        # Some tables rule the column of changes, too.
        if not 2 <= len(heads) <= MAX_COLUMNS or len(line.split()) not in (
            len(heads),
            2 * len(heads) - 1,
        ):
            continue
        above = lines[max(0, number - 60) : number - 1]
        table = Table(_parameters(above), [_text(head) for head in heads], _revisions(above))
        _read_rows(table, lines, number + 1)
        if table.rows:
            found.append(table)
    return found


def _read_rows(table: Table, lines: Sequence[str], start: int) -> None:
    """Read rows until the first empty line; titles of columns do not read as rows."""
    for line in islice(lines, start, start + _MAX_ROWS):
        # A rule begins another table.
        if not line.strip() or (not table.rows and _RULE.fullmatch(line.rstrip())):
            return
        if len(line) > _LONGEST_LINE:
            continue
        columns = len(table.heads)
        if (row := _row(line, columns)) is not None:
            # A metric has one row; a second one is of a reader that went wrong.
            table.rows.setdefault(row.metric, row)
        elif (failures := _failures(line, columns)) is not None:
            table.failures.append(failures)


def _row(line: str, columns: int) -> Row | None:
    means: list[Mean] = []
    changes: list[float] = []
    at, in_points = 0, False
    for column in range(columns):
        if column:
            change = _ROW_CHANGE.match(line, at)
            if change is None or abs(size := float(change[1])) > _MOST_CHANGE:
                return None
            changes.append(size)
            in_points, at = not change[2], change.end()
        value = _VALUE.match(line, at)
        if value is None or not _is_value(number := float(value[1])):
            return None
        means.append(Mean(number, int(value[2]) / 100 if value[2] else None))
        at = value.end()
    name = _NAME.match(line, at)
    return Row(_name(name[1]), means, changes, in_points) if name else None


def _is_value(number: float) -> bool:
    """Whether something can have been measured so, and sums and quotients of some are finite."""
    return number == 0 or _LEAST <= abs(number) <= _MOST


def _failures(line: str, columns: int) -> Failures | None:
    counts: list[tuple[int, int]] = []
    at = 0
    for column in range(columns):
        if column:
            reproduced = _REPRODUCED.match(line, at)
            if reproduced is None:
                return None
            at = reproduced.end()
        cell = _FAILED.match(line, at)
        if cell is None:
            return None
        counts.append((int(cell[1] or 0), int(cell[2])))
        at = cell.end()
    name = _NAME.match(line, at)
    return Failures(_name(name[1]), *map(list, zip(*counts, strict=True))) if name else None


def _parameters(above: Sequence[str]) -> dict[str, str]:
    """Those that two lines name and give: ``mode/test:`` and ``thread/x``."""
    for names, values in reversed(list(pairwise(above))):
        if "/" in names and names.rstrip().endswith(":") and " " not in names.strip():
            keys, given = names.strip().rstrip(":").split("/"), values.strip().split("/")
            if len(keys) == len(given) <= 100:
                return {_text(k): _text(v) for k, v in zip(keys, given, strict=True)}
    return {}


def _revisions(above: Sequence[str]) -> list[Revision]:
    """The lines behind the last ``commit:``."""
    starts = [number for number, line in enumerate(above) if line.strip() == "commit:"]
    if not starts:
        return []
    found = []
    for line in above[starts[-1] + 1 :]:
        matched = _TABLE_COMMIT.fullmatch(line[:_LONGEST_LINE])
        if matched is None:
            break
        subject = (matched[2] or "").strip('"')
        found.append(Revision(_text(matched[1]), _text(subject)))
    return found[:MAX_COLUMNS]


def unquoted(text: str) -> Iterator[str]:
    """The lines of a text without the marks of quotes before them, and with plain blanks."""
    for line in text.replace("\N{NO-BREAK SPACE}", " ").split("\n"):
        yield _QUOTED.sub("", line[:_LONGEST_LINE], count=1).rstrip("\r")


def _name(text: str) -> str:
    """A metric's name: its first word, as remarks may follow."""
    return _text(text.split()[0], _LONGEST_NAME)


def _text(text: str, most: int = _LONGEST_TEXT) -> str:
    return "".join(one if one.isprintable() else "?" for one in text[:most])


Word = Literal["regression", "improvement", ""]

_METRIC = r"([\w.:+/-]{3,200})"
_CHANGE = r"-?(\d{1,20}(?:\.\d{1,20})?)%"
_TOLD = re.compile(
    rf"noticed an? {_CHANGE} (regression|improvement) of {_METRIC} (?:on:|due to commit:)"
)
_SUBJECT = re.compile(rf"{_METRIC} +{_CHANGE} +(regression|improvement)")
# In the box of further tests.
_BOXED = re.compile(rf"\| testcase: change \| [\w.:-]{{2,100}}: +{_METRIC} +{_CHANGE} +(\w+)")
_COMMIT = re.compile(r'commit: ([0-9a-f]{10,40})\b(?: \("(.{0,300})"\))?')
# As subjects have it: "[mm] 8d59d2214c: vm-scalability.throughput -36.6% regression".
_SHORT = re.compile(r"\b([0-9a-f]{10,40}):")
_HASH = re.compile(r"[0-9a-f]{10,40}")
_URL = re.compile(r"(?:url: )?(https?://[\w./~:@%+-]{5,300})(?: [\w./-]+)?")
_MACHINE = re.compile(r"(?:on )?test machine: (.{1,200})")
_SHORTEST = 10
# What a mean can be, but for 0. The robot's change against 0 is one against 1e-100, in percent.
_LEAST, _MOST, _MOST_CHANGE = 1e-12, 1e18, 1e122
# Not what the robot writes: "commit: ...", "url: ...", "| testcase: change | ...".
_PROSE = re.compile(r"(?![\w .-]{1,40}:(?:\s|//)|\w+=)[A-Z\"'(a-z][^|]*[a-z].*")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?]) +")
_CAUSE = re.compile(
    r"\b(?:because|caused? by|due to(?! commit)|root cause|suspect|guess|culprit|bottleneck|"
    r"contention|contended|false sharing|alignment|probably)\b",
    re.I,
)
_MAX_PROSE, _MAX_REMARKS = 40, 2
# Percentages are printed with one digit behind the point.
_AS_PRINTED = 0.06


@dataclass(frozen=True)
class Case:
    """A test, and its table. ``metric``: the row that the mail reports, None where it names none
    that the table has; ``word``: what it calls its change, "" where it does not report this one;
    ``column``: of the reported commit."""

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
    a repository that has it; ``cases``: at least one, the reported test first; ``remarks``:
    sentences that name a cause, which no rule uses."""

    commit: str
    subject: str
    tree: str
    machine: str
    cases: Sequence[Case]
    remarks: Sequence[str] = ()

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
        commit, told = _commit(subject, lines, found)
        changes = list(_changes(subject, lines))
        cases = [_case(table, commit, changes, number) for number, table in enumerate(found)]
        # What somebody cites in front of it is not the table that the mail is about.
        cases = [case for case in cases if case.metric] or cases
        if changes:
            first = changes[0]
            # Prose may cite the table of another machine in front of the mail's own.
            cases.sort(
                key=lambda case: (
                    case.metric != first.metric,
                    not first.is_of(case.table, case.column),
                )
            )
        where = _first(_URL, lines), _first(_MACHINE, lines)
        return Report(commit, told, *where, cases, [*islice(_remarks(lines), _MAX_REMARKS)])


def _remarks(lines: Sequence[str]) -> Iterator[str]:
    """What people write about a cause: sentences of prose, which may run over lines."""
    prose = [line if _PROSE.match(line) else "" for line in lines]
    for whole, paragraph in groupby(prose, key=bool):
        if not whole:
            continue
        text = " ".join(islice(paragraph, _MAX_PROSE))
        for sentence in _SENTENCE_ENDS.split(text):
            if _CAUSE.search(sentence) and not _TOLD.search(sentence):
                words = " ".join(sentence.split())
                yield _text(words) + "..." * (len(words) > _LONGEST_TEXT)


def _commit(subject: str, lines: Sequence[str], found: Sequence[Table]) -> tuple[str, str]:
    """The one that the subject names, or a table's last column has: prose may cite others first."""
    told = [(line[1], _printable(line[2] or "")) for line in map(_COMMIT.match, lines) if line]
    del told[_MAX_COMMITS:]
    subjects = [one[1] for one in [_SHORT.search(" ".join(subject.split()))] if one]
    heads = [head for table in found for head in table.heads[:0:-1] if _HASH.fullmatch(head)]
    for known in (*subjects, *heads):
        for commit, about in told:
            length = min(len(known), len(commit))
            if known[:length] == commit[:length]:
                return commit, about
    if told and not subjects and not heads:
        return told[0]
    # A reply names it in its subject alone, shorter than the table does.
    longer = [head for head in heads for short in subjects if head.startswith(short)]
    return (*longer, *subjects, "")[0], ""


class Change(NamedTuple):
    """What a mail reports of a metric: its word for the change, and the percentage, without its
    sign, which differs between a mail's subject and its text."""

    metric: str
    word: Word
    percent: float

    def is_of(self, table: Table, column: int) -> bool:
        """Whether the table has this change of the metric, as it is printed."""
        row = table.rows.get(self.metric)
        printed = abs(row.changes[column - 1]) if row else math.inf
        return abs(printed - self.percent) < _AS_PRINTED


def _changes(subject: str, lines: Sequence[str]) -> Iterator[Change]:
    """What the mail reports, in its order."""
    for line in lines:
        if (told := _TOLD.search(line)) is not None:
            yield Change(told[3], _word(told[2]), float(told[1]))
        elif (boxed := _BOXED.search(line)) is not None:
            yield Change(boxed[1], _word(boxed[3]), float(boxed[2]))
    if (named := _SUBJECT.search(" ".join(subject.split()))) is not None:
        yield Change(named[1], _word(named[3]), float(named[2]))


def _word(text: str) -> Word:
    return "regression" if text == "regression" else "improvement" if text[:1] == "i" else ""


def _case(table: Table, commit: str, changes: Sequence[Change], number: int) -> Case:
    """The metric whose change the table has as the mail reports it; or else the one at the table's
    own place in the order, where it has it; or the first one that it has."""
    column = _column(table, commit)
    same = [change for change in changes if change.is_of(table, column)]
    for change in (*same, *changes[number : number + 1], *changes):
        if change.metric in table.rows:
            return Case(table, change.metric, change.word if change in same else "", column)
    return Case(table, _workloads(table), "", column)


def _workloads(table: Table) -> str | None:
    """The first row that the workload itself printed."""
    test = table.parameters.get("testcase", "")
    own = [name for name in table.rows if test and name.startswith(f"{test}.")]
    return next((name for name in own if not name.startswith(f"{test}.time.")), None)


def _column(table: Table, commit: str) -> int:
    """Where the reported commit is; the first beside the base's where none has its name."""
    names = [revision.name for revision in table.revisions]
    for column in range(1, len(table.heads)):
        for known in (table.heads[column], *names[column : column + 1]):
            length = min(len(known), len(commit))
            if length >= _SHORTEST and known[:length] == commit[:length]:
                return column
    return 1


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> str:
    """What the first line in which it stands at the beginning has, "" for none."""
    matches = (pattern.match(line) for line in lines)
    return _printable(next((match[1] for match in matches if match), "")).strip()


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)
