"""Numbers and names as reports print them."""

import unicodedata

from profdiff.base.terminal import printable as printable  # names, as reports print them


def count(value: float, *, per_op: bool = False) -> str:
    """A count: whole with thousands separated, or with two decimals per op."""
    return f"{value:,.{_decimals(value)}f}" if per_op else f"{int(value):,}"


def delta(value: float, *, per_op: bool = False) -> str:
    """A difference, with its sign."""
    if value == 0:
        return "0"
    return f"{value:+,.{_decimals(value)}f}" if per_op else f"{int(value):+,}"


def _decimals(value: float) -> int:
    """Two, or five for what two would show as nothing."""
    return 5 if 0 < abs(value) < 0.005 else 2


def change(base: int, other: int) -> str:
    """Relative change in percent, from ten times on as how many times the base; ``new`` and
    ``vanished`` where one side is nothing; ``-`` where the base is below it (--difference), of
    which there is no part."""
    if base == other:
        return "0 %"
    if base == 0:
        return "new"
    if other == 0:
        return "vanished"
    if base < 0:
        return "-"
    if other >= 10 * base:
        return f"{other / base:,.0f} times"
    return f"{100 * (other - base) / base:+.1f} %"


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    wide = unicodedata.east_asian_width(character) in "WF"
    return 1 + wide - (unicodedata.combining(character) != 0)


def shorten(text: str, columns: int) -> str:
    """``text``, cut in its middle to at most ``columns``; names differ at both ends."""
    if width(text) <= columns:
        return text
    if columns < 3:
        return "." * max(columns, 0)
    # Sums are kept: a stranger's text can be long.
    half = len(text) // 2
    end, start = half, half
    head, tail = width(text[:half]), width(text[half:])
    while head + tail > columns - 2:
        if head > tail:
            end -= 1
            head -= _columns(text[end])
        else:
            tail -= _columns(text[start])
            start += 1
    return f"{text[:end]}..{text[start:]}"


def wrap(text: str, columns: int, indent: int = 0) -> list[str]:
    """Lines of ``text``, broken at spaces, by the columns that characters take (which textwrap does
    not know); those behind the first are indented."""
    lines, line = [], ""
    for word in text.split(" "):
        grown = f"{line} {word}" if line else word
        if line and width(grown) > columns:
            lines.append(line)
            grown = " " * indent + word
        line = shorten(grown, columns)
    return [*lines, line]


# What ASCII has in place of what reports use.
_ASCII = str.maketrans({"±": "+-", "×": "x", "→": "->", "…": "...", "·": "*", "≥": ">=", "≤": "<="})


def ascii_only(text: str) -> str:
    """``text`` in ASCII: other characters become what stands for them, or their escapes."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
