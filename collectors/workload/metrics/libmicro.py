"""libMicro's rows: ``name prc thr usecs/call samples errors cnt/samp`` (libmicro.c of
https://github.com/redhat-performance/libMicro: ``%-12s %3d %3d %12.5f %12d %8lld %8d``).

A name gives its median, or with ``-M`` its mean, after libMicro has removed outliers. Comments
(``#``) and what ``bench`` says of the machine (``!``) are passed over. A row whose calls failed
(``errors``) has no value.
"""

import re

from profdiff.collectors.workload.metrics.reading import NUMBER, Reading, lines, number

_ROW = re.compile(
    rf"^(?P<name>[^\s#!]\S*) +\d+ +\d+ +(?P<time>{NUMBER}) +\d+ +(?P<errors>\d+) +\d+(?: .*)?$",
    re.ASCII,
)


def read(output: str) -> list[Reading]:
    """Each row's time in us per call; rows are found without their header too (``-H``)."""
    readings = []
    for line in lines(output):
        if row := _ROW.match(line):
            time = number(row["time"])
            good = time is not None and int(row["errors"]) == 0
            readings.append(
                Reading(row["name"], [time] if good and time is not None else [], "us/call")
            )
    return readings
