"""``--cell``: one cell of a suite, for commands that show one session."""

import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete

if TYPE_CHECKING:
    pass

CELL = click.option(
    "--cell",
    metavar="NAME",
    shell_complete=complete.cells,
    help="Show this cell of a suite, as 'profdiff report SUITE' names it: mprotect/anon,64k.",
)


def locate(folder: Path, cell: str | None, at: str | None, typed: str) -> tuple[Path, str | None]:
    """The folder of a cell of a suite, a session or several, and its ``--at``; of what is no suite,
    its own. ``typed``: the command with ``--cell``, for a suite where it is missing. A workload's
    name is all of its points, and a name without ``@PART`` all parts. Raises InputError for a name
    that the suite does not have, and SessionError."""
    from profdiff.session.held import held

    if held(folder) != "suite":
        if cell is not None:
            raise InputError(f"--cell {cell}: {folder} is no suite (--at names a point of a sweep)")
        return folder, at
    from profdiff.session.suite import Suite
    from profdiff.session.suite_cells import cells

    suite = Suite.open(folder)
    if cell is None:
        raise InputError(
            f"{folder} is a suite: name one of its cells, {typed} (profdiff report {folder} lists "
            "them)"
        )
    # What stands before a point or a part is the workload, whose session alone is read.
    name = re.split(r"[/@~]", cell)[0]
    own = [one for one in suite.workloads if one.name == name]
    found = cells(replace(suite, workloads=own)).get(cell)
    if found is None:
        for _ in replace(suite, workloads=own).recorded():
            """What is damaged says so, before its cells are called unknown."""
        raise InputError(_unknown(cell, list(cells(suite))))
    if found.at is not None and at is not None:
        raise InputError(f"--at {at}: the cell {cell} is one point already")
    return found.folder, at if found.at is None else found.at


def _unknown(cell: str, known: list[str]) -> str:
    near = get_close_matches(cell, known, 3, 0.4)
    near = near or [name for name in known if cell in name][:3]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"--cell {cell}: the suite has no such cell{hint}"
