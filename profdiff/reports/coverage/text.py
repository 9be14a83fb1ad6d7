"""Tracefiles as a table: what each one holds."""

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Column, draw, joined
from profdiff.views.coverage import Coverage, Tracefile

_COLUMNS = ("files", "functions", "lines", "executed", "share")


def render(coverage: Coverage, *, width: int) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``)."""
    width = max(width, MIN_WIDTH)
    columns = [
        *map(Column, _COLUMNS),
        Column("tracefile", name=True),
        Column("", name=True, spare=1),
    ]
    rows = [_cells(one) for one in coverage.tracefiles]
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
