"""Which lines of two files are the same one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import matched


def matched_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """For each line of ``old`` (from 0) the line of ``new`` that is the same one, -1: none; by a
    patience diff, so rising. White space is no difference."""
    return matched(*_numbered(old, new))


def moved_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """As ``matched_lines``, and with code that stands elsewhere, as where a function was put before
    another one: lines that either file has once, and what is left beside them."""
    columns = _numbered(old, new)
    found = matched(*columns)
    numbers = [column.tolist() for column in columns]
    free = np.ones(len(new), np.bool_)
    free[found[found >= 0]] = False
    often = [Counter(column) for column in numbers]
    where = {number: at for at, number in enumerate(numbers[1])}
    for at, number in enumerate(numbers[0]):
        once = often[0][number] == often[1][number] == 1
        if found[at] >= 0 or not once or not free[where[number]]:
            continue
        found[at], free[where[number]] = where[number], False
        for step in (-1, 1):
            mine, other = at + step, where[number] + step
            while (
                0 <= mine < len(old)
                and 0 <= other < len(new)
                and found[mine] < 0
                and free[other]
                and numbers[0][mine] == numbers[1][other]
            ):
                found[mine], free[other] = other, False
                mine, other = mine + step, other + step
    return found


def _numbered(
    old: Sequence[str], new: Sequence[str]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """A number for each line, one for those that differ in white space alone."""
    numbers: dict[str, int] = {}

    def column(lines: Sequence[str]) -> NDArray[np.uint32]:
        bare = ("".join(line.split()) for line in lines)
        return np.array([numbers.setdefault(line, len(numbers)) for line in bare], np.uint32)

    return column(old), column(new)
