"""JSON documents in an output that may hold other lines before, between and after them."""

import json
import re
from typing import Any

from profdiff.base.errors import InputError

# Where a document may begin, and how often what begins so may be none: each try costs.
_START = re.compile(r"^[ \t]*+\{", re.M)
_MAX_FAILURES = 100


def find(output: str, member: str) -> list[list[dict[str, Any]]]:
    """For each JSON object in ``output`` that begins a line and has a list as ``member``: the
    objects in that list. Every number is a float."""
    decoder = json.JSONDecoder(parse_int=float)
    found = []
    position = failures = 0
    while failures < _MAX_FAILURES and (start := _START.search(output, position)):
        try:
            document, position = decoder.raw_decode(output, start.end() - 1)
        except (ValueError, RecursionError):
            failures += 1
            position = start.end()
            continue
        records = document.get(member)
        if isinstance(records, list):
            found.append([record for record in records if isinstance(record, dict)])
    return found


def find_of(program: str, output: str, member: str) -> list[list[dict[str, Any]]]:
    """As :func:`find`. Raises InputError: there is no such document, which ``program`` prints."""
    documents = find(output, member)
    if not documents:
        raise InputError(
            f"the output holds no JSON of {program} (an object with {member!r}):"
            " make it print that, to standard output"
        )
    return documents


def number(value: Any) -> float | None:
    """A JSON number, NaN and Infinity included; None: it is something else."""
    return value if isinstance(value, float) else None
