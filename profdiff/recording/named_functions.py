"""The functions of the kernel that a collector is to watch: those that a user named, or those that
the exact counts of the session in the folder single out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.records import Value
from profdiff.profile.comparison import Comparison
from profdiff.profile.recordings import Recordings
from profdiff.profile.seat import ROOTS
from profdiff.session.facts import Facts
from profdiff.session.held import is_session
from profdiff.session.session import Session

# As many functions are watched where none is named.
MOST = 5
# Instructions of a call, on average: to watch a shorter one costs more than the call itself.
_MIN_INSTRUCTIONS = 1000


def named(
    folder: Path, collectors: Sequence[str], options: Mapping[str, Value]
) -> dict[str, Value]:
    """``options``, with the functions that collectors watch. Raises InputError for one that a
    kernel of the session inlines, and where none is named and no counts single any out;
    SessionError for a damaged session."""
    found = dict(options)
    for name in collectors:
        if option := registry.collector(name).functions:
            given = options[option]
            names = [str(one) for one in given] if isinstance(given, list) else []
            found[option] = list(_checked(folder, name, option, names))
    return found


def _checked(folder: Path, collector: str, option: str, names: Sequence[str]) -> Sequence[str]:
    """``names``, or those that the session in the folder has or singles out."""
    session = Session.open(folder) if is_session(folder) else None
    before = session.manifest.options.get(option) if session else None
    if not names and isinstance(before, list) and before:
        return before
    flag = registry.spelled(option, ["NAME"])
    exact = _exact(session) if session else None
    if exact is not None:
        for name in names:
            _refuse_inlined(exact, name, flag)
        names = names or _largest(exact)
    if not names:
        raise InputError(
            f"{collector} runs need {flag}: {folder} has no exact counts whose largest total "
            "deltas could be taken"
        )
    return names


def _exact(session: Session) -> Comparison | None:
    """Exact counts with callers, at the session's first setting; None where there are none."""
    base = session.compared[0].label
    for name in session.profiling:
        if registry.collector(name).kind.exact and session.finished(base, name):
            for one in Recordings(session).of_collector(name, Facts()):
                return one if one.calls is not None else None
    return None


def _largest(comparison: Comparison) -> list[str]:
    """The functions with the largest total deltas, by name: those that every kernel which executes
    them calls, for long enough."""
    if len(comparison.kernels) < 2:
        return []
    delta = np.abs(comparison.total - comparison.total[:, :1]).max(axis=1)
    rows = comparison.rows("kernel")
    found: dict[str, None] = {}
    for row in rows[np.argsort(-delta[rows], kind="stable")].tolist():
        name = comparison.functions[row].name
        if len(found) == MOST or not delta[row]:
            break
        if name in ROOTS or not name.isidentifier() or _inlined(comparison, row):
            continue
        if (comparison.total[row] >= _MIN_INSTRUCTIONS * _calls(comparison, row)).all():
            found[name] = None
    return list(found)


def _calls(comparison: Comparison, row: int) -> NDArray[np.int64]:
    """int64[K], how often each kernel called a function."""
    assert comparison.calls is not None  # noqa: S101  # those of ``_exact`` have them
    calls: NDArray[np.int64] = comparison.calls[comparison.stacks.function == row].sum(axis=0)
    return calls


def _inlined(comparison: Comparison, row: int) -> dict[str, str]:
    """Into which function each kernel inlines another one that it never calls, by label."""
    stacks, calls = comparison.stacks, _calls(comparison, row)
    mine = stacks.function == row
    found = {}
    for kernel, label in enumerate(comparison.labels):
        inlined = np.flatnonzero(mine & comparison.inlined[:, kernel])
        if not len(inlined) or calls[kernel]:
            continue
        at = int(inlined[0])
        while stacks.parent[at] >= 0 and comparison.inlined[at, kernel]:
            at = int(stacks.parent[at])
        functions = [*comparison.functions, *comparison.unnamed]
        found[label] = functions[stacks.function[at]].name
    return found


def _refuse_inlined(comparison: Comparison, name: str, flag: str) -> None:
    for row, function in enumerate(comparison.functions):
        if function.in_kernel and function.name == name:
            for label, holder in _inlined(comparison, row).items():
                raise InputError(
                    f"{flag.split()[0]} {name}: {label} inlines it into {holder}, so it has no "
                    f"entry of its own: name {holder}"
                )
