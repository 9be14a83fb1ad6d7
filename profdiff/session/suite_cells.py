"""Where the cells of a suite lie."""

import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.session.points import settings
from profdiff.session.suite import Suite, cell_names


class Located(NamedTuple):
    """A session, or a folder with several, and its point as ``--at`` takes it; None: its only one,
    or all."""

    folder: Path
    at: str | None


def cells(suite: Suite) -> dict[str, Located]:
    """By name, in the suite's order: every cell that was begun; then what names all parts of one,
    and all points of a workload. What is damaged has none."""
    found: dict[str, Located] = {}
    wider: dict[str, Located] = {}
    for workload, part, session in suite.recorded(lambda *_: None):
        known = settings(session.manifest)
        names = cell_names(session.manifest, known, workload.name, part)
        plain = cell_names(session.manifest, known, workload.name)
        several = suite.part(workload.name)
        for name, short, setting in zip(names, plain, known, strict=True):
            at = ",".join(f"{one}={setting.value(one)}" for one in setting.varied) or None
            found[name] = Located(session.folder, at)
            wider.setdefault(short, Located(several, at))
        wider.setdefault(workload.name, Located(several, None))
    return {**found, **{name: one for name, one in wider.items() if name not in found}}


def located(suite: Suite, cell: str) -> Located:
    """Where a cell of a suite lies. Raises InputError for a name that it does not have."""
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
    told = f"; did you mean {' or '.join(near)}?" if near else ": profdiff report SUITE lists them"
    return f"--cell {cell}: the suite has no such cell{told}"
