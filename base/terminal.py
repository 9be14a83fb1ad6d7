"""The one way out to the terminal.

Names, paths and messages come from strangers: whatever is printed goes through here, so that none
of it moves a cursor, changes a colour or reorders a line. ``profdiff.base.console`` is the same
for what rich draws.
"""

import os
import shutil
import sys
import unicodedata
from typing import TextIO

# How wide a text is that goes to no terminal.
COLUMNS = 100
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str) -> str:
    """``text`` without what would move a terminal's cursor or reorder a line: control and format
    characters (Unicode's Cc, Cf, Cs, Co, Cn, Zl, Zp) become their escapes, line ends too."""
    if text.isprintable():
        return text
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in _UNSAFE else c for c in text)


def tabbed(line: str) -> str:
    """``line`` with its tabs, and all else ``printable``."""
    return "\t".join(map(printable, line.split("\t")))


def cleaned(text: str) -> str:
    """``text`` with line ends and tabs as they are, and all else ``printable``."""
    if text.isprintable():
        return text
    return "\n".join(map(tabbed, text.split("\n")))


def open_streams() -> None:
    """Open what our caller closed of standard input, output and error, to nowhere: the next file
    that is opened would take its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def columns() -> int:
    """How wide standard output is: what COLUMNS says, or the terminal, or ``COLUMNS`` where it is
    none."""
    return shutil.get_terminal_size((COLUMNS, 24)).columns


def say(text: str, *, end: str = "\n") -> None:
    """Print to standard output."""
    _write(sys.stdout, text + end)


def tell(text: str) -> None:
    """Print a line to standard error, at once."""
    _write(sys.stderr, f"{text}\n")


def confirm(question: str) -> bool:
    """Ask on the terminal; False where there is none, or nobody says yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _write(sys.stderr, f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def put(data: bytes) -> None:
    """Write a file's content to standard output: as it is into a pipe or a file, cleaned to a
    terminal."""
    if sys.stdout.isatty():
        _write(sys.stdout, data.decode(errors="backslashreplace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _write(stream: TextIO, text: str) -> None:
    # A terminal that lacks a name's characters shows their escapes.
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(cleaned(text).encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError as error:
        name = "standard output" if stream is sys.stdout else "standard error"
        raise OSError(error.errno, error.strerror, name) from error


def close() -> None:
    """Write what is buffered. Raises BrokenPipeError when the reader of our output is gone."""
    sys.stdout.flush()
    sys.stderr.flush()
