"""The table of blame as text, of rows that are made up."""

import pytest

from profdiff.base import units
from profdiff.reports.blame import render
from profdiff.views.blame import SAID, SCHEMA, Blame, Kind, Row, Share

HASH = "319bf262ca9b" + "0" * 28


def row(
    kind: Kind,
    subject: str,
    *parts: int,
    suspects: tuple[str, ...] = (),
    effect: int | None = None,
) -> Row:
    """Each function's part; a commit's row has a hash. ``effect``: None for that of its lines."""
    commit = HASH if kind == "commit" else None
    return Row(
        kind=kind,
        commit=commit,
        subject=subject,
        author_date="2026-11-22T12:00:00+00:00" if commit else None,
        instructions=sum(parts),
        added=sum(part for part in parts if part > 0),
        removed=sum(part for part in parts if part < 0),
        effect=sum(parts) if effect is None else effect,
        functions=[
            Share(function=f"function_{n}", instructions=part, effect=part)
            for n, part in enumerate(parts)
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
    said = render(blame, width=width)
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


def test_what_ran_below_calls_is_the_commits_effect() -> None:
    """Both accounts have their sum, and what is explained is told apart from what is suspected."""
    said = shown(
        row("more-often", SAID["more-often"], -1600, suspects=(HASH,), effect=0),
        row("commit", "mm: call it no more", -400, effect=-2000),
    )
    table = [line.split()[:3] for line in said.splitlines()]
    assert ["effect", "share", "lines"] in table
    assert ["-2,000", "100.0%", "-400"] in table
    assert ["0", "0.0%", "-1,600"] in table
    assert ["-2,000", "100.0%", "-2,000"] in table
    flat = " ".join(said.split())
    assert f"executed less often: below calls that {HASH[:12]} added or removed." in flat
    assert "suspects for" not in flat


def test_no_delta() -> None:
    said = shown(row("commit", "mm: more", 40), row("more-often", SAID["more-often"], -40))
    assert ": 0 instructions" in said
    assert ["0", "-", "0", "all"] in [line.split() for line in said.splitlines()]
    assert "all" in shown()


def test_no_share_of_nothing() -> None:
    assert "-0.0%" not in shown(row("commit", "mm: more", 10**6), row("no-line", "none", -1))
