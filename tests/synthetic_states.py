"""Made-up sessions whose runs were repeated in varied states, on disk and without a guest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synthetic import Row
from synthetic_joint import part

from profdiff.profile import kept
from profdiff.session import manifest as m
from profdiff.session.session import Session

OPS = 1000


def varied(folder: Path, kernels: Mapping[str, Sequence[Row]], *, keep: bool = True) -> Session:
    """A session of one exact run of each kernel in each state: the counts of rows are by state, the
    plain one's first. ``keep``: with what each function executed."""
    states = max(len(row[3]) for rows in kernels.values() for row in rows)
    point = m.Point({}, 1, OPS)
    session = part(folder, kernels, [point] * states)
    runs = [
        m.replace(run, point=0, state=run.point, repetition=1 + run.point)
        for run in session.manifest.runs
    ]
    order = m.Order(states=states - 1)
    session.save(m.replace(session.manifest, points=[point], runs=runs, order=order))
    if keep:
        kept.keep(session)
    return Session.open(folder)
