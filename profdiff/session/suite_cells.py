"""Where the cells of a suite lie."""

from pathlib import Path
from typing import NamedTuple

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
