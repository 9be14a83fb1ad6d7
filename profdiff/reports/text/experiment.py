"""The experiment as plain text: tables at most so many columns wide, and notes."""

from profdiff.base import units
from profdiff.evidence.results import Results
from profdiff.forms import columns as table
from profdiff.forms.columns import Block, Column
from profdiff.session.points import Setting
from profdiff.views.results.experiment import Grid, grids
from profdiff.views.results.notes import notes


def render(results: Results, setting: Setting, width: int, ratios: bool = False) -> list[str]:
    """Lines; none where there is nothing that the function table does not say."""
    lines = tables(results, setting, width, ratios)
    for note in notes(results) if lines else []:
        lines += units.wrap(note.text, width, 2)
    return [*lines, ""] if lines else []


def tables(results: Results, setting: Setting, width: int, ratios: bool = False) -> list[str]:
    """The lines of all tables, an empty one after each. ``ratios``: changes as ratios."""
    found = grids(results, setting)
    shown = [grid.in_ratios() for grid in found] if ratios else found
    return [line for grid in shown for line in [*table.joined(draw(grid, width)), ""]]


def draw(grid: Grid, width: int) -> list[Block]:
    """A table in blocks of at most ``width`` columns; columns that do not fit follow below, under
    the row's name again."""
    shown = grid.table
    columns = [Column(title, name=True) for title in shown.header[: grid.names]]
    behind = zip(shown.header[grid.names :], grid.parts, strict=True)
    columns += [Column(title, part=part, spare=int(title == "states")) for title, part in behind]
    return table.draw(shown.title, columns, shown.rows, width)
