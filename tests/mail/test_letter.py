"""What a mail says: wrapped, shortened, and never an order to a program by accident."""

import re

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mail.letters import SOURCE

from profdiff.base.errors import InputError
from profdiff.base.units import printable
from profdiff.mail.letter import (
    LIMIT,
    LINES,
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

TEXTS = st.text(max_size=400) | st.text(alphabet="ab %-\t\n", max_size=400)
# What git send-email takes recipients from (process_file), regzbot commands, a signature.
ORDERS = re.compile(r"(?im)^(?:[a-z][a-z-]*-by|cc): |^#regzbot|^-- $")
HOSTILE = st.sampled_from(
    [
        "Cc: evil@example.org",
        "signed-off-by: Evil <evil@example.org>",
        "X-Y-by: a@b.example.org",
        "#regzbot invalid: no",
        "#RegZbot dup-of: https://x.example.org",
        "-- ",
        "fine",
        "",
    ]
)


def letter(*sections: Section, **rest: object) -> Letter:
    return Letter("subject", "It is slower.", sections, **rest)  # type: ignore[arg-type]


@given(TEXTS, st.integers(0, 8))
def test_prose_keeps_its_words_and_its_width(text: str, indent: int) -> None:
    lines = Prose(text, indent).lines()
    assert re.split(" +", " ".join(lines).strip()) == re.split(
        " +", printable(" ".join(text.split()))
    )
    for number, line in enumerate(lines):
        words = line.split(" ")
        assert len(line) <= WIDTH or len([word for word in words if word and word != "%"]) == 1
        assert line.startswith(" " * indent) or number == 0
        assert not line.startswith("%") or text.split()[0].startswith("%")


@given(st.lists(TEXTS, max_size=5))
def test_tables_are_not_wrapped(lines: list[str]) -> None:
    shown = Table(lines[:1], lines[1:]).lines()
    assert len(shown) == len(lines)
    for line, given_ in zip(shown, lines, strict=True):
        assert line == "\t".join(map(printable, given_.split("\t"))).rstrip(" ")


@given(st.lists(HOSTILE, max_size=6), st.data())
def test_nothing_but_what_was_asked_for_is_an_order(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    parts: list[Part] = [
        Prose(text),
        Notes(lines),
        Table(lines[:1], lines[1:]),
        Verbatim(text),
        Notes([f"[_] {line}: {line}" for line in lines], 4),
    ]
    part = data.draw(st.sampled_from(parts))
    quote = data.draw(st.sampled_from([None, Quote("Evil wrote:", text)]))
    said = Letter(
        "s", text or "x", [Section("title", [part])], footer=[f"by {text}"], quote=quote
    ).render()
    assert ORDERS.findall(said) == ["-- "]
    asked = letter(trailers=["Cc: a@b.example.org"], regzbot=["#regzbot title: x"]).render()
    assert len(ORDERS.findall(asked)) == 2


def test_a_source_survives_with_its_tabs() -> None:
    source = SOURCE.read_text()
    assert source.rstrip("\n") in letter(Section("source", [Verbatim(source)])).render()


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 300)), max_size=4))
def test_only_tables_are_shortened_and_they_say_so(sizes: list[tuple[int, int]]) -> None:
    limit = 20_000
    prose = [f"prose {number} " + "word " * 100 for number in range(len(sizes))]
    parts: list[Prose | Table] = []
    for number, (rows, width) in enumerate(sizes):
        body = [f"{number} {row} {'ä' * width}" for row in range(rows)]
        parts += [Prose(prose[number]), Table([f"head {number}"], body, [f"foot {number}"])]
    said = letter(Section("title", parts, bounded=False)).render(limit)
    assert len(said.encode()) < limit
    lines = said.splitlines()
    assert "".join(said.split()).count("word") == 100 * len(sizes)
    notes = iter(re.findall(r"(?m)^\[([\d,]+) more rows? left out\]\n(foot \d)$", said))
    for number, (rows, width) in enumerate(sizes):
        assert f"head {number}" in lines
        assert f"foot {number}" in lines
        kept = [line for line in lines if re.fullmatch(rf"{number} \d+ ?ä*", line)]
        # From the end: those that are kept are the first ones.
        assert kept == [f"{number} {row} {'ä' * width}".rstrip() for row in range(len(kept))]
        if len(kept) < rows:
            assert next(notes) == (f"{rows - len(kept):,}", f"foot {number}")
    assert next(notes, None) is None


def test_the_last_table_is_shortened_first() -> None:
    tables = [Table(["a"], ["a row"] * 2_000), Table(["b"], ["b row"] * 20_000)]
    said = letter(Section("title", tables, bounded=False)).render()
    assert said.count("a row") == 2_000
    assert 10_000 < said.count("b row") < 20_000
    assert LIMIT - 200 < len(said) < LIMIT


def test_too_much_prose_is_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        letter(Section("title", [Prose("word " * 30_000)])).render()


def test_regzbot_commands_are_paragraphs_and_trailers_come_last() -> None:
    said = letter(
        regzbot=["#regzbot introduced: v6.17", "#regzbot title: slow"],
        trailers=["Link: https://a.example.org/", "Link: https://b.example.org/"],
        footer=["profdiff"],
    ).render()
    assert said.endswith(
        "\n\n#regzbot introduced: v6.17\n\n#regzbot title: slow\n\n"
        "Link: https://a.example.org/\nLink: https://b.example.org/\n\n-- \nprofdiff\n"
    )


def test_what_is_not_bounded_leaves_nothing_out() -> None:
    facts = Section("facts", [Notes([f"fact {number}" for number in range(LINES - 3)])])
    assert letter(facts).excess == 0
    more = [Section(f"more {number}", [Prose("word " * 40)], bounded=False) for number in range(9)]
    said = letter(facts, *more, footer=["profdiff " + "word " * 20]).render()
    assert "left out" not in said
    one_more = Section("facts", [Notes([f"fact {number}" for number in range(LINES - 2)])])
    assert letter(one_more).excess == 1
    assert "[2 more left out]" in letter(one_more, *more).render()


def test_how_it_was_measured_never_goes() -> None:
    """Rows of tables go for it, and other remarks."""
    method = Section("method", [Notes([f"method {number}" for number in range(12)], stays=True)])
    remarks = Section("remarks", [Notes([f"remark {number}" for number in range(50)])])
    table = Section("", [Table(["head"], [f"row {number}" for number in range(30)])])
    said = letter(table, remarks, method).render()
    assert [f"method {number}" in said for number in range(12)] == [True] * 12
    assert "row 4" in said and "row 29" not in said and "remark 49" not in said
    assert said.count("\n") <= LINES + 1


def test_a_long_mail_keeps_a_row_of_each_table() -> None:
    """The row that the mail is about is the last to go; without rows a table has no heading."""
    rows = [f"row {number}" for number in range(9)]
    method = Section("method", [Notes([f"method {number}" for number in range(80)], stays=True)])
    tables = [
        Section("", [Table(["points:", "columns"], rows, main=7)]),
        Section("", [Table(["steps:", "columns"], rows, least=0)]),
        Section("", [Table(["functions:", "columns"], rows, ["all"], least=3)]),
    ]
    said = letter(*tables, method).render()
    points, steps, functions = said.split("\n\n")[1:4]
    assert points == "points:\ncolumns\nrow 7\n[8 more rows left out]"
    assert steps == "[steps: 9 rows left out]"
    assert functions.splitlines()[2:-1] == [*rows[:3], "[6 more rows left out]"]
    assert "method 79" in said
