"""will-it-scale: ``runtest.py``'s CSV, and what one of its programs prints itself (runtest.py and
main.c of https://github.com/antonblanchard/will-it-scale).

The CSV gives ``processes.N`` and ``threads.N``, operations per second of N tasks, and
``processes_idle.N``, ``threads_idle.N`` in percent of the machine. The row of 0 tasks is there for
plots, ``linear`` is computed; -1 stands for a program that failed. A program gives ``average``.
"""

import re

from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics.reading import Reading, lines, number

_HEADER = ["tasks", "processes", "processes_idle", "threads", "threads_idle", "linear"]
_AVERAGE = re.compile(r"^average:(\d+)$", re.M | re.ASCII)


def read(output: str) -> list[Reading]:
    """Readings of the table, or of a program's own lines."""
    table = list(lines(output))
    header = ",".join(_HEADER)
    if header not in table:
        return [Reading("average", [float(text)], "ops/s") for text in _AVERAGE.findall(output)]
    readings = []
    for line in table[table.index(header) + 1 :]:
        row = line.split(",")
        if len(row) != len(_HEADER) or not row[0].isdecimal():
            break
        for column, text in zip(_HEADER[1:-1], row[1:-1], strict=True):
            value = number(text)
            if row[0] != "0" and value is not None:
                idle = column.endswith("_idle")
                better: Better = "lower" if idle else "higher"
                values = [value] if value >= 0 else []
                readings.append(
                    Reading(f"{column}.{row[0]}", values, "%" if idle else "ops/s", better)
                )
    return readings
