"""What the agent measured of each execution of the workload: times, faults, switches, output."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

# Executions in a boot, as many as can be asked for; and a line of the agent has 18 words.
_MAX_LINES, _MAX_LINE = 10_000, 1000


@dataclass(frozen=True)
class Usage:
    """One execution: ``values`` by name (``wall_ns``, ``minor_faults`` …, getrusage(2)), and what
    it wrote to standard output."""

    values: Mapping[str, int]
    output: str


def parse_usage(usage: bytes, output: bytes) -> list[Usage]:
    """From the agent's lines and the output of all executions, one behind the other. What does not
    fit is left out."""
    found: list[Usage] = []
    start = 0
    for line in islice(io.BytesIO(usage), _MAX_LINES):
        words = line[:_MAX_LINE].decode("ascii", "replace").split()
        values = {
            name: int(number)
            for name, number in zip(words[::2], words[1::2], strict=False)
            if re.fullmatch(r"\d{1,18}", number)
        }
        end = min(max(values.pop("stdout_end", start), start), len(output))
        found.append(Usage(values, output[start:end].decode(errors="replace")))
        start = end
    return found
