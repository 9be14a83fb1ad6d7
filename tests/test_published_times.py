"""Whoever quotes a published time says where it was taken, and where it goes against our counts."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import ROOT

PAGES = sorted(ROOT.glob("docs/published/*.md"))
EXAMPLES = [
    path
    for path in sorted(ROOT.glob("examples/*/README.md"))
    if "## What was published" in path.read_text()
]
OTHERS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *ROOT.glob("docs/how-to/*.md")]
HEADING = "Where the times were taken"
HEADER = ["where", "machine", "from, to", "time", "change", "counts here"]
# In this order: what says most comes first.
KINDS = ("bare metal", "a virtual machine", "not told", "emulation, as it looks")
NUMBER = r"\d[\d,]*(?:\.\d+)?"
# What only a machine's clock gives; quoted in a text, not in what a terminal shows.
QUOTED = re.compile(rf"({NUMBER})(?: (?:to|:|and|instead of) ({NUMBER}))? ns\b")


def value(text: str) -> float:
    return float(text.replace(",", ""))


@dataclass(frozen=True)
class Row:
    """A row of a page's table: a time before and after, where it was taken, what counts say."""

    kind: str
    time: str
    change: str
    counts: str

    @property
    def values(self) -> tuple[float, float] | None:
        found = re.fullmatch(rf"({NUMBER}) to ({NUMBER}) ns( .*)?", self.time)
        return (value(found[1]), value(found[2])) if found else None

    @property
    def sign(self) -> int:
        """Of the time; 0 where nobody could reproduce a change."""
        if self.values is None:
            assert (self.time, self.change) == ("no numbers published", "not reproduced")
            return 0
        before, after = self.values
        return (after > before) - (after < before)


def prose(path: Path) -> str:
    return re.sub(r"(?ms)^```.*?^```", "", path.read_text())


def section(text: str, heading: str) -> str:
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(path: Path) -> list[Row]:
    lines = section(path.read_text(), HEADING).splitlines()
    found = [[cell.strip() for cell in one[1:-1].split("|")] for one in lines if one[:1] == "|"]
    assert found[:1] == [HEADER], f"{path.name} has no table of where its times were taken"
    return [Row(one[0], *one[3:]) for one in found[2:]]


def counted(path: Path) -> dict[tuple[str, str], float]:
    """How many times the instructions one kernel executes of another, as the page's report says."""
    text = path.read_text()
    sentence = r"^(\S+) executes ([\d.]+) times the instructions of (\S+) in"
    times = {(base, new): float(n) for new, n, base in re.findall(sentence, text, re.MULTILINE)}
    table = re.search(r"(?m)^kernel +count .*\n((?:\S+ +[\d,.]+.*\n)+)", text)
    if table:
        counts = [line.split()[:2] for line in table[1].splitlines()]
        times |= {(a, b): value(n) / value(m) for a, m in counts for b, n in counts if a != b}
    bases = {base: {new: n for (one, new), n in times.items() if one == base} for base, _ in times}
    for base, others in bases.items():
        times |= {(a, b): others[b] / others[a] for a in others for b in others if a != b}
        assert base not in others
    return times


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_begins_with_where_its_times_were_taken(page: Path) -> None:
    """Bare metal first, where there is any; and each change is that of its two times."""
    assert re.findall(r"(?m)^## (.*)$", page.read_text())[0] == HEADING
    found = rows(page)
    order = [KINDS.index(row.kind) for row in found]
    assert order and order == sorted(order)
    for row in found:
        if row.values:
            before, after = row.values
            assert row.change == f"{after / before - 1:+.0%}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_says_where_time_goes_against_its_counts(page: Path) -> None:
    """By the counts that its own report shows, whoever records them again."""
    against = False
    for row in rows(page):
        found = re.match(r"(\S+) to (\S+): (more|less)\b", row.counts)
        if not found:
            assert row.counts == "not recorded"
            continue
        ratio = counted(page)[found[1], found[2]]
        assert found[3] == ("more" if ratio > 1 else "less")
        sign = 1 if ratio > 1 else -1
        said = {-sign: "**the opposite sign**", 0: "**time did not follow**"}.get(row.sign, "")
        assert re.findall(r"\*\*.*\*\*", row.counts) == ([said] if said else [])
        against |= bool(said)
    bold = re.findall(r"(?m)^\*\*(.*?)\*\*", section(page.read_text(), HEADING))
    told = any("disagree in sign" in one or "nobody has seen" in one for one in bold)
    assert told == against


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_page_quotes_a_time_that_is_not_in_its_table(page: Path) -> None:
    known = {number for row in rows(page) for number in row.values or ()}
    known |= {float(f"{number:.0f}") for number in known}
    native = {0.82, 12.8}  # mincore(): what the mail's are compared with, and theirs for one page
    # Steps within a series, each of one run: the end of them is in the table.
    native |= {82402, 86776, 86463}
    for numbers in QUOTED.findall(prose(page)):
        for number in filter(None, numbers):
            assert value(number) in known | native, number


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_says_it_where_it_says_what_was_published(example: Path) -> None:
    text = section(example.read_text(), "What was published")
    found = re.search(rf"(?m)^\*\*{HEADING}:\*\* (.*)$", text)
    assert found
    said = {kind for kind in KINDS if kind in found[1].lower()}
    assert said
    page = ROOT / "docs/published" / f"{example.parent.name}.md"
    if page in PAGES:
        assert {row.kind for row in rows(page)} <= said


@pytest.mark.parametrize("document", OTHERS, ids=lambda path: path.name)
def test_no_other_document_quotes_them_without_saying_it(document: Path) -> None:
    """A percentage of time, or a page's time with three digits or more."""
    known = {number for page in PAGES for row in rows(page) for number in row.values or ()}
    for line in prose(document).splitlines():
        quoted = [value(one) for pair in QUOTED.findall(line) for one in pair if one]
        some = any(number in known and number >= 100 for number in quoted)
        if some or re.search(r"% in time\b", line):
            assert any(kind in line for kind in KINDS), line
