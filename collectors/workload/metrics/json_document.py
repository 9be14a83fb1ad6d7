"""JSON documents in an output that may hold other lines before, between and after them."""

import json
import re
from typing import Any

from profdiff.base.errors import InputError

_START = re.compile(r"^[ \t]*+\{", re.M)
# How often what begins so may be none, and how many times the output's length is read for that.
_MAX_FAILURES, _MOST_READ = 100, 2
_MOST_VALUES = 2**20


def find(output: str, member: str) -> list[list[dict[str, Any]]]:
    """For each JSON object in ``output`` that begins a line and has a list as ``member``: the
    objects in that list. Every number is a float. Raises InputError for too many values."""
    decoder = json.JSONDecoder(parse_int=float)
    found = []
    position, failures, left = 0, 0, _MOST_READ * len(output)
    while left > 0 and failures < _MAX_FAILURES and (start := _START.search(output, position)):
        # Each value is behind one of these: 3 characters of an output can take 70 bytes.
        if position == 0 and sum(map(output.count, ",[{")) > _MOST_VALUES:
            raise InputError(f"the output's JSON has more than {_MOST_VALUES:,} values")
        first = start.end() - 1
        try:
            document, position = decoder.raw_decode(output, first)
        except (json.JSONDecodeError, RecursionError) as error:
            # The second does not say where.
            left -= getattr(error, "pos", len(output)) - first
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
