"""The table of blame as text, of rows that are made up."""

import pytest

from profdiff.base import units
from profdiff.reports import blame_text
from profdiff.views.blame import SAID, SCHEMA, Blame, Kind, Row, Share

HASH = "319bf262ca9b" + "0" * 28


def row(kind: Kind, subject: str, *parts: int, suspects: tuple[str, ...] = ()) -> Row:
    """Each function's part; a commit's row has a hash."""
    commit = HASH if kind == "commit" else None
    return Row(
        kind=kind,
        commit=commit,
        subject=subject,
        author_date="2026-11-22T12:00:00+00:00" if commit else None,
        instructions=sum(parts),
        added=sum(part for part in parts if part > 0),
        removed=sum(part for part in parts if part < 0),
        functions=[
            Share(function=f"function_{n}", instructions=part) for n, part in enumerate(parts)
        ],
        suspects=list(suspects),
        together=[],
    )


def shown(*rows: Row, width: int = 100) -> str:
    blame = Blame(
        schema=SCHEMA,
        base="base",
        new="new",
        revisions={"base": "a" * 40, "new": "b" * 40},
        ops=None,
        delta=sum(one.instructions for one in rows),
        rows=list(rows),
        renamed=[],
        notes=[],
    )
    said = blame_text.render(blame, width=width)
    assert all(units.width(line) <= width for line in said.splitlines())
    return said


@pytest.mark.parametrize("width", [60, 75, 100, 160])
def test_the_option_is_told_at_every_width(width: int) -> None:
    said = shown(
        row("commit", "mm: \x1b[31m" + "漢字 <b>" * 60, 1_000_000, -2),
        row("config", SAID["config"].format("CONFIG_UCLAMP_TASK"), 5),
        width=width,
    )
    assert "config" in said
    assert "CONFIG_UCLAMP_TASK" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("parts", "way"),
    [((5, 2), "more often"), ((-5,), "less often"), ((5, -9), "more or less often")],
)
def test_which_way_suspects_are_behind(parts: tuple[int, ...], way: str) -> None:
    said = shown(row("more-often", SAID["more-often"], *parts, suspects=(HASH,)))
    assert f", executed {way}: {HASH[:12]} changed lines" in " ".join(said.split())


def test_no_delta() -> None:
    said = shown(row("commit", "mm: more", 40), row("more-often", SAID["more-often"], -40))
    assert ": 0 instructions" in said
    assert ["0", "-", "all"] in [line.split() for line in said.splitlines()]
    assert "all" in shown()


def test_no_share_of_nothing() -> None:
    assert "-0.0%" not in shown(row("commit", "mm: more", 10**6), row("no-line", "none", -1))
