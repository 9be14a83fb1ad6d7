"""The one way out to the terminal.

Names, paths and messages come from strangers: whatever is printed goes through here, so that none
of it moves a cursor, changes a colour or reorders a line. ``profdiff.base.console`` is the same
for what rich draws.

What guests, machines and programs said, made fit for a line of ours.
"""

import contextlib
import os
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

# How wide a text is that goes to no terminal.
COLUMNS = 100
Style = Literal["bold", "dim", "source", "more", "less"]
# ECMA-48's Select Graphic Rendition, of the eight colours that every terminal has.
_CODES: dict[Style, str] = {"bold": "1", "dim": "2", "source": "36", "more": "31", "less": "34"}
_AT_ONCE = 256
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


def has(characters: str) -> bool:
    """Whether standard output's encoding has these characters."""
    try:
        characters.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def say(text: str, *, end: str = "\n") -> None:
    """Print to standard output."""
    _write(sys.stdout, text + end)


class Span(NamedTuple):
    """The characters of a line from ``start`` up to ``end``, and how they look."""

    start: int
    end: int
    style: Style


class Styled(NamedTuple):
    """A line, and how parts of it look where there is colour; parts do not overlap."""

    text: str
    spans: Sequence[Span] = ()


def coloured() -> bool:
    """Whether standard output shows colours: it is a terminal that can, and nobody says NO_COLOR
    (https://no-color.org)."""
    able = os.environ.get("TERM", "dumb") != "dumb"
    return able and not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def say_styled(lines: Iterable[Styled]) -> None:
    """Print lines to standard output, with colours where it shows them. Only the codes of styles
    are sent, and each line ends with none in force: a pager may cut anywhere."""
    colour = coloured()
    # A screenful at a time: a pager shows the first at once, and ends us when it has seen enough.
    waiting: list[str] = []
    for line in lines:
        waiting.append(_with_codes(line) if colour else cleaned(line.text))
        if len(waiting) == _AT_ONCE:
            _write_clean(sys.stdout, "\n".join([*waiting, ""]))
            waiting.clear()
    if waiting:
        _write_clean(sys.stdout, "\n".join([*waiting, ""]))


def _with_codes(line: Styled) -> str:
    text = cleaned(line.text)
    if text != line.text:
        return text
    made, at = [], 0
    for start, end, style in line.spans:
        made += [text[at:start], f"\x1b[{_CODES[style]}m", text[start:end], "\x1b[0m"]
        at = end
    return "".join([*made, text[at:]])


def tell(text: str) -> None:
    """Print a line to standard error, at once."""
    _write(sys.stderr, f"{text}\n")


def warn(text: str, *, above: int) -> None:
    """Warn a script, which may want to filter it, of its call that is ``above`` the caller's."""
    warnings.warn(cleaned(text), stacklevel=above + 2)


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
    with _naming(sys.stdout):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _write(stream: TextIO, text: str) -> None:
    _write_clean(stream, cleaned(text))


def _write_clean(stream: TextIO, text: str) -> None:
    # A terminal that lacks a name's characters shows their escapes.
    encoding = stream.encoding or "utf-8"
    with _naming(stream):
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


def close() -> None:
    """Write what is buffered. Raises BrokenPipeError when the reader of our output is gone."""
    for stream in (sys.stdout, sys.stderr):
        with _naming(stream):
            stream.flush()


@contextlib.contextmanager
def _naming(stream: TextIO) -> Iterator[None]:
    """Let an error say which stream it is of."""
    try:
        yield
    except OSError as error:
        name = "standard output" if stream is sys.stdout else "standard error"
        raise OSError(error.errno, error.strerror, name) from error


_MAX_LINE = 200
_END = 64 << 10


def short(text: str) -> str:
    """``text`` printable, and not too long for a line."""
    return printable(text[:_MAX_LINE])


def last_line(data: bytes) -> str:
    """The last line that is not blank; "" if there is none."""
    lines = data[-_END:].decode(errors="replace").splitlines()
    return short(next((line.strip() for line in reversed(lines) if line.strip()), ""))


def read_end(path: Path, most: int = _END) -> bytes:
    """The last ``most`` bytes of the file, whatever its length. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(file.seek(0, 2) - most, 0))
        return file.read(most)
