"""The recording that a command shows: a session, parts, a suite or one of its cells; and the
options that not all of them have."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.newest import newest
from profdiff.session.held import EVERY, Held, refuse

if TYPE_CHECKING:
    from profdiff.session.opened import Opened
    from profdiff.session.suite import Suite
    from profdiff.session.suite_cells import Located

SESSION = click.argument(
    "session",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=complete.sessions,
)
CELL = click.option(
    "--cell",
    metavar="NAME",
    shell_complete=complete.cells,
    help="Use this cell of a suite. 'profdiff report SUITE' prints the names: mprotect/anon,64k.",
)


class _Option(click.Option):
    """An option that works only on recordings that ``held`` names; of ``values``, if there are any,
    only these do. ``instead``: what to do on others."""

    def __init__(
        self,
        *names: Any,
        held: Collection[Held],
        values: Sequence[object] = (),
        instead: str = "",
        **more: Any,
    ) -> None:
        super().__init__(*names, **more)
        self.held, self.values, self.instead = held, values, instead

    def refuse(self, context: click.Context, found: Opened) -> None:
        """Raise InputError where it is given, and ``found`` does not have it."""
        name = self.name or ""
        value = context.params.get(name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if found.held in self.held or not given or (self.values and value not in self.values):
            return
        typed = self.secondary_opts[0] if value is False and self.secondary_opts else self.opts[0]
        typed = f"{typed} {value}" if self.values and not self.is_flag else typed
        refuse(typed, self.held, found.folder, self.instead)


works_on: Callable[..., Callable[[Any], Any]] = partial(click.option, cls=_Option)
"""``click.option`` with ``held``: on which recordings it works."""


def find(
    session: Path | None, cell: str | None, at: str | None, able: Collection[Held] = EVERY
) -> tuple[Opened, str | None]:
    """What the running command is about, and its ``--at``: ``session``, by default the newest in
    this folder, or one cell of a suite. A workload's name is all of its points, and a name without
    ``@PART`` all parts. ``able``: on what the command works.

    Raises InputError for what the command or one of its options does not work on, and for a cell
    that the suite does not have, SessionError.
    """
    from profdiff.session import opened
    from profdiff.session.suite import Suite

    context = click.get_current_context()
    found = opened.open(session or newest(Path()))
    if cell is not None:
        if not isinstance(found, Suite):
            refuse("--cell", ["suite"], found.folder, "--at names a point of a sweep")
        place = locate(found, cell)
        if place.at is not None and at is not None:
            raise InputError(f"--at {at}: the cell {cell} is one point already")
        found, at = opened.open(place.folder), at if place.at is None else place.at
    if found.held not in able:
        refuse(f"profdiff {context.command.name}", able, found.folder)
    for option in context.command.params:
        if isinstance(option, _Option):
            option.refuse(context, found)
    return found, at


def locate(suite: Suite, cell: str) -> Located:
    """Where a cell of a suite lies. Raises InputError for a name that it does not have."""
    from profdiff.session.suite_cells import cells

    # What stands before a point or a part is the workload, whose session alone is read.
    name = re.split(r"[/@~]", cell)[0]
    own = replace(suite, workloads=[one for one in suite.workloads if one.name == name])
    found = cells(own).get(cell)
    if found is None:
        own.sessions()  # what is damaged says so, before its cells are called unknown
        raise InputError(_unknown(cell, list(cells(suite))))
    return found


def _unknown(cell: str, known: list[str]) -> str:
    near = get_close_matches(cell, known, 3, 0.4)
    near = near or [name for name in known if cell in name][:3]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"--cell {cell}: the suite has no such cell{hint}"
