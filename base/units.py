"""Numbers and names as reports print them.

Lines of the cache: 64 bytes on all processors that profdiff records on.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from profdiff.base.terminal import printable as printable  # names, as reports print them

# No count is so large: a stranger's number has an exponent then, not 300 digits.
_MAX_COUNT = 1e21


def count(value: float, *, per_op: bool = False) -> str:
    """A count: whole with thousands separated, or with two decimals per op."""
    if abs(value) >= _MAX_COUNT:
        return f"{value:.4g}"
    return f"{value:,.{_decimals(value)}f}" if per_op else f"{int(value):,}"


def rounded(value: float) -> str:
    """A number without decimals."""
    return f"{value:,.0f}" if abs(value) < _MAX_COUNT else f"{value:.4g}"


def delta(value: float, *, per_op: bool = False) -> str:
    """A difference, with its sign."""
    if value == 0:
        return "0"
    if abs(value) >= _MAX_COUNT:
        return f"{value:+.4g}"
    return f"{value:+,.{_decimals(value)}f}" if per_op else f"{int(value):+,}"


def _decimals(value: float) -> int:
    """Two, or five for what two would show as nothing."""
    return 5 if 0 < abs(value) < 0.005 else 2


def digits(value: float) -> str:
    """A measured value with all its digits: ``1,623,010``, ``26.00`` per op."""
    if abs(value) >= _MAX_COUNT or value == int(value):
        return rounded(value)
    return f"{value:,.2f}"


def percent(fraction: float, form: str = ".1f") -> str:
    """A fraction in percent, as kernel mails write it: ``53.9%``. ``form``: of the number."""
    if abs(fraction) >= _MAX_COUNT:
        return f"{100 * fraction:{'+' if form.startswith('+') else ''}.4g}%"
    return f"{100 * fraction:{form}}%"


def change(base: float, other: float) -> str:
    """Relative change in percent, from ten times on as how many times the base; ``new`` and
    ``vanished`` where one side is nothing; ``-`` where the base is below it (two lengths), of
    which there is no part."""
    if base == other:
        return percent(0, "g")
    if base < 0 or (base == 0 and other < 0):
        return "-"
    if base == 0:
        return "new"
    if other == 0:
        return "vanished"
    if other >= 10 * base:
        return f"{rounded(other / base)} times"
    return percent((other - base) / base, "+.1f")


def changes(low: float, high: float) -> str:
    """Two relative changes, as fractions, as a range: ``-64.3% to +225.4%``; one where they read
    alike, ``no ratio`` where there is none."""
    if low != low or high != high:
        return "no ratio"
    told = (percent(one, "+,.1f") if one else percent(0, "g") for one in (low, high))
    return " to ".join(dict.fromkeys(told))


def ratio(base: float, other: float) -> str:
    """How many times the base: ``1.67x``. ``new`` where that is nothing, ``-`` where it is below
    it, of which there is no multiple."""
    if base == other:
        return "1.00x"
    if base <= 0:
        return "-" if base else "new"
    times = other / base
    if abs(times) >= _MAX_COUNT:
        return f"{times:.4g}x"
    return f"{times:,.2f}x" if abs(times) < 10 else f"{times:,.1f}x"


def share(part: float, whole: float, digits: int = 1) -> str:
    """A part of a whole in percent; one that rounds to nothing has no sign."""
    if not whole:
        return "-"
    told = percent(part / whole, f".{digits}f")
    return told if told.strip("-0.%") else told.removeprefix("-")


def span(low: float, high: float) -> str:
    """Two durations in seconds as a range: ``40 s``, ``4 to 9 min``, ``50 s to 3 min``."""
    (first, unit), (last, whole) = _duration(low), _duration(high)
    if unit != whole:
        return f"{first} {unit} to {last} {whole}"
    return f"{first} {unit}" if first == last else f"{first} to {last} {unit}"


def _duration(seconds: float) -> tuple[str, str]:
    if seconds < 90:
        return f"{seconds:.0f}", "s"
    if seconds < 5400:
        return f"{seconds / 60:.0f}", "min"
    return f"{seconds / 3600:.1f}", "h"


def cycles(value: float) -> str:
    """Measured cycles: ``4.2``, ``24``, ``7,040``."""
    return rounded(value) if value >= 9.95 else f"{value:.1f}"


def file_size(value: float) -> str:
    """Bytes in words: ``34 MB``, ``1.2 GB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            shown = value / size
            return f"{shown:.1f} {unit}" if shown < 9.95 else f"{shown:,.0f} {unit}"
    return f"{value:.0f} bytes"


def counted(number: int, one: str) -> str:
    """A number of things, by the word for one of them: ``1 run``, ``2,000 runs``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def few(texts: Sequence[str], most: int, between: str = ", ", last: str = " and ") -> str:
    """The first ``most``, and how many more there are: ``a, b and 3 more``."""
    told, more = between.join(texts[:most]), len(texts) - most
    return f"{told}{last}{more:,} more" if more > 0 else told


def listed(names: Iterable[str]) -> str:
    """At least one name, as a sentence lists them: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@cache
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


def ended(text: str, columns: int) -> str:
    """``text``, cut at its end to at most ``columns``: of sentences, the beginning says most."""
    if width(text) <= columns:
        return text
    if columns < 3:
        return "." * max(columns, 0)
    end = min(len(text), columns)
    while width(text[:end]) > columns - 2:
        end -= 1
    return f"{text[:end].rstrip()}.."


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
_ASCII = str.maketrans(
    {
        "±": "+-",
        "×": "x",
        "→": "->",
        "…": "...",
        "·": "*",
        "≥": ">=",
        "≤": "<=",
        "\N{EM DASH}": "-",
    }
)


def ascii_only(text: str) -> str:
    """``text`` in ASCII: other characters become what stands for them, or their escapes."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


LINE = 64


def lines_of(start: int, size: int) -> range:
    """The lines that ``size`` bytes from ``start`` on lie in; what has no size lies in one."""
    return range(start // LINE, (start + max(size, 1) - 1) // LINE + 1)


def mebibytes(text: str) -> int | None:
    """MiB that ``512``, ``512M`` or ``2G`` says; None for another text."""
    match = re.fullmatch(r"([0-9]{1,7})([MG]?)(iB|B)?", text, re.IGNORECASE)
    return int(match[1]) * (1024 if match[2].upper() == "G" else 1) if match else None
