"""The call paths that carry most of a change: each ends at the deepest function that, with its
callees, changed by a part of the whole, and no instruction is counted in two of them."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import callers_known
from profdiff.shapes.table import CUT, Cell, Section, Table, of_kernel, of_row, tabulate
from profdiff.topics.sentences import told_kernels

# The parts of the change that end a path, of which the first is taken that gives so few paths.
_PARTS, _MOST = (0.1, 0.2, 0.3, 0.5, 1, 2), 8


class Path(NamedTuple):
    """``functions``: names, the outermost first; ``counts`` of both kernels, those of the last
    function there with its callees, without what other paths have."""

    functions: list[str]
    counts: Sequence[int]

    @property
    def delta(self) -> int:
        """The other kernel's count minus the base's."""
        return self.counts[1] - self.counts[0]


class Paths(NamedTuple):
    """``paths``, the largest change first; ``rest``: of what is in none. ``part``: of the whole
    change, how much ends a path."""

    paths: list[Path]
    rest: Path
    whole: Path
    part: float


def paths_of(comparison: Comparison, kernel: int) -> Paths:
    """Those of a kernel's change from the base; none where nothing changed."""
    stacks, counts = comparison.stacks, comparison.counts[:, [0, kernel]]
    whole = counts.sum(axis=0).tolist()
    delta, ends, part = abs(whole[1] - whole[0]), dict[int, list[int]](), 0.0
    for part in _PARTS if delta else ():
        ends = _ends(stacks.parent, counts, part * delta)
        if len(ends) <= _MOST:
            break
    ends = dict(sorted(ends.items(), key=lambda one: -abs(one[1][1] - one[1][0]))[:_MOST])
    names = [one.name for one in (*comparison.functions, *comparison.unnamed)]
    paths = [
        Path([names[number] for number in stacks.frames(stack)][::-1], own)
        for stack, own in ends.items()
    ]
    rest = [all_ - sum(path.counts[at] for path in paths) for at, all_ in enumerate(whole)]
    return Paths(paths, Path(["elsewhere"], rest), Path(["all"], whole), part)


def _ends(
    parent: NDArray[np.int64], counts: NDArray[np.int64], least: float
) -> dict[int, list[int]]:
    """The stacks at which paths end, with their counts: from the innermost on, what is left of a
    stack with all on top of it ends a path where it differs by ``least``, and counts further out
    only where it does not."""
    left, ends = counts.tolist(), dict[int, list[int]]()
    # A parent's number is lower than its children's.
    for stack, below in reversed(list(enumerate(parent.tolist()))):
        base, other = own = left[stack]
        if abs(other - base) >= least:
            ends[stack] = own
        elif below >= 0:
            left[below][0] += base
            left[below][1] += other
    return ends


def section(findings: Findings) -> Section:
    """A table for each kernel whose change is sure. Raises InputError without exact counts of
    callers."""
    comparison = next((one for one in findings.comparisons if one.metric.exact), None)
    if comparison is None or not callers_known(comparison):
        raise InputError("paths: only exact counts with callers have paths: record with exact")
    tables, sentences = [], []
    for kernel in told_kernels(comparison.labels):
        label = comparison.labels[kernel]
        judged = findings.judged(comparison, label)
        if judged is not None and not judged[1].verdict.is_sure:
            continue
        found = paths_of(comparison, kernel)
        if found.paths:
            tables.append(_table(comparison, label, found))
            sentences.append(_sentence(comparison, label, found))
    return Section(name="paths", title="Call paths", sentences=sentences, tables=tables)


def _sentence(comparison: Comparison, label: str, found: Paths) -> str:
    ops, number = comparison.ops or 1, len(found.paths)
    what = f"{comparison.metric.name}{' per op' if comparison.ops else ''}"
    up, down = ([path.delta for path in found.paths if path.delta * sign > 0] for sign in (1, -1))
    if up and down:
        more, fewer, rest, whole = (
            units.delta(delta / ops, per_op=comparison.ops is not None)
            for delta in (sum(up), sum(down), found.rest.delta, found.whole.delta)
        )
        return (
            f"{label}: of the change of {whole} {what}, {units.counted(len(up), 'call path')} "
            f"{_have(up)} {more}, {len(down):,} {_have(down)} {fewer}, and {rest} is elsewhere."
        )
    share = units.share(sum(up or down), found.whole.delta, 0)
    paths = units.counted(number, "call path")
    return f"{label}: {paths} {_have(found.paths)} {share} of the change in {what}."


def _have(some: Sequence[Any]) -> str:
    return "has" if len(some) == 1 else "have"


def _table(comparison: Comparison, label: str, found: Paths) -> Table:
    base, setting = comparison.labels[0], comparison.setting
    prefix = _common([path.functions for path in found.paths])

    def shown(path: Path) -> Cell:
        if not prefix or path in (found.rest, found.whole):
            return path.functions
        # What all other paths continue ends in what they begin with.
        return [CUT, *path.functions[prefix:]] if path.functions[prefix:] else path.functions[-1:]

    def count(path: Path, kernel: str) -> int:
        return path.counts[kernel != base]

    def share(path: Path, _: str) -> float:
        return path.delta / found.whole.delta

    differs: dict[str, Any] = {"title": "delta", "of": "total", "shows": ["delta", "change"]}
    columns = [
        *(of_kernel(one, "total", "detail", count, title="total") for one in (base, label)),
        of_kernel(label, "delta", "delta", lambda path, _: path.delta, **differs),
        of_kernel(label, "share", "share", share, title="share"),
        of_row("path", "path", shown),
        of_row("functions", "bound", lambda path: path.functions),
    ]
    at = f" at {setting.title}" if setting.title else ""
    means = (
        "A path's numbers are of its last function with its callees, without what longer paths "
        f"have; it ends where these differ by at least {found.part:.0%} of the whole change."
    )
    begin = " > ".join(max((path.functions for path in found.paths), key=len)[:prefix])
    return tabulate(
        columns,
        name=f"paths-{comparison.labels.index(label)}",
        title=comparison.metric.title,
        remark=f" that {label} has more by call path{at}",
        kernels=[base, label],
        ops=comparison.ops,
        rows=found.paths,
        sums=[found.rest, found.whole],
        notes=[*([f"{CUT} is {begin}."] if prefix else []), means],
    )


def _common(paths: Sequence[list[str]]) -> int:
    """With how many functions all paths begin, but for one that all others continue; the last of
    each is shown."""
    longer = [one for one in paths if any(other[: len(one)] != one for other in paths)] or paths
    first = [*zip(*(path[:-1] for path in longer), strict=False)]
    return len([*takewhile(lambda names: len(set(names)) == 1, first)])
