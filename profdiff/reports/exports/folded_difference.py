"""Folded stacks in three columns: what FlameGraph's ``difffolded.pl`` writes and ``flamegraph.pl``
reads as a differential profile."""

from collections.abc import Iterator

import numpy as np

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.frame_names import frame_names
from profdiff.reports.exports.stack_paths import LEFT_OUT, stack_paths


def files(comparison: Comparison) -> Iterator[tuple[str, bytes]]:
    """For each kernel but the base (label, lines): ``a;b;c BASE OTHER``, sorted, a line for each
    stack that either executed, in the comparison's metric. What would break a line or a frame is
    replaced, as in other folded stacks, and very deep stacks are shortened (stack_paths). Raises
    InputError for a single kernel."""
    if len(comparison.labels) < 2:
        raise InputError("--folded-diff: there is one kernel, and nothing to compare it with")
    names = [_frame(one.name) for one in frame_names(comparison)]
    paths = stack_paths(comparison.stacks, names, LEFT_OUT)
    for kernel, label in list(enumerate(comparison.labels))[1:]:
        # The format has no counts below zero, which two lengths can give.
        pair = np.maximum(comparison.counts[:, [0, kernel]], 0)
        sums: dict[str, list[int]] = {}
        # Functions of one name in different objects are one here.
        for row in np.flatnonzero(pair.any(axis=1)).tolist():
            both = sums.setdefault(";".join(paths[row]), [0, 0])
            both[0] += int(pair[row, 0])
            both[1] += int(pair[row, 1])
        lines = [f"{text} {base} {other}\n" for text, (base, other) in sorted(sums.items())]
        yield label, "".join(lines).encode(errors="backslashreplace")


def _frame(name: str) -> str:
    return name.replace(";", ":")
