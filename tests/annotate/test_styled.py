"""Lines with colour: only where a terminal shows it, and nothing but colour."""

import os
import pty
import subprocess
import sys

import pytest

_CHILD = """
from profdiff.base.terminal import Span, Styled, say_styled
say_styled([
    Styled("more less", [Span(0, 4, "more"), Span(5, 9, "less")]),
    Styled("bad\\x1b[2J", [Span(0, 3, "bold")]),
    *[Styled("dim", [Span(0, 3, "dim")])] * 600,
])
"""


def shown(*, terminal: bool, **environment: str) -> str:
    """What a child writes, to a terminal or a pipe."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD],
        stdout=theirs,
        env={**known, "TERM": "xterm", "PYTHONUTF8": "1", **environment},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # a terminal whose other end is closed
            part = b""
        if not part:
            break
        text += part
    os.close(ours)
    assert child.wait(timeout=60) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_terminal_gets_codes_that_end_on_their_line() -> None:
    lines = shown(terminal=True).splitlines()
    assert lines[0] == "\x1b[31mmore\x1b[0m \x1b[34mless\x1b[0m"
    # A stranger's own code is told, and what it stands in has no other.
    assert lines[1] == "bad\\u{1b}[2J"
    assert lines[2:] == ["\x1b[2mdim\x1b[0m"] * 600


@pytest.mark.parametrize(
    ("terminal", "environment"),
    [(False, {}), (True, {"NO_COLOR": "1"}), (True, {"TERM": "dumb"})],
)
def test_others_get_none(terminal: bool, environment: dict[str, str]) -> None:
    text = shown(terminal=terminal, **environment)
    assert "\x1b" not in text
    assert text.splitlines() == ["more less", "bad\\u{1b}[2J", *["dim"] * 600]
