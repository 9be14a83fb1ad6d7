"""What each function costs on every kernel, and what makes up the rest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.function_identity import title
from profdiff.topics.functions import marks
from profdiff.topics.functions.selection import Selection

# By the kernels' labels, the base's first.
Counts = dict[str, int]
_Value = TypeVar("_Value")


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Function(_Record, frozen=True):
    """``line``: where it is declared, 0 if unknown. ``namesakes``: whether another function has its
    name and object. ``symbols``: the symbols that were folded into it. ``self`` and ``total``: its
    counts without and with what it calls or inlines; ``samples``: from how many samples ``self`` is
    known, None for exact counts. ``marks``: what samples tell, or
    what it may be called on the base, by the labels of kernels of which they do."""

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


class Unresolved(_Record, frozen=True):
    """What could not be given a function, and why."""

    reason: str
    side: Side
    self: Counts


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What a table shows of a function, or together of several: those ``hidden``, what is
    ``unresolved`` for a reason, ``all``, or what ran ``outside`` the workload. ``title``: for
    readers; ``name``, ``object``, ``file``: for programs. ``numbers``: of the functions, and behind
    them of what has none. ``work``: the instructions that were sampled with cycles. ``verdicts``:
    by kernel, what several compilers make of it."""

    what: Literal["function", "hidden", "unresolved", "all", "outside"]
    title: str
    self: Counts
    total: Counts
    name: str = ""
    object: str = ""
    file: str = ""
    side: Side | Literal[""] = ""
    reason: str | None = None
    numbers: Sequence[int] = ()
    samples: Counts | None = None
    work: Counts | None = None
    marks: str = ""
    verdicts: Mapping[str, Any] = {}


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How often a function was called, and of its counts those that belong to calls, ``self`` and
    ``total`` (with what it calls). ``no_call``: the rest of its own counts, of copies that were
    inlined into its callers, where there are no calls to count. None: a caller both calls the
    function and has a copy of it, so that what belongs to calls is not known; all of its own counts
    are in ``no_call`` then."""

    calls: Counts
    self: dict[str, int | None]
    total: dict[str, int | None]
    no_call: Counts


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
                line=_by(labels, lines[at]),
                side=_side(function.in_kernel),
                namesakes=comparison.namesakes[row],
                symbols=comparison.symbols[row],
                self=_by(labels, self_[at]),
                total=_by(labels, total[at]),
                samples=None if of is None else _by(labels, of),
                marks={label: marks.LEGEND[sign] for label, sign in told if sign},
            )
        )
    return found


def lines(comparison: Comparison, rows: Rows, beside: Comparison | None = None) -> list[Line]:
    """A line for each shown function, for the rest, and for the sum. ``beside``: as above."""
    labels, left, samples = comparison.labels, rows.hidden.tolist(), comparison.samples
    own, work = _own(comparison), _own(beside) if beside else None

    def line(what: Any, title: str, numbers: Sequence[int], **more: Any) -> Line:
        self_, beside_ = (
            None if counts is None else _counts(labels, counts[numbers].sum(axis=0))
            for counts in (own, work)
        )
        about = {"self": self_, "total": self_, "work": beside_, **more}
        return Line(what=what, title=title, numbers=numbers, **about)

    found = []
    shown = functions(comparison, rows.shown, beside)
    for number, one in zip(rows.shown.tolist(), shown, strict=True):
        names = {name: getattr(one, name) for name in ("name", "object", "file", "side", "total")}
        sign = marks.together(one.marks.values())
        about = {"samples": one.samples, "marks": sign, **names}
        found.append(line("function", one.title, [number], **about))
    if left:
        of = None if samples is None else _counts(labels, samples[left].sum(axis=0))
        title = f"{units.counted(len(left), 'function')} not shown"
        about = {"name": f"[{len(left)} not shown]", "side": rows.side or "", "samples": of}
        found.append(line("hidden", title, left, **about))
    unnamed = [(one.reason, one.in_kernel) for one in comparison.unnamed]
    for rest in unresolved(comparison, rows.side):
        title = units.printable(f"unresolved: {rest.reason} ({rest.side})")
        number = len(comparison.functions) + unnamed.index((rest.reason, rest.side == "kernel"))
        name = f"[unresolved: {rest.reason}]"
        about = {"name": name, "reason": rest.reason, "side": rest.side}
        found.append(line("unresolved", title, [number], **about))
    return [*found, line("all", "all", [number for one in found for number in one.numbers])]


def _own(comparison: Comparison) -> NDArray[np.int64]:
    """int64[F + U, K]: of functions, and of what has none."""
    none = np.zeros(len(comparison.labels), np.int64)
    keys = [(one.reason, one.in_kernel) for one in comparison.unnamed]
    return np.vstack([comparison.self_, *(comparison.unresolved.get(key, none) for key in keys)])


def unresolved(comparison: Comparison, wanted: Side | None = None) -> list[Unresolved]:
    """What has no function, by reason; of one side, or of both."""
    return [
        Unresolved(reason=reason, side=_side(in_kernel), self=_counts(comparison.labels, values))
        for (reason, in_kernel), values in comparison.unresolved.items()
        if wanted in (None, _side(in_kernel))
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


def calls(comparison: Comparison, rows: NDArray[np.int64]) -> list[Calls] | None:
    """The calls of functions, by their numbers; None where calls were not counted."""
    if comparison.calls is None:
        return None
    stacks, labels = comparison.stacks, comparison.labels
    every = len(comparison.functions) + len(comparison.unnamed)
    called = comparison.calls > 0
    # A recursive function's total is that of its outermost calls.
    outermost = called & (stacks.outer() < 0)[:, None]
    inclusive = stacks.inclusive(comparison.counts) * outermost
    own, mixed = comparison.counts * called, (called & comparison.inlined).astype(np.int64)
    columns = (comparison.calls, own, inclusive, comparison.counts, mixed)
    tables = [stacks.self_by_function(column, every)[rows].tolist() for column in columns]
    found = []
    for numbers, self_, total, whole, both in zip(*tables, strict=True):
        known = [not number for number in both]
        rest = [all_ - mine * sure for all_, mine, sure in zip(whole, self_, known, strict=True)]
        found.append(
            Calls(
                calls=_by(labels, numbers),
                self=_by(labels, _where(known, self_)),
                total=_by(labels, _where(known, total)),
                no_call=_by(labels, rest),
            )
        )
    return found


def _where(known: list[bool], values: list[int]) -> list[int | None]:
    return [value if sure else None for sure, value in zip(known, values, strict=True)]


def _side(in_kernel: bool) -> Side:
    return "kernel" if in_kernel else "user"


def _counts(labels: Sequence[str], values: NDArray[np.int64]) -> Counts:
    return _by(labels, values.tolist())


def _by(labels: Sequence[str], values: Iterable[_Value]) -> dict[str, _Value]:
    return dict(zip(labels, values, strict=True))
