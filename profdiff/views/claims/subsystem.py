"""Which subsystem a change is in, as subjects of kernel commits name it: ``mm/mprotect``."""

from collections import Counter
from pathlib import PurePosixPath

import numpy as np

from profdiff.base import units
from profdiff.profile.comparison import Comparison

# Functions that decide, and what part of their change one file or folder must have.
_DECIDE, _LEAST = 20, 0.5
# Folders that subjects leave out: ``sched/fair``, ``x86/mm/tlb``.
_UNSAID = ("arch", "kernel", "drivers", "fs")


def subsystem(comparison: Comparison, kernel: int) -> str:
    """From the source files of the kernel's functions that changed most in the direction of the
    whole: the file's path without its ending, or the folder where several of its files changed; ""
    where neither stands out, or files are not known. Headers tell nothing: their functions are
    everywhere."""
    totals = comparison.totals()
    deltas = comparison.deltas()[:, kernel] * (1 if totals[kernel] >= totals[0] else -1)
    files: Counter[PurePosixPath] = Counter()
    for row in np.argsort(-deltas, kind="stable")[:_DECIDE].tolist():
        function = comparison.functions[row]
        path = PurePosixPath(function.file)
        known = function.in_kernel and path.suffix in (".c", ".S", ".rs")
        # If the build was outside of its tree, the path says nothing.
        if deltas[row] > 0 and known and not path.is_absolute() and ".." not in path.parts:
            files[path.with_suffix("")] += int(deltas[row])
    folders: Counter[PurePosixPath] = Counter()
    for path, delta in files.items():
        folders[path.parent] += delta
    for counted in (files, folders):
        for path, delta in counted.most_common(1):
            if delta > _LEAST * files.total() and path.parts:
                return _said(path, 1 if counted is folders else 2)
    return ""


def _said(path: PurePosixPath, least: int) -> str:
    """``least``: how much of the path must be left."""
    parts = path.parts
    if len(parts) > least and parts[0] in _UNSAID:
        parts = parts[1:]
    return units.printable("/".join(parts))
