"""The table of functions: what each costs on every kernel, and what makes up the rest."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import title
from profdiff.views.profile import marks
from profdiff.views.profile.selection import Selection
from profdiff.views.record import Counts, Record, Side, by_label, counts, side


class Function(Record, frozen=True):
    """``line``: where it is declared, 0 if unknown. ``namesakes``: whether another function has its
    name and object. ``symbols``: the symbols that were folded into it. ``self`` and ``total``: its
    counts without and with what it calls or inlines; ``samples``: from how many samples ``self`` is
    known, None for exact counts. ``marks``: what samples tell, by the labels of kernels of which
    they do."""

    name: str
    object: str
    file: str
    line: Counts
    side: Side
    namesakes: bool
    symbols: dict[str, list[str]]
    self: Counts
    total: Counts
    samples: Counts | None
    marks: dict[str, str]

    @property
    def title(function) -> str:  # noqa: N805  # `self` is a column
        """Name, suffixes that were folded into it, object and file where they are needed; one
        printable line."""
        folded = sorted({text for texts in function.symbols.values() for text in texts})
        suffixes = [text.removeprefix(function.name) for text in folded]
        name = function.name + (f" [{', '.join(suffixes)}]" if suffixes else "")
        return title(name, function.object, function.file, namesakes=function.namesakes)


class Unresolved(Record, frozen=True):
    """What could not be given a function, and why."""

    reason: str
    side: Side
    self: Counts


class Hidden(Record, frozen=True):
    """The functions that a selection left out, together."""

    functions: int
    self: Counts
    samples: Counts | None


class FunctionTable(Record, frozen=True):
    """The rows of one metric in order; ``totals`` are the sums of ``rows``, ``hidden`` (None if
    there is nothing) and ``unresolved``."""

    rows: list[Function]
    hidden: Hidden | None
    unresolved: list[Unresolved]
    totals: Counts


class Rows(msgspec.Struct, frozen=True):
    """Numbers of functions of one side, or of both: ``shown`` in order, and ``hidden``."""

    shown: NDArray[np.int64]
    hidden: NDArray[np.int64]
    side: Side | None


def select(comparison: Comparison, selection: Selection) -> Rows:
    """Sort, then cut."""
    rows = comparison.rows(selection.side)
    names = [comparison.functions[row] for row in rows]
    rows = rows[sorted(range(len(rows)), key=lambda i: names[i])]
    self_, total = comparison.self_[rows], comparison.total[rows]
    delta = np.abs(self_ - self_[:, :1]).max(axis=1, initial=0)
    keys = {
        "delta": delta,
        "total-delta": np.abs(total - total[:, :1]).max(axis=1, initial=0),
        "self": self_.max(axis=1, initial=0),
        "total": total.max(axis=1, initial=0),
        "name": -np.arange(len(rows)),
    }
    # Equal keys: the function that executes more first.
    order = np.lexsort((-self_.max(axis=1, initial=0), -keys[selection.sort]))
    wanted = delta[order] >= selection.min_delta
    if selection.top is not None:
        wanted &= np.cumsum(wanted) <= selection.top
    return Rows(rows[order[wanted]], rows[order[~wanted]], selection.side)


def functions(
    comparison: Comparison, rows: NDArray[np.int64], beside: Comparison | None = None
) -> list[Function]:
    """Functions by their numbers. ``beside``: the instructions that were sampled with cycles."""
    labels, sampled = comparison.labels, comparison.samples
    lines, self_, total = (
        column[rows].tolist() for column in (comparison.lines, comparison.self_, comparison.total)
    )
    samples = [None] * len(rows) if sampled is None else sampled[rows].tolist()
    signs = [()] * len(rows) if sampled is None else marks.signs(comparison, beside, rows)
    found = []
    for at, row in enumerate(rows.tolist()):
        function = comparison.functions[row]
        of, told = samples[at], zip(labels[1:], signs[at], strict=False)
        found.append(
            Function(
                name=function.name,
                object=function.object,
                file=function.file,
                line=by_label(labels, lines[at]),
                side=side(function.in_kernel),
                namesakes=comparison.namesakes[row],
                symbols=comparison.symbols[row],
                self=by_label(labels, self_[at]),
                total=by_label(labels, total[at]),
                samples=None if of is None else by_label(labels, of),
                marks={label: marks.LEGEND[sign] for label, sign in told if sign},
            )
        )
    return found


def table(comparison: Comparison, rows: Rows, beside: Comparison | None = None) -> FunctionTable:
    """The table of a metric."""
    labels, left, sampled = comparison.labels, rows.hidden, comparison.samples
    return FunctionTable(
        rows=functions(comparison, rows.shown, beside),
        hidden=Hidden(
            functions=len(left),
            self=counts(labels, comparison.self_[left].sum(axis=0)),
            samples=None if sampled is None else counts(labels, sampled[left].sum(axis=0)),
        )
        if len(left)
        else None,
        unresolved=unresolved(comparison, rows.side),
        totals=counts(labels, comparison.totals(rows.side)),
    )


def unresolved(comparison: Comparison, wanted: Side | None = None) -> list[Unresolved]:
    """What has no function, by reason; of one side, or of both."""
    return [
        Unresolved(reason=reason, side=side(in_kernel), self=counts(comparison.labels, values))
        for (reason, in_kernel), values in comparison.unresolved.items()
        if wanted in (None, side(in_kernel))
    ]


def verdicts(comparison: Comparison, rows: NDArray[np.int64]) -> list[str] | None:
    """What the boots of two kernels tell of functions, ``-`` for those too small to be tested; None
    where one run tells all."""
    # Most that names functions tests none.
    from profdiff.evidence.function_verdicts import function_verdicts
    from profdiff.evidence.statistics import Verdict

    tests = function_verdicts(comparison, 1) if len(comparison.labels) == 2 else None
    if tests is None:
        return None
    told, tested = tests.verdicts, tests.tested.tolist()
    return [told[row] if tested[row] or told[row] is Verdict.EXACT else "-" for row in rows]
