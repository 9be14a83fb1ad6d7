"""What the agent measured of each execution of the workload: times, faults, switches, output."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# More executions in one boot than anyone asks for.
_MAX_LINES = 1_000_000


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
    for line in usage.decode("ascii", "replace").splitlines()[:_MAX_LINES]:
        words = line.split()
        values = {
            name: int(number)
            for name, number in zip(words[::2], words[1::2], strict=False)
            if re.fullmatch(r"\d{1,18}", number)
        }
        end = min(max(values.pop("stdout_end", start), start), len(output))
        found.append(Usage(values, output[start:end].decode(errors="replace")))
        start = end
    return found
