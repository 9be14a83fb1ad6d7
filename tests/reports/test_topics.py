"""``profdiff report TOPIC``: which topics there are, and how their tables are drawn."""

from pathlib import Path

import pytest
from support import error_line, profdiff
from synthetic_session import exact_session
from tables import rows, tables

from profdiff.forms import csv, text
from profdiff.reports.topics import TOPICS
from profdiff.shapes.table import Column, Section, Table


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics") / "made.profdiff"
    exact_session(folder)
    return folder


def test_topics_are_listed() -> None:
    listed = profdiff("report", "topics").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(TOPICS)
    assert all(len(line.split()) > 3 for line in listed)


def test_a_topic_is_what_its_option_is(made: Path) -> None:
    spelled = ("events", "--events")
    refused = [error_line(profdiff("report", made, word, status=2)) for word in spelled]
    assert refused[0] == refused[1]
    swapped = error_line(profdiff("report", "events", made, status=2))
    assert swapped == refused[0]
    result = profdiff("report", made, "types", "--events", status=2)
    assert error_line(result) == "--events and --types cannot be used together"
    result = profdiff("report", made, "idle", "--events", status=2)
    assert error_line(result) == "--events and idle cannot be used together"
    result = profdiff("report", made, "idle", "--html", status=2)
    assert error_line(result).startswith("idle cannot be written with --html: use --csv")
    assert "--by works only with --types" in error_line(
        profdiff("report", made, "events", "--by", "type", status=2)
    )


def test_an_unknown_topic_is_named(made: Path) -> None:
    said = error_line(profdiff("report", made, "event", status=2))
    assert said == "unknown topic event: did you mean events?"
    said = error_line(profdiff("report", "evens", status=2))
    assert said == "evens is neither a session nor a topic: did you mean events?"
    said = error_line(profdiff("report", made, "x", status=2))
    assert said == "unknown topic x: 'profdiff report topics' lists them"


def test_a_topic_that_was_not_recorded_says_so(made: Path) -> None:
    assert "traces: the session has none" in error_line(
        profdiff("report", made, "traces", status=2)
    )


def hostile() -> Table:
    """Two kernels; a name that a spreadsheet takes for a formula, what is not known, a path."""
    kernels = ["a", "b"]
    columns = [Column(name="count", kind="count", kernel=kernel) for kernel in kernels]
    columns += [
        Column(
            name="delta",
            kind="delta",
            title="delta",
            kernel="b",
            of="count",
            shows=["delta", "change"],
        ),
        Column(name="verdict", kind="verdict", title="verdict", kernel="b"),
        Column(name="what", kind="name", title="what"),
        Column(name="path", kind="path", title="path"),
        Column(name="seen", kind="detail", title="seen", kernel="b"),
    ]
    return Table(
        name="made",
        title="made up",
        kernels=kernels,
        ops=10,
        columns=columns,
        rows=[[100, 150, 50, "exact", "=1+1", ["a", "b", "c", "d"], True]],
        hidden=[[0, None, None, None, "\x1b[31m", [], None]],
        notes=["A note."],
    )


def test_one_table_in_text_and_csv() -> None:
    section = Section(name="made", title="Made", tables=[hostile()], notes=["One.", "Two."])
    shown = text.render(section, width=100)
    assert shown == (
        "made up per op (10 ops)\n"
        "   a      b  delta  change  verdict  what  path\n"
        "10.00  15.00  +5.00  +50.0%  exact    =1+1  b > c > d\n"
        "\nA note.\n\nOne.\n\nTwo.\n"
    ).replace("   a", "    a", 1)
    whole = text.render(section, width=100, per_op=False, ratios=True)
    assert "100  150    +50  1.50x  exact" in whole
    assert csv.tables([hostile()]) == (
        "what,path,count a,count b,delta b,verdict b,seen b\n"
        "'=1+1,a|b|c|d,100,150,50,exact,yes\n"
        "\\u{1b}[31m,,0,,,,\n"
    )
    other = hostile()
    both = csv.tables([other, Table(name="x", title="", kernels=[], ops=None, columns=[], rows=[])])
    assert both.splitlines()[1].startswith("made,")


def test_what_changed_for_certain_is_what_a_mail_has() -> None:
    (block,) = text.changed(hostile(), "b", "Changed", 6, 75)
    assert block.lines[0] == "Changed per op:"
    assert block.body == ["10.00  15.00  +5.00  +50.0%  =1+1"]
    assert text.changed(hostile(), "b", "Changed", 0, 75)[0].body == []


def test_rows_by_kernel_are_those_of_the_columns() -> None:
    first, second, *_ = hostile().by_row_and_kernel()
    assert (first["kernel"], first["count"], first["delta"]) == ("a", 100, None)
    assert (second["kernel"], second["count"], second["delta"]) == ("b", 150, 50)
    document = {"sections": [{"name": "made", "tables": [_json(hostile())]}]}
    (table,) = tables(document, "made")
    assert rows(table)[0]["count"] == {"a": 100, "b": 150}
    with pytest.raises(KeyError):
        hostile().index("count", "c")


def _json(table: Table) -> object:
    import msgspec

    return msgspec.to_builtins(table)
