"""Which lines of two files are the same one: what git's diff leaves, and code that moved."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.sources.hunks import of_texts
from profdiff.sources.moves import moves

# What git blame -M takes for moved within a file: fewer letters and digits together are chance.
_LETTERS = 20


def matched_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """For each line of ``old`` (from 0) the line of ``new`` that is the same one, -1: none. The
    lines rise, because the diff is the one that ``same_lines`` reads. White space does not count as
    a difference. Raises MissingError without git."""
    found = np.full(len(old), -1, np.int64)
    here, there = 0, 0
    for hunk in of_texts(old, new):
        first, second = hunk.base.start - 1, hunk.new.start - 1
        found[here:first] = np.arange(there, second)
        here, there = hunk.base.stop - 1, hunk.new.stop - 1
    found[here:] = np.arange(there, len(new))
    return found


def moved_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """As ``matched_lines``, and with code that stands elsewhere, as where a function was put before
    another one."""
    found = matched_lines(old, new)
    came = np.setdiff1d(np.arange(len(new)), found)
    if not len(came):
        return found
    left = np.flatnonzero(found < 0)
    added, removed = ({("", at + 1): "" for at in some.tolist()} for some in (came, left))
    texts = {"": new}, {"": old}
    for (_, now), (_, before) in moves(added, removed, *texts, letters=_LETTERS):
        found[before - 1] = now - 1
    return found
