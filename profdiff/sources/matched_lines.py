"""Which lines of two files are the same one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import matched


def matched_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """For each line of ``old`` (from 0) the line of ``new`` that is the same one, -1: none; by a
    patience diff, so rising. White space is no difference."""
    numbers: dict[str, int] = {}

    def numbered(lines: Sequence[str]) -> NDArray[np.uint32]:
        bare = ("".join(line.split()) for line in lines)
        return np.array([numbers.setdefault(line, len(numbers)) for line in bare], np.uint32)

    return matched(numbered(old), numbered(new))
