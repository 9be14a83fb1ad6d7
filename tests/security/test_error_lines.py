"""An error is one line that a person can read, whatever a stranger wrote into what it quotes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, profdiff

from profdiff.base import units
from profdiff.base.errors import in_line

LONGEST = 1300


@given(st.text(max_size=5000), st.integers(0, 10**400))
def test_a_line_is_bounded_and_printable(text: str, number: int) -> None:
    line = in_line(f"{text} {number} {number:,}\n{text}")
    assert line.isprintable() and len(line) < LONGEST
    assert len(in_line(line)) < LONGEST


def test_the_middle_goes_and_says_so() -> None:
    line = in_line("begins " + "x" * 100_000 + " ends")
    assert line.startswith("begins x") and line.endswith("x ends")
    assert "[99,062 characters more]" in line
    assert in_line("a " + "7" * 300 + " b") == "a 77777777777777777777... (300 digits) b"
    assert in_line("  two\nlines\t") == "two lines"
    kept = "/a/path" * 100
    assert in_line(kept) == kept


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("e.toml", b"x" * 100_000 + b" = 1\n", "unknown key xxx"),
        ("e.toml", b'command = ["true"]\ncollector = ["' + b"y" * 100_000 + b'"]\n', "yyy"),
        ("e.toml", b"a." * 400_000 + b"a = 1\n", "a key has at most 32 parts"),
        ("e.toml", b'"a".' * 200_000 + b"a = 1\n", "a key has at most 32 parts"),
        ("manifest.json", b'{"schema": "' + b"z" * 100_000 + b'"}', "zzz"),
        ("manifest.json", b'{"schema": ' + b"9" * 3000 + b"}", "manifest"),
        ("suite.json", b'{"schema": "' + b"z" * 100_000 + b'"}', "zzz"),
    ],
)
def test_what_files_quote(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    words: list[str | Path] = ["report", tmp_path]
    if name == "e.toml":
        words = ["record", "--experiment", tmp_path / name, "--kernel", "a=/a", "--kernel", "b=/b"]
    line = error_line(profdiff(*words, status=2))
    assert why in line and len(line) < LONGEST


@pytest.mark.parametrize("number", [10.0**300, -(10.0**300), 10**22, 1e21])
def test_numbers_beyond_counts_are_short(number: float) -> None:
    for told in (units.count, units.delta, units.digits, units.percent, units.rounded):
        assert len(told(number)) < 25
    assert len(units.change(1, abs(number))) < 25 and len(units.ratio(1, abs(number))) < 25


def test_counts_have_all_their_digits() -> None:
    assert units.count(2**63 - 1) == "9,223,372,036,854,775,807"
    assert units.delta(-(2**63)) == "-9,223,372,036,854,775,808"
