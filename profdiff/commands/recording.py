"""The recording that a command shows: a session, parts, a suite or one of its cells; and the
options that not all of them have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from profdiff.base.errors import InputError
from profdiff.base.terminal import tell
from profdiff.commands import complete
from profdiff.commands.complete import newest
from profdiff.session.held import EVERY, Held, refuse

if TYPE_CHECKING:
    from profdiff.session.opened import Opened
    from profdiff.session.session import Session

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
    from profdiff.session import opened, suite
    from profdiff.session.suite import Suite

    context = click.get_current_context()
    found = opened.open(session or newest(Path()))
    if cell is not None:
        if not isinstance(found, Suite):
            refuse("--cell", ["suite"], found.folder, "--at names a point of a sweep")
        place = suite.located(found, cell)
        if place.at is not None and at is not None:
            raise InputError(f"--at {at}: the cell {cell} is one point already")
        found, at = opened.open(place.folder), at if place.at is None else place.at
    if not isinstance(found, Suite):
        # What is read is looked at then.
        context.call_on_close(partial(_tell_damage, found.folder, found.sessions()))
    if found.held not in able:
        refuse(f"profdiff {context.command.name}", able, found.folder)
    for option in context.command.params:
        if isinstance(option, _Option):
            option.refuse(context, found)
    return found, at


def _tell_damage(folder: Path, sessions: Mapping[str, Session]) -> None:
    for name, session in sessions.items():
        for line in session.damaged:
            tell(f"{folder / name}: {line}")


def damage(found: Opened) -> int:
    """The exit status of who showed what is whole: 1 where something is damaged, which is told at
    the end; but in a suite, which tells it cell by cell."""
    from profdiff.session.suite import Suite

    if isinstance(found, Suite):
        return 0
    return int(any(one.damaged for one in found.sessions().values()))
