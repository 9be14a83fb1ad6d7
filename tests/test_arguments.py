"""Mistyped commands and options: one line that says what was meant, or where help is."""

import pytest
from support import error_line, profdiff


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("reprot", "No such command 'reprot': did you mean report?"),
        ("inventory", "No such command 'inventory': did you mean report inventory?"),
        ("kernel ad", "No such command 'ad': did you mean add?"),
        ("kernel nonsense", "No such command 'nonsense' (see profdiff kernel --help)"),
        ("report --sotr name", "No such option '--sotr': did you mean --sort?"),
        ("record --no-obsrve", "did you mean --no-observe or --observe?"),
        ("--verison", "No such option '--verison': did you mean --version?"),
        ("report --zzz", "No such option '--zzz' (see profdiff report --help)"),
        ("report -x", "No such option '-x' (see profdiff report --help)"),
    ],
)
def test_what_was_meant(typed: str, said: str) -> None:
    assert error_line(profdiff(*typed.split(), status=2)).endswith(said)
