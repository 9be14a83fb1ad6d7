"""sysbench's text, 1.0 and 1.1 (src/sysbench.c, src/db_driver.c, src/tests/ of
https://github.com/akopytov/sysbench). What it prints at intervals is passed over.

The names are the groups of ``_LINES``, and ``latency_p95`` for whichever percentile was asked for.
"""

import re

from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics.reading import NUMBER, Reading, lines, number

_LINES = [
    re.compile(line.replace("<", "(?P<").replace(">", f">{NUMBER})"), re.ASCII)
    for line in (
        r"events per second: +<events_per_second>",
        r"events/s \(eps\): +<eps>",
        r"(?:total time|time elapsed): +<total_time>s",
        r"total number of events: +<events>",
        r"min: +<latency_min>",
        r"avg: +<latency_avg>",
        r"max: +<latency_max>",
        # memory
        r"Total operations: \d+ \( *<operations> per second\)",
        r"\S+ MiB transferred \( *<transferred> MiB/sec\)",
        # fileio of 1.0, then of 1.1
        r"reads/s: +<reads>",
        r"writes/s: +<writes>",
        r"fsyncs/s: +<fsyncs>",
        r"read, MiB/s: +<read>",
        r"written, MiB/s: +<written>",
        r"read: +IOPS=<reads> <read> MiB/s .*",
        r"write: +IOPS=<writes> <written> MiB/s .*",
        r"fsync: +IOPS=<fsyncs>",
        # databases
        r"transactions: +\d+ +\(<transactions> per sec\.\)",
        r"queries: +\d+ +\(<queries> per sec\.\)",
        r"ignored errors: +\d+ +\(<ignored_errors> per sec\.\)",
        r"reconnects: +\d+ +\(<reconnects> per sec\.\)",
    )
]
_PERCENTILE = re.compile(rf"(\d+)th percentile: +({NUMBER})", re.ASCII)
_UNITS = {
    **dict.fromkeys(("events_per_second", "eps"), "events/s"),
    **dict.fromkeys(("latency_min", "latency_avg", "latency_max"), "ms"),
    **dict.fromkeys(("operations", "reads", "writes", "fsyncs"), "ops/s"),
    **dict.fromkeys(("transferred", "read", "written"), "MiB/s"),
    "total_time": "s",
    "events": "events",
    "transactions": "transactions/s",
    "queries": "queries/s",
    "ignored_errors": "errors/s",
    "reconnects": "reconnects/s",
}
_BETTER: dict[str, Better] = {"events": "higher", "ignored_errors": "lower", "reconnects": "lower"}


def read(output: str) -> list[Reading]:
    """Readings of the report at the end; two reports in one output make each name ambiguous."""
    readings = []
    for line in map(str.strip, lines(output)):
        for pattern in _LINES:
            if match := pattern.fullmatch(line):
                for name, text in match.groupdict().items():
                    value = number(text)
                    if value is not None:
                        readings.append(Reading(name, [value], _UNITS[name], _BETTER.get(name)))
                break
        if match := _PERCENTILE.fullmatch(line):
            value = number(match[2])
            if value is not None:
                readings.append(Reading(f"latency_p{match[1]}", [value], "ms"))
    return readings
