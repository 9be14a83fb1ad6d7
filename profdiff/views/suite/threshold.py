"""From which change on a cell of a suite is a row."""

import math

from profdiff.base.errors import InputError
from profdiff.session.states import RELEVANT as RELEVANT


def parsed(text: str | None) -> float:
    """A fraction: 0.05 of ``5%`` or ``5``. Raises InputError for what is not a percentage."""
    if text is None:
        return RELEVANT
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"--threshold {text}: give a percentage, such as 5%")
    return value
