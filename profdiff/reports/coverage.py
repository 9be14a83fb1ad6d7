"""Which source lines executed, as a table of tracefiles and as lcov's tracefiles, which geninfo(1)
describes."""

import re
from collections.abc import Iterator

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Column, draw, joined
from profdiff.views.coverage import Coverage, File, Tracefile

_COLUMNS = ("files", "functions", "lines", "executed", "share")


def render_text(coverage: Coverage, *, width: int) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``)."""
    width = max(width, MIN_WIDTH)
    columns = [
        *map(Column, _COLUMNS),
        Column("tracefile", name=True),
        Column("", name=True, spare=1),
    ]
    rows = [_cells(tracefile) for tracefile in coverage.tracefiles]
    lines = joined(draw("", columns, rows, width))
    for note in coverage.notes:
        lines += units.wrap(units.printable(f"note: {note}"), width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _cells(one: Tracefile) -> list[str]:
    counts = [count for file in one.files for count in file.lines.values()]
    ran = sum(count > 0 for count in counts)
    numbers = (len(one.files), sum(len(file.functions) for file in one.files), len(counts), ran)
    share = units.share(ran, len(counts))
    return [*(f"{number:,}" for number in numbers), share, f"{one.name}.info", one.holds]


def render_tracefile(tracefile: Tracefile) -> str:
    """The whole file. Names of files are relative to the source tree."""
    # A test's name has nothing but letters, digits and underscores.
    test = re.sub(r"\W", "_", tracefile.kernel, flags=re.ASCII)
    lines = [line for file in tracefile.files for line in _section(test, file)]
    return "".join(f"{line}\n" for line in lines)


def _section(test: str, file: File) -> Iterator[str]:
    yield f"TN:{test}"
    yield f"SF:{file.name}"
    for function in file.functions:
        yield f"FN:{function.line},{function.name}"
    for function in file.functions:
        yield f"FNDA:{function.calls},{function.name}"
    if file.functions:
        yield f"FNF:{len(file.functions)}"
        yield f"FNH:{len(file.functions)}"
    for line, count in file.lines.items():
        yield f"DA:{line},{count}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{sum(count > 0 for count in file.lines.values())}"
    yield "end_of_record"
