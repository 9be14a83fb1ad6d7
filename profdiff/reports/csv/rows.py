"""CSV as spreadsheets and programs read it."""

import csv
import io
from collections.abc import Iterable, Sequence

from profdiff.base.terminal import cleaned

Line = list[object]


def written(header: Sequence[str], rows: Iterable[Line]) -> str:
    """All of it, a line for each row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def text(value: str) -> str:
    """A stranger's text as a cell: control characters are escaped, and what a spreadsheet would
    take for a formula begins with an apostrophe."""
    value = cleaned(value)
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
