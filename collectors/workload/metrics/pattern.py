"""A regular expression with named groups, matched on each line: ``Avg: (?P<nsec_per_call>[\\d.]+)
nsec/call``.

Each group is a metric, called as the group is. A group called ``X_per_Y`` has the unit ``X/Y``, and
one called ``X_ns_per_Y`` or ``X_ns`` has ``ns/Y`` or ``ns``.

Python's matcher backtracks: an expression such as ``(a+)+b`` takes time that doubles with each
character of a line that does not match. Lines are matched one by one, and none that is longer than
``MAX_LINE`` characters, which bounds what an ordinary expression costs, not such a one.
"""

import re
import warnings

from profdiff.base.errors import InputError
from profdiff.collectors.workload.metrics.reading import Reading, number, with_headings
from profdiff.collectors.workload.printed_unit import unit_of_name

MAX_LENGTH = 1000
MAX_LINE = 65_536


def compiled(expression: str) -> re.Pattern[str]:
    """``expression``, ready to match. Raises InputError: too long, no regular expression, or
    without a named group."""
    if len(expression) > MAX_LENGTH:
        raise InputError(f"the pattern is longer than {MAX_LENGTH:,} characters")
    try:
        with warnings.catch_warnings():
            # What a later Python may understand otherwise does not concern the user's.
            warnings.simplefilter("ignore")
            found = re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"pattern {expression!r} is not a regular expression: {error}") from None
    if not found.groupindex:
        raise InputError(
            f"the pattern {expression!r} has no named group: write (?P<name>...) around the number"
        )
    return found


def read(expression: str, output: str) -> list[Reading]:
    """A reading for each place where a group matched. Raises InputError: what :func:`compiled`
    raises, or a group matched what is not a number."""
    pattern = compiled(expression)
    readings = []
    for line, headings in with_headings(output, MAX_LINE):
        for match in pattern.finditer(line):
            for name, text in match.groupdict().items():
                if text is None:
                    continue
                value = number(text)
                if value is None:
                    raise InputError(
                        f"the pattern's group {name!r} matched {text[:40]!r}, which is not a number"
                    )
                measure = unit_of_name(name)
                readings.append(Reading(name, [value], measure, None, headings))
    return readings
